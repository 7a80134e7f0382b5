// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory tier 1: private pages of the program become pages of the arena, and private pages again,
// under its feet, while its other threads go on using them. No write is lost in either direction.
//
// There: the pages are moved away to a place of ours (mremap DONTUNMAP), which makes every access
// fault into userfaultfd and wait; then they are copied to the arena; then the arena is mapped
// where they were, and the waiting threads are woken. The emptied private mapping stays parked.
// Back: the arena's pages are write-protected (userfaultfd again), copied to the parked mapping,
// and that is moved to where it came from, in one step. It is the program's own old mapping: it
// melts together with its neighbours, and nothing tells that it was away.

#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::live {

/// Not for two threads at a time. Allocates no memory.
class PageMover {
  public:
    explicit PageMover(const Arena& arena) : arena_(arena) {}

    /// The accesses that wait when they touch pages that are being moved.
    enum class Hold : std::uint8_t {
        kAll,       ///< Everybody: threads of the program, and their system calls.
        kUserOnly,  ///< Threads. A system call that touches such a page fails with EFAULT.
        kNobody,
    };
    Hold hold();
    /// Whether pages can be brought back while other threads run (Linux 5.19).
    bool can_return();

    struct Range {
        std::uint64_t va;      ///< Whole pages of the program, inside one mapping,
        std::uint64_t bytes;   ///< this many bytes.
        std::uint64_t off;     ///< Their place in the arena.
        std::uint64_t parked;  ///< Their private mapping. 0 before share(): the kernel chooses it.
    };

    /// Replaces private pages by fresh pages of the arena with the same bytes. Returns false if
    /// nothing was changed.
    bool share(Range& range, int protection);
    /// Makes them private again. Returns false if nothing was changed.
    bool give_back(const Range& range, int protection);

    /// Copies the arena's pages to the parked mapping; those that do not exist read as zero.
    void fill_parked(const Range& range) const;

    /// In a forked child: the open file is about its parent.
    void forget() { uffd_ = -1; }

  private:
    bool open_uffd();
    bool control(unsigned long request, void* argument);

    const Arena& arena_;
    int uffd_ = -1;
    Hold hold_ = Hold::kNobody;
    bool can_return_ = false;
    bool tried_ = false;
};

/// Whether this thread is the only one of the program; `with_ours`: and softib has none there
/// either.
bool program_is_alone(bool with_ours);

/// While it lives, this thread takes no signals but those of its own faults: a handler could touch
/// pages that only this thread brings back.
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

/// Empties a private mapping of ours, whatever flags it has from the program.
void drop_pages(std::uint64_t at, std::uint64_t bytes);

}  // namespace softib::live
