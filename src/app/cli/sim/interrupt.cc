// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/interrupt.h"

namespace softib::app::sim {

namespace {

volatile std::sig_atomic_t was_interrupted = 0;

void note_interrupt(int) {
    was_interrupted = 1;
}

}  // namespace

InterruptWatch::InterruptWatch() {
    was_interrupted = 0;
    struct sigaction action{};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
}

InterruptWatch::~InterruptWatch() {
    sigaction(SIGINT, &before_, nullptr);
}

bool InterruptWatch::interrupted() const {
    return was_interrupted != 0;
}

}  // namespace softib::app::sim
