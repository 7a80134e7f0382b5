// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The stretches of this program's memory whose pages are arena pages while a region lies on them.
// For the program they stay ordinary private memory: it can drop them (madvise), move them (mremap)
// and fork, and it has its own pages back when the last region is gone.
//
// Thread rule: the caller holds MemoryMap's mutex, except in advise(). The list of stretches and
// the pages themselves have a lock of their own, under which nothing allocates memory: an allocator
// that calls madvise() takes only that lock, so it never waits for a thread that waits for the
// allocator.

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/direct/memory/address_space.h"
#include "runtime/direct/memory/remap.h"
#include "runtime/direct/memory_calls.h"

namespace softib::direct {

class Process;

class SwappedPages {
  public:
    /// The name of a stretch, valid as long as a region holds the stretch.
    struct Name {
        std::uint64_t va;
        std::uint64_t off;
        bool operator==(const Name&) const = default;
    };
    /// The part of a stretch from some address on.
    struct Part {
        Name name;
        std::uint64_t off;    ///< The arena offset of the part's first byte.
        std::uint64_t bytes;  ///< The length of the part.
    };

    explicit SwappedPages(Process& process);
    SwappedPages(const SwappedPages&) = delete;
    SwappedPages& operator=(const SwappedPages&) = delete;

    AddressSpace& space() { return space_; }

    /// Swaps [begin, end), or as much of it from `begin` on as it can, for arena pages. The range
    /// is whole pages inside the private mapping `vma`. Returns std::nullopt if nothing was
    /// swapped.
    std::optional<Part> share(const Vma& vma, std::uint64_t begin, std::uint64_t end);
    /// Returns the part of a stretch that lies at [va, end), where the program has arena offset
    /// `off` mapped at `va`. Returns std::nullopt if that offset is in no stretch.
    std::optional<Part> find(std::uint64_t va, std::uint64_t off, std::uint64_t end) const;

    /// Counts one more region on a stretch.
    void hold(const Name& name);
    /// Counts one region less. With the last, gives the program its private pages back, now or, if
    /// the pages cannot be moved now, at a later registration. `quiet`: no peer can still be
    /// writing to the arena's pages; otherwise they are never given back.
    void drop(const Name& name, bool quiet);
    /// Takes a stretch away from the regions that hold it, and gives the program its private pages
    /// back. Returns false if the pages could not be given back.
    bool take_away(const Name& name);
    /// Returns the stretches that overlap [begin, end).
    std::vector<Name> meeting(std::uint64_t begin, std::uint64_t end) const;

    /// Does what the program's madvise() asks for. `really` is the next madvise(), as of the C
    /// library.
    int advise(std::uint64_t begin, std::uint64_t length, int advice, Madvise* really);

    // Called around a fork, so that the child gets its own copy of every page. MemoryMap's mutex is
    // held across the fork; the lock of the list is not, because a thread in advise() may hold an
    // allocator's lock that the fork waits for.
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

  private:
    struct Stretch {
        PageMover::Range range;  ///< The part that is still swapped.
        std::uint64_t off;       ///< The arena offset of its first page.
        std::uint64_t bytes;     ///< The length of its arena pages.
        std::uint32_t holders;   ///< The number of regions that lie on it.
        bool stuck;      ///< Never given back, because a stopped peer may still write to its pages.
        bool elsewhere;  ///< Some of it is unmapped, or mapped at an address that we do not know.
    };
    /// Arena pages of a former stretch that the program may still have mapped somewhere.
    struct Orphan {
        std::uint64_t off;
        std::uint64_t bytes;
    };

    Stretch* at(const Name& name);
    std::uint32_t upper_bound(std::uint64_t va) const;
    void insert_locked(const Stretch& stretch);
    void erase(Stretch& stretch);
    bool forget_stale(std::uint64_t begin, std::uint64_t end);
    bool move_to_arena(Stretch& stretch, int protection);
    bool give_back(Stretch& stretch);
    bool give_back_locked(Stretch& stretch);
    void retire(const Stretch& stretch);
    void give_back_waiting();
    void collect_orphans();
    void punch(std::uint64_t begin, std::uint64_t end, const PageMover::Range& range);

    template <typename Fn>
    int for_each_part(std::uint64_t begin, std::uint64_t end, Fn&& part) const;
    bool meets_any(std::uint64_t begin, std::uint64_t end) const;
    int advise_parts(std::uint64_t begin, std::uint64_t end, int advice, int result);

    Process& process_;
    AddressSpace space_;
    PageMover mover_;
    mutable std::mutex lock_;
    Stretch* stretches_ = nullptr;  ///< Sorted by address, without overlaps.
    std::uint32_t count_ = 0;
    std::uint32_t count_max_ = 0;
    std::uint64_t moves_ = 0;    ///< The number of moves of pages so far, to the arena or back.
    std::uint32_t waiting_ = 0;  ///< Stretches that no region holds and that must be given back.
    std::vector<Stretch> lost_;  ///< Held by regions, but the program has other mappings there now.
    std::vector<Orphan> orphans_;
    std::uint64_t orphan_bytes_ = 0;
};

}  // namespace softib::direct
