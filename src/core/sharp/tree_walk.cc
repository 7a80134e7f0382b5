// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/tree_walk.h"

#include <algorithm>
#include <string>

namespace softib::sharp {

namespace {

constexpr std::uint32_t kLevelsMax = 64;

class Walk {
  public:
    Walk(const TablesAt& tables_at, std::uint32_t group, const MemberEnds& members)
        : tables_at_(tables_at), group_(group), members_(members) {}

    std::expected<WalkedTree, std::string> run(Lid root) {
        std::vector<std::uint32_t> below;
        if (!visit(root, 0, below)) {
            return std::unexpected(error_);
        }
        std::ranges::sort(below);
        if (below.size() != members_.size() || std::ranges::adjacent_find(below) != below.end()) {
            return std::unexpected("the switches' tables do not lead to every member once");
        }
        return std::move(tree_);
    }

  private:
    bool fail(std::string text) {
        error_ = std::move(text);
        return false;
    }

    /// Adds the steps and edges of the node at a LID and of all below it; the steps leave this
    /// node's vector on the stack. Returns false, with error_ set, if the tables lead nowhere.
    bool visit(Lid at, std::uint32_t level, std::vector<std::uint32_t>& below) {
        const AggregationTables* const tables = tables_at_(at);
        const auto* const group = tables == nullptr ? nullptr : tables->group(group_);
        if (group == nullptr || level > kLevelsMax) {
            return fail("the switch with LID " + std::to_string(at.value) +
                        " does not know the group");
        }
        bool first = true;
        for (const Qpn child : tables->children_of(*group)) {
            const wire::SharpQpcConfig* const context = tables->qp(child);
            if (context == nullptr || context->state != wire::SharpQpcConfig::State::kActive) {
                return fail("a queue pair of the switch with LID " + std::to_string(at.value) +
                            " is not active");
            }
            if (!visit_child(at, *context, group->tree, level, first, below)) {
                return false;
            }
            first = false;
        }
        return !first || fail("a switch has no children in the group");
    }

    bool visit_child(Lid at, const wire::SharpQpcConfig& context, std::uint16_t tree_id,
                     std::uint32_t level, bool first, std::vector<std::uint32_t>& below) {
        Edge edge{.parent = at, .parent_port = context.port, .child = context.rlid};
        if (const auto member = members_.find({context.rlid, context.rqpn});
            member != members_.end()) {
            edge.member = member->second;
            edge.members_below = {member->second};
            tree_.steps.push_back({first ? Step::kPush : Step::kAdd, member->second});
        } else {
            const AggregationTables* const next = tables_at_(context.rlid);
            const auto* const tree = next == nullptr ? nullptr : next->tree(tree_id);
            const auto* const back =
                tree == nullptr || tree->parent == Qpn{} ? nullptr : next->qp(tree->parent);
            if (back == nullptr || back->qpn != context.rqpn || back->rlid != at ||
                back->rqpn != context.qpn) {
                return fail("LID " + std::to_string(context.rlid.value) +
                            " does not know its parent");
            }
            edge.child_port = back->port;
            if (!visit(context.rlid, level + 1, edge.members_below)) {
                return false;
            }
            if (!first) {
                tree_.steps.push_back({Step::kFold, 0});
            }
        }
        below.insert(below.end(), edge.members_below.begin(), edge.members_below.end());
        tree_.edges.push_back(std::move(edge));
        return true;
    }

    const TablesAt& tables_at_;
    std::uint32_t group_;
    const MemberEnds& members_;
    WalkedTree tree_;
    std::string error_;
};

}  // namespace

std::expected<WalkedTree, std::string> walk_group(const TablesAt& tables_at, Lid root,
                                                  std::uint32_t group, const MemberEnds& members) {
    return Walk(tables_at, group, members).run(root);
}

}  // namespace softib::sharp
