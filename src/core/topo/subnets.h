// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fabrics of several subnets. Each subnet has LIDs, a subnet manager and routes of its own; routers
// forward packets between them by their GRH. A router is a device with a port in every subnet it
// joins: in a Fabric, a node of kind kRouter for each of these ports, with the GUID of the device
// in AdapterPort.

#include <cstdint>
#include <vector>

#include "core/topo/fabric.h"

namespace softib::topo {

/// What a router of today joins at most.
inline constexpr std::uint32_t kSubnetsMax = 8;

std::uint32_t subnet_count(const Fabric& fabric);

/// LIDs by node, from 1 on in every subnet: HCAs first, then switches, then routers.
std::vector<Lid> number_lids(const Fabric& fabric);

/// The ports of each router that has one in several subnets, routers in the order of their first
/// ports.
std::vector<std::vector<NodeIndex>> find_routers(const Fabric& fabric);

/// The name of a router between subnets, which has one for each of its ports: "router3" of
/// "router3-s0".
std::string router_name(const Node& leg);

}  // namespace softib::topo
