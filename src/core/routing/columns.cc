// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/columns.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/routing/numbering.h"
#include "core/routing/union_find.h"

namespace softib::routing {

namespace {

/// By switch: the block that it is in with the level above, and the one with the level below.
struct Blocks {
    std::vector<std::uint32_t> above;
    std::vector<std::uint32_t> below;
};

Blocks find_blocks(const Neighbours& neighbours, const TreeLevels& levels) {
    const auto count = static_cast<std::uint32_t>(levels.level.size());
    Blocks blocks{std::vector<std::uint32_t>(count), std::vector<std::uint32_t>(count)};
    for (std::uint32_t lower = 0; lower < levels.top; ++lower) {
        UnionFind joined(count);
        for (std::uint32_t sw = 0; sw < count; ++sw) {
            for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
                if (levels.level[sw] == lower && levels.level[next.peer] == lower + 1) {
                    joined.join(sw, next.peer);
                }
            }
        }
        for (std::uint32_t sw = 0; sw < count; ++sw) {
            if (levels.level[sw] == lower) {
                blocks.above[sw] = joined.find(sw);
            } else if (levels.level[sw] == lower + 1) {
                blocks.below[sw] = joined.find(sw);
            }
        }
    }
    return blocks;
}

/// The key by which columns of different blocks correspond: the block above a switch, and its
/// position among the switches of its block below that have the same block above.
using Slot = std::pair<std::uint32_t, std::uint32_t>;

class ColumnsOfLevel {
  public:
    ColumnsOfLevel(const Blocks& blocks, const TreeLevels& levels, std::uint32_t level) {
        for (std::uint32_t sw = 0; sw < levels.level.size(); ++sw) {
            if (levels.level[sw] == level) {
                members_[blocks.below[sw]].push_back(sw);
            }
        }
        std::map<Slot, std::uint32_t> uses;
        for (const auto& [block, switches] : members_) {
            width_ = std::max(width_, static_cast<std::uint32_t>(switches.size()));
            std::map<std::uint32_t, std::uint32_t> seen;
            for (const std::uint32_t sw : switches) {
                // At the top, which has no block above, only the position counts.
                const std::uint32_t above = level == levels.top ? 0 : blocks.above[sw];
                const Slot slot{above, seen[above]++};
                slot_of_[sw] = slot;
                ++uses[slot];
            }
        }
        keep_common_slots(uses);
    }

    std::uint32_t width() const { return width_; }

    void assign(std::vector<std::uint32_t>& column_of) const {
        for (const auto& [block, switches] : members_) {
            std::vector<bool> taken(width_);
            std::vector<std::uint32_t> homeless;
            for (const std::uint32_t sw : switches) {
                const auto found = std::ranges::lower_bound(slots_, slot_of_.at(sw));
                if (found != slots_.end() && *found == slot_of_.at(sw)) {
                    column_of[sw] = static_cast<std::uint32_t>(found - slots_.begin());
                    taken[column_of[sw]] = true;
                } else {
                    homeless.push_back(sw);
                }
            }
            for (const std::uint32_t sw : homeless) {
                const auto gap = std::ranges::find(taken, false);
                column_of[sw] = static_cast<std::uint32_t>(gap - taken.begin());
                *gap = true;
            }
        }
    }

  private:
    /// Keeps as many slots as the widest block has switches: those that most blocks have. A switch
    /// that has lost its cables up is alone in its block above, and its slot is dropped.
    void keep_common_slots(const std::map<Slot, std::uint32_t>& uses) {
        for (const auto& [slot, count] : uses) {
            slots_.push_back(slot);
        }
        std::ranges::stable_sort(slots_, std::ranges::greater{},
                                 [&](const Slot& slot) { return uses.at(slot); });
        slots_.resize(std::min<std::size_t>(slots_.size(), width_));
        std::ranges::sort(slots_);
    }

    std::map<std::uint32_t, std::vector<std::uint32_t>> members_;  ///< Switches by block below.
    std::map<std::uint32_t, Slot> slot_of_;
    std::vector<Slot> slots_;
    std::uint32_t width_ = 1;
};

}  // namespace

Columns find_columns(const Neighbours& neighbours, const TreeLevels& levels) {
    Columns columns{std::vector<std::uint32_t>(levels.level.size()),
                    std::vector<std::uint32_t>(levels.top + 1, 1),
                    std::vector<std::uint32_t>(levels.top + 1, 1)};
    const Blocks blocks = find_blocks(neighbours, levels);
    for (std::uint32_t level = 1; level <= levels.top; ++level) {
        const ColumnsOfLevel found(blocks, levels, level);
        found.assign(columns.of);
        columns.count[level - 1] = found.width();
        columns.divider[level] = columns.divider[level - 1] * found.width();
    }
    return columns;
}

std::vector<std::uint32_t> order_by_subtrees(
    const Graph& graph, const std::vector<std::vector<std::uint32_t>>& subtrees) {
    std::vector<std::uint32_t> order = order_by_hosts(graph);
    for (const std::vector<std::uint32_t>& subtree : subtrees) {
        // Subtrees are sorted by their first switch; switches of a subtree keep their order.
        std::vector<std::uint32_t> first(graph.switch_count(), kNone);
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            first[subtree[order[i]]] = std::min(first[subtree[order[i]]], i);
        }
        std::ranges::stable_sort(order, {}, [&](std::uint32_t sw) { return first[subtree[sw]]; });
    }
    return order;
}

}  // namespace softib::routing
