// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plans the tree of a job on the routes that the subnet manager wrote. The routes from all members
// to one switch, the root, are a tree, because switches forward by destination. The planner chooses
// the root whose tree is the flattest, among these the one with the fewest switches, and among
// these the one that shares the fewest cables with other trees. In a fat tree, even one that lacks
// cables or switches, the root is a switch of the lowest level that all members' leaves reach.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::sharp {

struct TreePlan {
    static constexpr std::uint32_t kRoot = UINT32_MAX;

    struct MemberPort {
        std::uint32_t member = 0;
        std::uint8_t port = 0;  ///< Port of the switch to which the member is connected.
    };
    struct Node {
        Guid guid{};
        Lid lid{};
        std::uint32_t parent = kRoot;       ///< Index of the parent, which comes before this node.
        std::uint8_t port_to_parent = 0;    ///< Port of this switch.
        std::uint8_t port_at_parent = 0;    ///< Port of the parent's switch.
        std::vector<MemberPort> members{};  ///< In the order of ports, then of member numbers.
    };
    std::vector<Node> nodes;  ///< Parents come before their children; the first is the root.
    std::uint32_t depth = 0;  ///< Switches on the longest way from a member to the root.
};

struct PlanInput {
    const routing::Graph& graph;
    const routing::Lfts& lfts;
    std::span<const Lid> members;  ///< LIDs of the members' HCA ports.
    /// Returns whether a switch can aggregate.
    std::function<bool(Guid)> is_capable;
    /// Returns how many trees use the cable behind a port of a switch.
    std::function<std::uint32_t(Guid, std::uint8_t)> load;
};

/// Returns the plan; std::nullopt if a member is not in the graph or no switch can be the root.
std::optional<TreePlan> plan_tree(const PlanInput& input);

}  // namespace softib::sharp
