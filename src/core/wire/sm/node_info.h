// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// NodeInfo: the kind of a node, its vendor and GUIDs, and the port that received the query (IBA
// vol. 1, 14.2.5.3).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class NodeType : std::uint8_t { kChannelAdapter = 1, kSwitch = 2, kRouter = 3 };

struct NodeInfo {
    static constexpr std::size_t kBytes = 40;

    std::uint8_t base_version = 1;
    std::uint8_t class_version = 1;
    NodeType node_type{};
    std::uint8_t num_ports = 0;  ///< The number of ports; port 0 of a switch does not count.
    Guid system_image_guid{};
    Guid node_guid{};
    Guid port_guid{};
    std::uint16_t partition_cap = 0;  ///< Entries of the P_Key table.
    std::uint16_t device_id = 0;
    std::uint32_t revision = 0;
    PortNum local_port_num{};  ///< The port that received the SMP.
    std::uint32_t vendor_id = 0;

    static constexpr auto fields() {
        using T = NodeInfo;
        return Fields{
            Field{&T::base_version, "BaseVersion", 0, 8, 0},
            Field{&T::class_version, "ClassVersion", 8, 8, 1},
            Field{&T::node_type, "NodeType", 16, 8, 2},
            Field{&T::num_ports, "NumPorts", 24, 8, 3},
            Field{&T::system_image_guid, "SystemImageGUID", 32, 64, 4},
            Field{&T::node_guid, "NodeGUID", 96, 64, 5},
            Field{&T::port_guid, "PortGUID", 160, 64, 6},
            Field{&T::partition_cap, "PartitionCap", 224, 16, 7},
            Field{&T::device_id, "DeviceID", 240, 16, 8}.hex(),
            Field{&T::revision, "Revision", 256, 32, 9}.hex(),
            Field{&T::local_port_num, "LocalPortNum", 288, 8, 10},
            Field{&T::vendor_id, "VendorID", 296, 24, 11}.hex(),
        };
    }
    friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};
static_assert(layout_is_sound<NodeInfo>());

}  // namespace softib::wire
