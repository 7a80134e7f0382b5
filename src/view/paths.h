// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Where packets go in a running fabric, by the tables that its switches hold in the arena: the path
// to a LID, the trees of multicast groups; and which ports are in which partition.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "runtime/shm/arena.h"

namespace softib::view {

/// Returns a node by its name: "leaf0", "h0/mlx5_0", or a host, whose first HCA is meant.
std::optional<live::NodeRef> find_node(const live::Arena& arena, std::string_view name);

/// Returns the LID of a node; kLidUnassigned if it has none.
Lid lid_of(const live::Arena& arena, const live::NodeRef& node);

/// A node on the way; 0 stands for no port.
struct Hop {
    std::string node;
    std::uint32_t in_port = 0;
    std::uint32_t out_port = 0;
};
struct Path {
    std::vector<Hop> hops;
    std::string trouble;  ///< Why it ends before its destination; empty: it does not.
};
/// Follows the forwarding tables as a packet would.
Path trace(const live::Arena& arena, const live::NodeRef& from, const live::NodeRef& to);

/// The ports by which switches send packets of a multicast group on.
struct MulticastTree {
    Lid mlid{};
    std::vector<std::string> ports;  ///< "leaf0:3"
    std::vector<Gid> groups;         ///< Those that have attached queue pairs here.
};
std::vector<MulticastTree> multicast_trees(const live::Arena& arena);

/// A partition as the HCAs' ports hold it.
struct Partition {
    PKey pkey{};  ///< Without the bit of membership.
    std::vector<std::string> full;
    std::vector<std::string> limited;
};
std::vector<Partition> partitions(const live::Arena& arena);

}  // namespace softib::view
