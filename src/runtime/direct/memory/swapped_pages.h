// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The stretches of this program's memory whose pages are arena pages while a region lies on them.
// For the program they stay ordinary private memory: it can drop them (madvise), move them
// (mremap), fork, and have them back as they were when the last region is gone.
//
// Threads: MemoryMap's mutex guards everything but the list of stretches and what is done to pages;
// those have a lock of their own, under which nothing allocates. An allocator that calls madvise
// while others wait for it takes only that one.

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/direct/memory/address_space.h"
#include "runtime/direct/memory/remap.h"
#include "runtime/direct/memory_calls.h"

namespace softib::live {

class Process;

class SwappedPages {
  public:
    /// Names a stretch for as long as somebody holds it.
    struct Name {
        std::uint64_t va;
        std::uint64_t off;
        bool operator==(const Name&) const = default;
    };
    struct Part {
        Name name;
        std::uint64_t off;    ///< Offset in the arena of the address that was asked for.
        std::uint64_t bytes;  ///< From there on.
    };

    explicit SwappedPages(Process& process);
    SwappedPages(const SwappedPages&) = delete;
    SwappedPages& operator=(const SwappedPages&) = delete;

    AddressSpace& space() { return space_; }

    /// Swaps what it can of [begin, end), whole pages inside a private mapping, from `begin` on.
    std::optional<Part> share(const Vma& vma, std::uint64_t begin, std::uint64_t end);
    /// What lies at `va`, where the arena is mapped at `off`, up to `end` at most.
    std::optional<Part> find(std::uint64_t va, std::uint64_t off, std::uint64_t end) const;

    void hold(const Name& name);
    /// The last one to drop a stretch gives the program its private pages back, now or (if others
    /// are at work on them) as soon as possible. `quiet`: no peer can still reach the arena's.
    void drop(const Name& name, bool quiet);
    /// Gives a stretch back at once, even if regions hold it: none does afterwards. Returns false
    /// if that failed.
    bool take_away(const Name& name);
    /// The stretches that meet [begin, end).
    std::vector<Name> meeting(std::uint64_t begin, std::uint64_t end) const;

    /// madvise() of the program; `really` is what the C library does.
    int advise(std::uint64_t begin, std::uint64_t length, int advice, Madvise* really);

    // Around a fork; MemoryMap's mutex is held all the while. The child gets its own copy of every
    // page as it is now. Not locked across the fork: a thread in advise() may hold an
    // allocator's lock that the fork waits for.
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

  private:
    struct Stretch {
        PageMover::Range range;  ///< What is still swapped of it.
        std::uint64_t off;       ///< All that it has of the arena,
        std::uint64_t bytes;     ///< and how much.
        std::uint32_t holders;
        bool stuck;      ///< A stopped peer may still write there: never given back.
        bool elsewhere;  ///< Some of it is unmapped, or mapped where we do not know.
    };
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
    Stretch* stretches_ = nullptr;  ///< By address; they do not overlap.
    std::uint32_t count_ = 0;
    std::uint32_t count_max_ = 0;
    std::uint64_t moves_ = 0;    ///< Counts what was moved, there or back.
    std::uint32_t waiting_ = 0;  ///< Stretches that nobody holds and that could not be given back.
    std::vector<Stretch> lost_;  ///< Held still, but the program has mapped something else there.
    std::vector<Orphan> orphans_;
    std::uint64_t orphan_bytes_ = 0;
};

}  // namespace softib::live
