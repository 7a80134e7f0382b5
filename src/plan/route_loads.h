// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Estimates the rates of flows from the routes of a fabric alone, without simulating: a flow has an
// equal share of the busiest link on its path. This is quick enough to try the loss of every cable,
// switch and router.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "net/sim/failures.h"
#include "plan/congestion.h"

namespace softib::plan {

struct RouteLoads {
    double mean_share = 0;          ///< Average share of a link that a flow has; 1: all of it.
    std::uint32_t most_flows = 0;   ///< Flows on the busiest link.
    std::uint32_t unreachable = 0;  ///< Flows without a path.
    std::string engine = {};        ///< Names of the routing engines that computed the routes.
    std::vector<net::Hop> used =
        {};  ///< Inner cables (net/sim/failures.h) with flows, busiest first.
};

/// Returns the loads of flows on the routes of `engine`, or of "auto" in subnets that it refuses.
std::expected<RouteLoads, std::string> load_routes(const topo::Fabric& fabric,
                                                   const std::string& engine,
                                                   std::span<const Flow> flows);

/// A cable, switch or router that could be lost, and the loads without it.
struct Loss {
    net::Hop what = {};             ///< A port of the cable, or port 0 of the first lost node.
    double mean_share = 0;          ///< As RouteLoads::mean_share, without it.
    std::uint32_t unreachable = 0;  ///< Flows without a path, without it.
};

struct Ranking {
    RouteLoads before = {};           ///< Loads while nothing is lost.
    std::vector<Loss> cables = {};    ///< Inner cables, the worst loss first.
    std::vector<Loss> switches = {};  ///< Switches, the worst loss first.
    std::vector<Loss> routers = {};   ///< Routers between subnets, the worst loss first.
    std::size_t cables_tried = 0;     ///< Cables that were tried: the busiest ones.
    std::size_t switches_tried = 0;   ///< Switches that were tried: the first ones of the fabric.
};

/// Tries the loss of one cable, switch or router at a time, at most `tries_max` of each kind, and
/// ranks them by the harm that the loss does.
std::expected<Ranking, std::string> rank_losses(const topo::Fabric& fabric,
                                                const std::string& engine,
                                                std::span<const Flow> flows, std::size_t tries_max);

}  // namespace softib::plan
