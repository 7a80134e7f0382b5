// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --traffic sharp-allreduce`: an all-reduce that the switches compute (SHARP), in
// virtual time.

#include <expected>
#include <string>
#include <string_view>

#include "spec/scenario/scenario.h"

namespace softib::app::sim {

/// The name of this traffic, with which no other traffic goes.
inline constexpr std::string_view kSharpTraffic = "sharp-allreduce";

/// Simulates one all-reduce among all hosts, of the size of the scenario's first traffic. Returns
/// the report; the error is for the user.
std::expected<std::string, std::string> simulate_sharp_traffic(const spec::Scenario& scenario,
                                                               const spec::Experiment& experiment,
                                                               bool json);

}  // namespace softib::app::sim
