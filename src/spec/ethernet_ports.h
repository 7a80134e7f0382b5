// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The IP addresses of a fabric whose ports are on Ethernet. Port P (from 1) of the host with index
// H has the address BASE + 256 H + P, unless the user gave it another: that of a network interface,
// so that other machines can reach it. The default base 127.55.0.0 is the same as that of the
// addresses for librdmacm (addresses.h).

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/topo/graph.h"

namespace softib::spec {

inline constexpr char kEthernetBase[] = "127.55.0.0";

/// A port's IP address, and the network interface of this machine that has it.
struct EthernetPort {
    Gid gid{};
    std::uint8_t mtu_code = 0;        ///< IBA code of the largest MTU that fits the interface.
    std::uint32_t net_interface = 0;  ///< Index of the interface.
    std::string net_name;             ///< Name of the interface.
};

struct EthernetPlan {
    std::string base = kEthernetBase;
    /// Addresses that the user gives to a host's first HCA, or to a named one:
    /// "10.0.0.1=h0,fd00::7=h1/mlx5_1".
    std::string addresses{};
};

/// Returns the IP address of a RoCE GID as text.
std::string ip_text(const Gid& gid);

/// Returns the port of each HCA, in the order of the arena's HCAs. Errors are sentences for the
/// user.
std::expected<std::vector<EthernetPort>, std::string> plan_ethernet_ports(
    const topo::Fabric& fabric, const EthernetPlan& plan);

}  // namespace softib::spec
