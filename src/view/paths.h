// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Paths in a running fabric, by the tables of its switches in the arena: the path of a packet to a
// LID, and the trees of multicast groups. Also the ports of each partition.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "runtime/shm/arena.h"

namespace softib::view {

/// Returns a node by its name: a switch ("leaf0"), an HCA ("h0/mlx5_0"), or a host, for its first
/// HCA.
std::optional<shm::NodeRef> find_node(const shm::Arena& arena, std::string_view name);

/// Returns the LID of a node; kLidUnassigned if it has none.
Lid lid_of(const shm::Arena& arena, const shm::NodeRef& node);

/// A node on a path, with the ports of the path; 0 stands for no port.
struct Hop {
    std::string node;
    std::uint32_t in_port = 0;
    std::uint32_t out_port = 0;
};
struct Path {
    std::vector<Hop> hops;
    std::string trouble;  ///< Why the path does not reach its destination; empty: it does.
};
/// Returns the path of a packet, by the forwarding tables of the switches.
Path trace(const shm::Arena& arena, const shm::NodeRef& from, const shm::NodeRef& to);

/// The switch ports through which packets to a multicast LID are forwarded.
struct MulticastTree {
    Lid mlid{};
    std::vector<std::string> ports;  ///< "leaf0:3"
    std::vector<Gid> groups;         ///< MGIDs of this MLID that queue pairs are attached to.
};
/// Returns the tree of every MLID that a switch forwards.
std::vector<MulticastTree> multicast_trees(const shm::Arena& arena);

/// A partition, by the P_Key tables of HCA ports.
struct Partition {
    PKey pkey{};                       ///< Without the membership bit.
    std::vector<std::string> full;     ///< Names of the full members.
    std::vector<std::string> limited;  ///< Names of the limited members.
};
std::vector<Partition> partitions(const shm::Arena& arena);

}  // namespace softib::view
