// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fabrics of several subnets. Each subnet has LIDs, a subnet manager and routes of its own; routers
// forward packets between them by their GRH. A router is a device with a port in every subnet it
// joins: in a Fabric, a node of kind kRouter for each of these ports, with the GUID of the device
// in AdapterPort.

#include <cstdint>
#include <vector>

#include "core/topo/graph.h"

namespace softib::topo {

/// The most subnets that a router joins, as current routers do.
inline constexpr std::uint32_t kSubnetsMax = 8;

std::uint32_t subnet_count(const Fabric& fabric);

/// Returns a LID for each node, counted from 1 in every subnet: HCAs first, then switches, then
/// routers.
std::vector<Lid> number_lids(const Fabric& fabric);

/// Returns the ports of each router that is in several subnets; routers are in the order of their
/// first ports.
std::vector<std::vector<NodeIndex>> find_routers(const Fabric& fabric);

/// Returns the name of the router that a node is a port of: "router3" for the node "router3-s0".
std::string router_name(const Node& leg);

}  // namespace softib::topo
