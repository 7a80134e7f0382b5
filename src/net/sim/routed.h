// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric with the routes that routing engines have found for it.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/routing/engine.h"
#include "core/topo/graph.h"

namespace softib::net {

/// The routing engine for a damaged fabric that has lost the shape that its own engine is for.
inline constexpr char kAnyEngine[] = "auto";

/// One subnet of a fabric, as its subnet manager knows it.
struct SubnetRoutes {
    routing::Graph graph;
    routing::Tables tables;
};

/// A fabric with its LIDs and routes.
struct Routed {
    topo::Fabric topology;
    std::vector<Lid> lids;   ///< By node.
    routing::Graph graph;    ///< Graph of the first subnet.
    routing::Tables tables;  ///< Tables of the first subnet, which mostly is the only one.
    std::vector<SubnetRoutes> further = {};  ///< Routes of the other subnets.

    const routing::Graph& graph_in(SubnetId subnet) const {
        return subnet.value == 0 ? graph : further[subnet.value - 1U].graph;
    }
    const routing::Tables& tables_in(SubnetId subnet) const {
        return subnet.value == 0 ? tables : further[subnet.value - 1U].tables;
    }
    std::uint32_t subnets() const { return static_cast<std::uint32_t>(further.size()) + 1; }
    /// Returns whether the engine of any subnet leaves its switches a choice among ports.
    bool has_choice() const;
    /// Returns the names of the subnets' routing engines, each once: "ftree" or "ftree, updn".
    std::string engine_names() const;

    /// Routes a fabric by the engine of this name. The message of the error says what does not fit.
    /// `adaptive`: also finds the longer ways that switches may choose.
    static std::expected<Routed, topo::Error> make(topo::Fabric topology, const std::string& engine,
                                                   std::uint8_t data_vls, bool adaptive = false);
    /// Routes a fabric that has lost something. `engines` names the engine of each subnet. If it
    /// refuses its subnet, kAnyEngine takes over; if that needs service levels in a fabric of
    /// several subnets, updn does. Sets `engines` to those that could, and appends to `notes` what
    /// the user should know.
    static std::expected<Routed, topo::Error> repair(const topo::Fabric& topology,
                                                     std::vector<std::string>& engines,
                                                     std::uint8_t data_vls, bool adaptive,
                                                     std::vector<std::string>& notes);
};

}  // namespace softib::net
