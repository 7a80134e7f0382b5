// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What flows would get of a fabric by its routes alone: a flow has an equal part of the busiest
// link on its way. Quick enough to try the loss of every cable, switch and router.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "core/topo/fabric.h"
#include "net/failures.h"
#include "plan/congestion.h"

namespace softib::plan {

struct RouteLoads {
    double mean_share = 0;            ///< What flows get on average; 1: all of a link.
    std::uint32_t most_flows = 0;     ///< On the busiest link.
    std::uint32_t unreachable = 0;    ///< Flows without a way.
    std::string engine = {};          ///< Whose routes they are.
    std::vector<net::Hop> used = {};  ///< Inner cables (net/failures.h), busiest first.
};

/// With the routes of an engine, or of "auto" in subnets that this engine refuses.
std::expected<RouteLoads, std::string> load_routes(const topo::Fabric& fabric,
                                                   const std::string& engine,
                                                   std::span<const Flow> flows);

/// Something that could be lost, and what the flows would have then.
struct Loss {
    net::Hop what = {};  ///< Of a router: its first port.
    double mean_share = 0;
    std::uint32_t unreachable = 0;
};

struct Ranking {
    RouteLoads before = {};
    std::vector<Loss> cables = {};    ///< Inner cables, the worst first.
    std::vector<Loss> switches = {};  ///< The worst first.
    std::vector<Loss> routers = {};   ///< Between subnets, the worst first.
    std::size_t cables_tried = 0;     ///< The busiest, if there are too many to try all.
    std::size_t switches_tried = 0;
};

/// Tries the loss of one thing at a time, of at most `tries_max` cables, switches and routers
/// each.
std::expected<Ranking, std::string> rank_losses(const topo::Fabric& fabric,
                                                const std::string& engine,
                                                std::span<const Flow> flows, std::size_t tries_max);

}  // namespace softib::plan
