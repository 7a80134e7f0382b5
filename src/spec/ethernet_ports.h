// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The IP addresses of a fabric whose ports are on Ethernet. Port P (from 1) of the host with index
// H has the address BASE + 256 H + P, unless it was given one: that of a network interface, so that
// others can reach it. 127.55.0.0 is where librdmacm's addresses are too (addresses.h).

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/topo/fabric.h"

namespace softib::spec {

inline constexpr char kEthernetBase[] = "127.55.0.0";

struct EthernetPort {
    Gid gid{};
    std::uint8_t mtu_code = 0;
    std::uint32_t net_interface = 0;
    std::string net_name;
};

struct EthernetPlan {
    std::string base = kEthernetBase;
    /// "10.0.0.1=h0,fd00::7=h1/mlx5_1": of a host's first HCA, or of the one that is named.
    std::string addresses{};
};

/// The IP address that a GID is, as people write it.
std::string ip_text(const Gid& gid);

/// Of each HCA in the arena's order; the text of an error is for the user.
std::expected<std::vector<EthernetPort>, std::string> plan_ethernet_ports(
    const topo::Fabric& fabric, const EthernetPlan& plan);

}  // namespace softib::spec
