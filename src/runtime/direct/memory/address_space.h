// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Asks the kernel what this process has mapped where: for one mapping at a time if the kernel can
// (PROCMAP_QUERY, Linux 6.11), otherwise by reading /proc/self/maps from its beginning.
//
// Thread rule: one thread at a time. Nothing but read() allocates memory, because callers may hold
// locks that an allocator waits for.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::direct {

constexpr std::uint64_t page_down(std::uint64_t at) {
    return at & ~(shm::kPageBytes - 1);
}
constexpr std::uint64_t page_up(std::uint64_t at) {
    return page_down(at + shm::kPageBytes - 1);
}

/// A mapping of this process.
struct Vma {
    enum Kind : std::uint8_t {
        kPrivateAnonymous,
        kArena,            ///< Pages of the arena, outside the mapping of the whole arena.
        kSharedAnonymous,  ///< Shared memory whose file no descriptor of the program leads to.
        kSharedFile,       ///< Shared memory of a memfd or of a file that has a name.
        kOther,
    };
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t offset;  ///< The offset of `begin` in the file that is mapped (e.g. the arena).
    std::uint64_t device;  ///< The device number of the file system of the mapped file.
    std::uint64_t inode;   ///< The inode number of the mapped file; 0 if no file is mapped.
    int protection;        ///< PROT_*
    Kind kind;
};

class AddressSpace {
  public:
    explicit AddressSpace(const shm::Arena& arena) : arena_(arena) {}

    /// Finds the first mapping that overlaps [begin, end), passing over the mapping of the whole
    /// arena. Returns false with errno 0 if there is none, and with another errno if the kernel
    /// does not say.
    bool first(std::uint64_t begin, std::uint64_t end, Vma& out);

    /// Finds all mappings that overlap [begin, end), in order. Returns false, with errno set, if
    /// the kernel does not say.
    bool read(std::uint64_t begin, std::uint64_t end, std::vector<Vma>& out);

    /// Writes the path of the file that is mapped at `at`. Returns false if the mapping has no path
    /// or one that is too long, or if the kernel does not say.
    bool path_at(std::uint64_t at, char* path, std::size_t size);

    /// Returns whether first() costs the same however many mappings there are.
    bool is_quick();

    /// Forgets the open file, which in a forked child is about the parent.
    void forget() { file_ = -1; }

  private:
    struct Found;

    bool prepare();
    bool query(std::uint64_t at, Found& found);
    template <typename Take>
    bool walk_text(std::uint64_t begin, std::uint64_t end, Take&& take,
                   Found* last = nullptr) const;
    bool accept(const Found& found, Vma& out) const;

    const shm::Arena& arena_;
    int file_ = -1;
    enum class Query : std::uint8_t { kUntried, kWorks, kAbsent } query_ = Query::kUntried;
    std::uint64_t arena_inode_ = 0;
    std::uint64_t arena_device_ = 0;
};

}  // namespace softib::direct
