// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The right to move pages of the program while the program runs. It is granted if the program has
// no other thread, or if other threads that touch the pages wait (userfaultfd) and their system
// calls wait as well or are held back by the preloaded library. It is never granted in a program
// that uses io_uring or aio: the kernel then moves data to pinned pages while no thread is in a
// call.

#include <cstdint>

#include "runtime/direct/memory/remap.h"
#include "runtime/direct/memory_calls.h"

namespace softib::direct {

/// Allows to move pages in [begin, end) while it lives. Converts to false if that is not granted.
class Passage {
  public:
    /// `back`: the pages move from the arena back to the program.
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

}  // namespace softib::direct
