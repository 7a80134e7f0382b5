// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows a group through the tables of its aggregation nodes, from the root to the members, as
// packets would. The result shows what the switches hold, whichever manager wrote it.

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/sharp/aggregation_tables.h"
#include "core/sharp/program.h"

namespace softib::sharp {

/// The two ends of a connection between a child and its parent.
struct Edge {
    static constexpr std::uint32_t kNoMember = UINT32_MAX;

    Lid parent{};
    std::uint8_t parent_port = 0;  ///< Port of the parent's switch.
    Lid child{};
    std::uint8_t child_port = 0;       ///< Port of the child's switch; 0 if the child is a member.
    std::uint32_t member = kNoMember;  ///< Number of the member that is the child, if it is one.
    std::vector<std::uint32_t> members_below{};  ///< All members whose data pass here.
};

/// A group's tree: the steps that reduce in it, and all its connections.
struct WalkedTree {
    std::vector<Step> steps;
    std::vector<Edge> edges;
};

/// Numbers of members, by the LID and queue pair of their end of the connection.
using MemberEnds = std::map<std::pair<Lid, Qpn>, std::uint32_t>;
/// A function that returns the tables of the switch with a LID, or nullptr if it has none.
using TablesAt = std::function<const AggregationTables*(Lid)>;

/// Returns the tree of a group. The error says where the tables do not lead to every member exactly
/// once.
std::expected<WalkedTree, std::string> walk_group(const TablesAt& tables_at, Lid root,
                                                  std::uint32_t group, const MemberEnds& members);

}  // namespace softib::sharp
