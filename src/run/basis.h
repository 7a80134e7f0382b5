// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the figures of a simulation are worth: its model, what it assumes, and the rows of
// docs/validation.md that are nearest to it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "core/topo/link_speed.h"
#include "net/sharp/sharp_simulation.h"
#include "plan/traffic.h"
#include "spec/scenario/scenario.h"

namespace softib::run {

/// Published measurements of messages between hosts that the models were compared with.
struct Measured {
    const char* rows;  ///< Values of ValidationRow::id, separated by ", ".
    plan::Pattern pattern;
    std::uint32_t hosts_min;
    std::uint32_t hosts_max;
    std::uint64_t bytes_min;  ///< Bytes of a message; of SHARP those of a vector.
    std::uint64_t bytes_max;
    topo::Generation slowest;
    topo::Generation fastest;
    const char* claim;
};
std::span<const Measured> all_measured();

/// Returns sentences about a simulation: its model, what that assumes, what validates each of its
/// patterns or that nothing does, and which of its features no row has.
std::vector<std::string> basis_of(const spec::Scenario& scenario,
                                  const spec::Experiment& experiment);
/// Returns the same of an all-reduce by switches.
std::vector<std::string> basis_of(const spec::Experiment& experiment, const net::SharpTask& task);

/// Returns each sentence of several simulations once, in the order in which they come.
std::vector<std::string> basis_of_all(std::span<const std::vector<std::string>> each);

}  // namespace softib::run
