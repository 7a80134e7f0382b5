// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "net/model.h"
#include "spec/scenario/scenario.h"

namespace softib::spec {

/// Makes the model that a scenario asks for, of packets or of flows. The error says what the model
/// does not support.
std::expected<std::unique_ptr<net::Model>, std::string> make_model(const Scenario& scenario,
                                                                   const Experiment& experiment);

/// Returns whether switches choose the paths of packets (adaptive routing, or some kinds of ECMP),
/// so that only the first and the last link of a flow are known.
bool ways_unknown(const net::SimulationOptions& options);

}  // namespace softib::spec
