// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric as a graph: nodes (HCAs, switches, routers), their ports, the cables between them, and
// the virtual hosts that own HCAs. A generator or a reader builds it once; from then on it is only
// read. The nodes are in the order of their creation, which depends only on the description.
//
// Invariants (checked by `validate`): every cable is recorded at both ends; HCAs and routers have
// exactly one port (port 1); port numbers of a switch run from 1 to ports.size() - 1 (entry 0 is
// the management port and has no cable); cables stay in one subnet; names and GUIDs are unique.
//
// An adapter with two ports is two HCAs of one host; AdapterPort says which port of the adapter
// each of them is. Linux drivers show adapters since ConnectX-4 in the same way (mlx5_0 and
// mlx5_1), and everything that runs on a fabric can rely on "one HCA, one port".

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/topo/link_speed.h"
#include "core/topo/shape.h"

namespace softib::topo {

/// Returns the generation of a name in any case ("ndr", "NDR"); std::nullopt if there is none.
std::optional<Generation> parse_generation(const std::string& text);

/// The kind of a node, with the values of NodeInfo.NodeType.
enum class NodeKind : std::uint8_t { kHca = 1, kSwitch = 2, kRouter = 3 };

using NodeIndex = Id<struct NodeIndexTag, std::uint32_t>;
inline constexpr NodeIndex kNoNode{UINT32_MAX};

struct PortLink {
    NodeIndex peer = kNoNode;  ///< kNoNode: no cable.
    PortNum peer_port{0};      ///< 0 in a fabric that is only counted: see Spec::on_paper.
    Generation generation = Generation::kNdr;
    Width width = Width::k4x;
};

/// Which port of an adapter or router a node is, if that has more than one port.
struct AdapterPort {
    Guid guid;               ///< The GUID of the adapter; 0: the node is the whole adapter.
    PortNum port{1};         ///< The number of this port on the adapter.
    std::uint8_t ports = 1;  ///< The number of ports of the adapter, uncabled ones included.
};

struct Node {
    NodeKind kind = NodeKind::kHca;
    std::string name;  ///< "h0/mlx5_0" for an HCA, "leaf0", "sw0_1_2", … for a switch.
    Guid node_guid;
    Guid system_image_guid;
    Guid port_guid;  ///< The GUID of the port; 0: it is node_guid.
    AdapterPort adapter;
    std::string description;  ///< NodeDescription; empty: made from the names, see description_of.
    std::uint32_t vendor_id = 0;  ///< 0: not known.
    std::uint32_t device_id = 0;
    /// The LID in the dump, which the SM assigns again if it can; 0: none. For a switch it is the
    /// LID of port 0.
    Lid lid;
    std::uint8_t lmc = 0;
    bool enhanced_port_0 = false;  ///< Switch.
    /// The subnet that the node's ports are in. A router is one node for each of its ports
    /// (AdapterPort), since each port has its own GUID, LID and subnet; see subnets.h.
    SubnetId subnet;
    bool outside = false;             ///< The node stands for the far end of a trunk; see trunk.h.
    std::uint32_t host = UINT32_MAX;  ///< HCA: index into Fabric::hosts.
    std::uint32_t level = 0;          ///< Switch: 0 next to hosts, growing upwards (trees only).
    /// Switch: its place in a torus or HyperX by dimension, or {group, index in group} in a
    /// dragonfly, where leaves come before spines if there are both.
    std::vector<std::uint32_t> coordinates;
    std::vector<PortLink> ports;  ///< Index is the port number; entry 0 is the node itself.
};

struct Host {
    std::string name;
    std::vector<NodeIndex> hcas;
    std::vector<std::string> device_names;  ///< Parallel to hcas: "mlx5_0", "mlx5_1", …
};

struct Fabric {
    std::string name;
    std::optional<Shape> shape;  ///< Unset for a fabric that no generator made.
    std::vector<Node> nodes;
    std::vector<Host> hosts;
    /// Sentences for the user: lines that a reader left out, parts of the fabric that no cable
    /// joins.
    std::vector<std::string> warnings;

    const Node& node(NodeIndex index) const { return nodes[index.value]; }
    std::optional<std::uint32_t> find_host(const std::string& name) const;
    std::optional<NodeIndex> find_node(const std::string& name) const;
    std::size_t count(NodeKind kind) const;
};

struct Error {
    std::string message;  ///< One sentence that says what is wrong and what to do.
};

/// Returns the GUID of a port. The one port of an HCA has the node's GUID unless Node::port_guid is
/// set, as on adapters since ConnectX-4. All ports of a switch have the same GUID, because only its
/// management port is addressed (IBA vol. 1, 14.2.5.3).
Guid port_guid(const Node& node, PortNum port);

/// Returns all HCAs in the order in which programs on the fabric number them: host by host.
std::vector<NodeIndex> hcas_in_order(const Fabric& fabric);

/// Returns the node's NodeDescription, in the form of the Linux drivers: "h0 mlx5_0" for an HCA.
std::string description_of(const Fabric& fabric, const Node& node);

/// Checks the invariants of a fabric. The error names the first node that breaks one.
std::expected<void, Error> validate(const Fabric& fabric);

}  // namespace softib::topo
