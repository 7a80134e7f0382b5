// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Runs a simulation to its end, or until the user presses Ctrl-C, with a bar on a terminal that
// says how far it is.

#include <cstdint>

#include "app/cli/sim/recorder.h"
#include "plan/player.h"

namespace softib::app::sim {

struct Ran {
    bool stopped = false;  ///< By the user.
    double cpu_seconds = 0;
};

/// `mtu`: to estimate how many packets there will be, where the model has packets.
/// `shows`: false where another thread or process has the bar.
/// `recorder`: looks at the model now and then.
Ran run_with_progress(plan::Player& player, plan::TimePs until, std::uint32_t mtu,
                      bool shows = true, Recorder* recorder = nullptr);

}  // namespace softib::app::sim
