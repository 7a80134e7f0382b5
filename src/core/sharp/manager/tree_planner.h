// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plans the tree of a job on the routes that the subnet manager wrote: the ways of all members to
// one switch, the root, are a tree, because switches forward by destination. The root is chosen so
// that the tree is as flat as it can be, then has as few switches as it can have, then so that it
// shares as few cables as it can with other trees. In a fat tree, also one that lacks cables or
// switches, that is a switch of the lowest level that all members' leaves reach.

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
        std::uint8_t port = 0;  ///< Of the switch.
    };
    struct Node {
        Guid guid{};
        Lid lid{};
        std::uint32_t parent = kRoot;       ///< Index of a node before this one.
        std::uint8_t port_to_parent = 0;    ///< Of this switch.
        std::uint8_t port_at_parent = 0;    ///< Of the parent.
        std::vector<MemberPort> members{};  ///< By port, then by number.
    };
    std::vector<Node> nodes;  ///< The root first.
    std::uint32_t depth = 0;  ///< Switches on the longest way from a member to the root.
};

struct PlanInput {
    const routing::Graph& graph;
    const routing::Lfts& lfts;
    std::span<const Lid> members;  ///< LIDs of HCAs.
    /// Whether the switch can aggregate.
    std::function<bool(Guid)> is_capable;
    /// How many trees use the cable behind a port.
    std::function<std::uint32_t(Guid, std::uint8_t)> load;
};

/// Returns std::nullopt if no switch can be the root.
std::optional<TreePlan> plan_tree(const PlanInput& input);

}  // namespace softib::sharp
