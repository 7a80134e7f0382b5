// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The shape of a fabric: its nodes with their LIDs, levels and coordinates, and its cables.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/topo/graph.h"
#include "runtime/shm/arena.h"

namespace softib::view {

struct TopologyNode {
    std::string name;
    topo::NodeKind kind{};
    Guid guid{};
    std::uint32_t ports = 0;                 ///< Without port 0.
    Lid lid{};                               ///< kLidUnassigned: none yet, or the fabric is not up.
    std::optional<std::uint32_t> level;      ///< Level in a tree, for a switch; 0 is next to hosts.
    std::vector<std::uint32_t> coordinates;  ///< Place in a torus or dragonfly, for a switch.
};

struct TopologyCable {
    std::string a;
    std::uint32_t a_port = 0;
    std::string b;
    std::uint32_t b_port = 0;
    std::string generation;
    std::uint32_t lanes = 0;
};

struct Topology {
    std::string name;
    std::vector<TopologyNode> nodes;
    std::vector<TopologyCable> cables;  ///< Each once, from the end whose node comes first.
};

/// Gives the nodes of a graph the LIDs that they have in the running fabric that was made from it.
void take_lids(const shm::Arena& arena, topo::Fabric& graph);

Topology topology_of(const topo::Fabric& fabric);

}  // namespace softib::view
