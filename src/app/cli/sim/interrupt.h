// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Ctrl-C during long work: the first one asks the work to stop and report what it has, a second one
// ends the program.

#include <csignal>

namespace softib::app::sim {

class InterruptWatch {
  public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;
    bool interrupted() const;

  private:
    struct sigaction before_{};
};

}  // namespace softib::app::sim
