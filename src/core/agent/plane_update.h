// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The writes that a node has accepted and that the planes, which move data by its tables, must
// follow: the arena of a live fabric (runtime/daemon/arena_writer.cc) and the packet network
// (net/manage/management.cc). The set is closed. Each plane visits it with one function per kind
// and no default, so that a plane that does not handle a kind does not compile.
//
// An update names what was written; the plane reads the value from the node.

#include <cstdint>
#include <variant>

namespace softib::agent {

/// PortInfo: state, LID and LMC, subnet prefix, the manager's address, capabilities.
struct PortUpdate {
    std::uint8_t port;
};
/// P_KeyTable, and PortInfo's PartitionEnforcement.
struct PartitionUpdate {
    std::uint8_t port;
};
/// GUIDInfo.
struct AliasUpdate {
    std::uint8_t port;
};
/// A block of LinearForwardingTable.
struct RouteUpdate {
    std::uint16_t block;
};
/// A block of MulticastForwardingTable.
struct GroupUpdate {
    std::uint16_t block;
};
/// SLtoVLMappingTable of an out port, and PortInfo's OperationalVLs.
struct LaneUpdate {
    std::uint8_t port;
};
/// VLArbitrationTable, and PortInfo's VLHighLimit.
struct ArbitrationUpdate {
    std::uint8_t port;
};
/// PortInfo's LocalPhyErrors.
struct ErrorLimitUpdate {
    std::uint8_t port;
};
/// PortInfo's HOQLife and VLStallCount, or SwitchInfo's LifeTimeValue, which counts for every port.
struct LifetimeUpdate {
    std::uint8_t port;
};
/// SwitchCongestionSetting and SwitchPortCongestionSetting.
struct MarkingUpdate {};
/// CACongestionSetting and CongestionControlTable of an HCA's port.
struct InjectionUpdate {
    std::uint8_t port;
};
/// AdaptiveRoutingInfo; and, while adaptive routing is enabled, ARGroupTable,
/// ARLinearForwardingTable and PortSLToPrivateLFTMap.
struct AdaptiveUpdate {};
/// PortInfo's ClientReregister: it changes no table, but asks clients of the port to register with
/// the SA again.
struct ReregisterUpdate {
    std::uint8_t port;
};

using PlaneUpdate = std::variant<PortUpdate, PartitionUpdate, AliasUpdate, RouteUpdate, GroupUpdate,
                                 LaneUpdate, ArbitrationUpdate, ErrorLimitUpdate, LifetimeUpdate,
                                 MarkingUpdate, InjectionUpdate, AdaptiveUpdate, ReregisterUpdate>;

}  // namespace softib::agent
