// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What this process has mapped where, as the kernel tells it: one mapping at a time where it can be
// asked so (PROCMAP_QUERY, Linux 6.11), else by reading /proc/self/maps from its beginning.
// Allocates no memory: callers may hold locks that an allocator waits for. One thread at a time.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::live {

constexpr std::uint64_t page_down(std::uint64_t at) {
    return at & ~(kPageBytes - 1);
}
constexpr std::uint64_t page_up(std::uint64_t at) {
    return page_down(at + kPageBytes - 1);
}

struct Vma {
    enum Kind : std::uint8_t {
        kPrivateAnonymous,
        kArena,            ///< Pages of the arena, other than the arena's own whole mapping.
        kSharedAnonymous,  ///< Shared, and no descriptor of the program leads to its file.
        kSharedFile,       ///< Shared: a memfd, or a file that has a name.
        kOther,
    };
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t offset;  ///< What `begin` maps: of the arena, or of the file behind it.
    std::uint64_t device;  ///< Device number of that file's file system,
    std::uint64_t inode;   ///< and its number there.
    int protection;        ///< PROT_*
    Kind kind;
};

class AddressSpace {
  public:
    explicit AddressSpace(const Arena& arena) : arena_(arena) {}

    /// The first mapping that meets [begin, end). The arena's own whole mapping is passed over.
    /// False and errno: there is none (0), or the kernel does not tell.
    bool first(std::uint64_t begin, std::uint64_t end, Vma& out);

    /// All of them, in order. False and errno: the kernel does not tell.
    bool read(std::uint64_t begin, std::uint64_t end, std::vector<Vma>& out);

    /// The path that the kernel tells of the mapping at `at`; empty: it has none, or one too long.
    bool path_at(std::uint64_t at, char* path, std::size_t size);

    /// Whether first() costs the same however many mappings there are.
    bool is_quick();

    /// In a forked child: the open file is about its parent.
    void forget() { file_ = -1; }

  private:
    struct Found;

    bool prepare();
    bool query(std::uint64_t at, Found& found);
    template <typename Take>
    bool walk_text(std::uint64_t begin, std::uint64_t end, Take&& take,
                   Found* last = nullptr) const;
    bool accept(const Found& found, Vma& out) const;

    const Arena& arena_;
    int file_ = -1;
    enum class Query : std::uint8_t { kUntried, kWorks, kAbsent } query_ = Query::kUntried;
    std::uint64_t arena_inode_ = 0;
    std::uint64_t arena_device_ = 0;
};

}  // namespace softib::live
