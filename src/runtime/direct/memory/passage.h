// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The right to move pages of the program while it runs: threads that touch them wait, or there is
// no other thread, or (for system calls) the preloaded library holds them back. A program that has
// io_uring or aio never gives it: those move data while no thread is in a call, to pages that the
// kernel has pinned.

#include <cstdint>

#include "runtime/direct/memory/remap.h"
#include "runtime/direct/memory_calls.h"

namespace softib::live {

/// While it lives, pages in [begin, end) may be moved, if it was granted.
class Passage {
  public:
    /// `back`: from the arena to the program.
    Passage(PageMover& mover, std::uint64_t begin, std::uint64_t end, bool back);
    ~Passage();
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
    explicit operator bool() const { return granted_; }

  private:
    QuietSignals quiet_;
    bool granted_ = false;
    OpenIoGate* open_ = nullptr;
};

}  // namespace softib::live
