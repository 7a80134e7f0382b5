// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows a group through the tables of its aggregation nodes, from the root to the members, as
// packets would: what comes out is what the switches hold, whoever wrote it.

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

/// The two ends of a connection to a parent.
struct Edge {
    static constexpr std::uint32_t kNoMember = UINT32_MAX;

    Lid parent{};
    std::uint8_t parent_port = 0;  ///< Of the parent's switch.
    Lid child{};
    std::uint8_t child_port = 0;                 ///< Of the child's switch; 0 if it is a member.
    std::uint32_t member = kNoMember;            ///< Which member the child is.
    std::vector<std::uint32_t> members_below{};  ///< All whose data pass here.
};

struct WalkedTree {
    std::vector<Step> steps;
    std::vector<Edge> edges;
};

/// A member's end of its connection: LID and queue pair.
using MemberEnds = std::map<std::pair<Lid, Qpn>, std::uint32_t>;
using TablesAt = std::function<const AggregationTables*(Lid)>;

/// Returns a sentence if the tables do not lead to every member exactly once.
std::expected<WalkedTree, std::string> walk_group(const TablesAt& tables_at, Lid root,
                                                  std::uint32_t group, const MemberEnds& members);

}  // namespace softib::sharp
