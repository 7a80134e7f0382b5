// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory tier 1: private pages of the program become pages of the arena, and later private pages
// again, while its other threads go on using them. No write is lost in either direction.
//
// To the arena: the pages are moved to another address (mremap with MREMAP_DONTUNMAP), so that
// every access faults into userfaultfd and waits. They are copied to the arena, the arena is mapped
// where they were, and the waiting threads are woken. The emptied private mapping is kept: it is
// "parked".
//
// Back: the arena's pages are write-protected (userfaultfd again) and copied to the parked mapping,
// which one mremap moves back to where it came from. It is the program's own old mapping: the
// kernel merges it with its neighbours, and the program cannot see that it was away.

#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::direct {

/// Moves pages to the arena and back. Used by one thread at a time; allocates no memory.
class PageMover {
  public:
    explicit PageMover(const shm::Arena& arena) : arena_(arena) {}

    /// Which accesses wait when they touch pages that are being moved.
    enum class Hold : std::uint8_t {
        kAll,       ///< Accesses of the program's threads and of their system calls wait.
        kUserOnly,  ///< Accesses of threads wait; system calls on the pages fail with EFAULT.
        kNobody,    ///< No access waits: userfaultfd is not available.
    };
    Hold hold();
    /// Returns whether pages can be brought back while other threads run (Linux 5.19).
    bool can_return();

    struct Range {
        std::uint64_t va;     ///< The address of the first page; all lie inside one mapping.
        std::uint64_t bytes;  ///< The length of the range, in whole pages.
        std::uint64_t off;    ///< The offset of the pages in the arena.
        /// The address of the parked private mapping. If it is 0, share() lets the kernel choose
        /// it.
        std::uint64_t parked;
    };

    /// Replaces private pages by fresh pages of the arena with the same bytes. Returns false, with
    /// nothing changed, if it cannot.
    bool share(Range& range, int protection);
    /// Replaces pages of the arena by the parked private mapping, with the same bytes. Returns
    /// false, with nothing changed, if it cannot.
    bool give_back(const Range& range, int protection);

    /// Copies the arena's pages to the parked mapping. Skips pages that were never written: they
    /// read as zero in both.
    void fill_parked(const Range& range) const;

    /// Forgets the open userfaultfd, which in a forked child is about the parent.
    void forget() { uffd_ = -1; }

  private:
    bool open_uffd();
    bool control(unsigned long request, void* argument);

    const shm::Arena& arena_;
    int uffd_ = -1;
    Hold hold_ = Hold::kNobody;
    bool can_return_ = false;
    bool tried_ = false;
};

/// Returns whether the calling thread is the program's only thread. Threads that softib has started
/// in the program count only if `with_ours`.
bool program_is_alone(bool with_ours);

/// Blocks all signals of this thread while it lives, except those of its own faults: a handler
/// could touch pages that only this thread brings back.
class QuietSignals {
  public:
    QuietSignals();
    ~QuietSignals();
    QuietSignals(const QuietSignals&) = delete;
    QuietSignals& operator=(const QuietSignals&) = delete;

  private:
    std::uint64_t before_ = 0;
};

/// MADV_DONTNEED_LOCKED of <sys/mman.h>, absent from older headers.
inline constexpr int kDontNeedLocked = 24;

/// Drops the pages of a private mapping, even if the program has locked them (mlock).
void drop_pages(std::uint64_t at, std::uint64_t bytes);

}  // namespace softib::direct
