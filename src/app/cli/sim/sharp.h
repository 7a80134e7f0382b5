// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --traffic sharp-allreduce`: an all-reduce that switches compute, in virtual time.

#include <expected>
#include <string>
#include <string_view>

#include "spec/scenario/scenario.h"

namespace softib::app::sim {

/// The name of this traffic; it stands alone.
inline constexpr std::string_view kSharpTraffic = "sharp-allreduce";

/// Returns the report of one all-reduce among all hosts, of as many bytes as the first traffic of
/// the scenario says.
std::expected<std::string, std::string> simulate_sharp_traffic(const spec::Scenario& scenario,
                                                               const spec::Experiment& experiment,
                                                               bool json);

}  // namespace softib::app::sim
