// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Runs a simulation to its end, or until the user presses Ctrl-C. A bar on the terminal shows how
// far it is.

#include <cstdint>

#include "app/cli/sim/recorder.h"
#include "plan/player.h"

namespace softib::app::sim {

struct Ran {
    bool stopped = false;  ///< Whether the user stopped the run.
    double cpu_seconds = 0;
};

/// Runs a simulation up to the virtual time `until`.
/// `mtu`: the size by which the bar estimates how many packets there will be.
/// `shows`: false if another thread or process draws the bar.
/// `recorder`: records the model's ports, at steps of virtual time; nullptr: none does.
Ran run_with_progress(plan::Player& player, plan::TimePs until, std::uint32_t mtu,
                      bool shows = true, Recorder* recorder = nullptr);

}  // namespace softib::app::sim
