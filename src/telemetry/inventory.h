// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The nodes and cabled ports of a fabric, as telemetry numbers them. An inventory is a value: a
// source that finds a change makes a new one, with another revision.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/topo/graph.h"

namespace softib::telemetry {

inline constexpr std::uint32_t kNoIndex = UINT32_MAX;

struct Node {
    Guid guid{};
    Guid system_guid{};
    std::string name;  ///< "leaf0", "h0/mlx5_0"; on real hardware, the NodeDescription.
    topo::NodeKind kind{};
    Lid lid{};
    /// Hops to the nearest HCA: 0 is an HCA, 1 a switch with hosts, and so on.
    std::uint32_t tier = 0;
    std::uint32_t port_first = 0;  ///< Index of the node's first port in Inventory::ports.
    std::uint32_t port_count = 0;  ///< Number of the node's ports with a cable.
    bool operator==(const Node&) const = default;
};

struct Port {
    std::uint32_t node = 0;
    std::uint8_t number = 0;
    std::uint8_t lanes = 4;
    Guid guid{};
    std::uint32_t peer = kNoIndex;   ///< The port at the other end; kNoIndex: not known.
    std::uint32_t nominal_mbps = 0;  ///< The best speed that the port supports.
    std::uint32_t active_mbps = 0;   ///< The speed of the link now.
    std::string speed;               ///< "NDR"
    bool operator==(const Port&) const = default;
};

struct Inventory {
    std::string fabric;
    std::uint64_t revision = 0;
    /// Virtual time between two readings of a simulation, which history keeps as one second. 0 for
    /// a fabric that runs in real time.
    std::uint64_t virtual_step_ns = 0;
    bool has_lids = true;  ///< Whether nodes have LIDs: not on Ethernet, nor in recordings.
    std::vector<Node> nodes;
    std::vector<Port> ports;  ///< The ports of a node are next to each other.

    const Node& node_of(std::uint32_t port) const { return nodes[ports[port].node]; }
    /// Returns "leaf0:3".
    std::string port_name(std::uint32_t port) const;
    /// Returns the name of the port at the other end, or "-".
    std::string peer_name(std::uint32_t port) const;
    /// Returns the port with a name ("leaf0:3", "h0/mlx5_0:1") or with UFM's name for it (GUID_N).
    std::optional<std::uint32_t> find_port(std::string_view name) const;
    std::optional<std::uint32_t> find_node(Guid guid) const;
};

/// The identity of a port, which does not depend on an inventory: node GUID and port number.
using Place = std::pair<std::uint64_t, std::uint8_t>;
Place place_of(const Inventory& inventory, std::uint32_t port);

/// Returns the NodeDescription of a node. That of a softib HCA is "h0 mlx5_0", as Linux sets it.
std::string description_of(const Node& node);

/// Sets the tier of every node, by ports and peers, which must be known.
void assign_tiers(Inventory& inventory);

/// One difference between two inventories: a node or a cable that came, went or moved.
struct Difference {
    enum Kind : std::uint8_t { kNodeGone, kNodeNew, kCableGone, kCableNew, kCableMoved };
    Kind kind{};
    std::string object;  ///< The node, or the port at one end of the cable.
    std::string text;
};
std::vector<Difference> compare(const Inventory& expected, const Inventory& found);

/// Returns the inventory of a graph, such as one read from ibnetdiscover's output.
Inventory from_graph(const topo::Fabric& fabric);
/// Returns the graph of an inventory, to write it to a file (core/topo/netlist.h).
topo::Fabric to_graph(const Inventory& inventory);

}  // namespace softib::telemetry
