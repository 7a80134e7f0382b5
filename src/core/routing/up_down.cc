// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/up_down.h"

#include <algorithm>
#include <ranges>

namespace softib::routing {

namespace {

// The most links with which fill_holes() is used: on a larger tree it would take minutes to look at
// all dependencies.
constexpr std::size_t kLinksSearchedMax = 60'000;

/// The searches of up_down_hops() for 64 destinations at a time. For every switch and cost (in
/// hops) they find the mask of destinations that the switch reaches at that cost.
class UpDownSearch {
  public:
    UpDownSearch(const Graph& graph, const Neighbours& neighbours, const Places& places);
    void run(std::uint32_t first, HopSets& sets);

  private:
    std::uint64_t* costs(std::uint32_t sw) { return &costs_[std::size_t{sw} * width_]; }
    /// Adds to `sw` the destinations that its neighbours in a range of sides_ reach, and records
    /// these neighbours as next hops.
    void relax(std::uint32_t sw, std::uint32_t begin, std::uint32_t end);

    struct Side {
        std::uint32_t peer;
        std::uint32_t position;  ///< Index of the neighbour's mask.
    };

    const Neighbours& neighbours_;
    std::uint32_t count_;
    std::uint32_t width_ = 1;                ///< Costs run from 0 to width_ - 1.
    std::vector<std::uint32_t> by_place_;    ///< Switches from the top down.
    std::vector<Side> sides_;                ///< By switch: neighbours above, then those below.
    std::vector<std::uint32_t> first_side_;  ///< By switch: index of its first entry in sides_.
    std::vector<std::uint32_t> first_down_;  ///< By switch: its first neighbour below in sides_.
    std::vector<std::uint64_t> costs_;
    std::vector<std::uint64_t> seen_;
    std::vector<std::uint64_t> masks_;
    std::uint64_t all_ = 0;
};

UpDownSearch::UpDownSearch(const Graph& graph, const Neighbours& neighbours, const Places& places)
    : neighbours_(neighbours),
      count_(graph.switch_count()),
      by_place_(count_),
      first_side_(count_ + 1),
      first_down_(count_),
      seen_(count_),
      masks_(neighbours.size()) {
    for (std::uint32_t sw = 0; sw < count_; ++sw) {
        by_place_[places[sw]] = sw;
    }
    for (std::uint32_t sw = 0; sw < count_; ++sw) {
        for (const bool up : {true, false}) {
            std::uint32_t position = neighbours.first(sw);
            for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
                if ((places[next.peer] < places[sw]) == up) {
                    sides_.push_back({next.peer, position});
                }
                ++position;
            }
            (up ? first_down_[sw] : first_side_[sw + 1]) =
                static_cast<std::uint32_t>(sides_.size());
        }
    }
    // No path has more hops than the longest way up and one down again.
    std::vector<std::uint32_t> climb(count_);
    std::uint32_t longest = 0;
    for (const std::uint32_t sw : by_place_) {
        for (std::uint32_t i = first_side_[sw]; i < first_down_[sw]; ++i) {
            climb[sw] = std::max(climb[sw], climb[sides_[i].peer] + 1);
        }
        longest = std::max(longest, climb[sw]);
    }
    width_ = 2 * longest + 1;
    costs_.resize(std::size_t{count_} * width_);
}

void UpDownSearch::relax(std::uint32_t sw, std::uint32_t begin, std::uint32_t end) {
    std::uint64_t* const own = costs(sw);
    std::uint64_t missing = all_ & ~seen_[sw];
    for (std::uint32_t cost = 0; cost + 1 < width_ && missing != 0; ++cost) {
        std::uint64_t reached = 0;
        for (std::uint32_t i = begin; i < end; ++i) {
            reached |= costs(sides_[i].peer)[cost];
        }
        reached &= missing;
        if (reached == 0) {
            continue;
        }
        for (std::uint32_t i = begin; i < end; ++i) {
            masks_[sides_[i].position] |= costs(sides_[i].peer)[cost] & reached;
        }
        own[cost + 1] |= reached;
        missing &= ~reached;
    }
    seen_[sw] = all_ & ~missing;
}

void UpDownSearch::run(std::uint32_t first, HopSets& sets) {
    std::ranges::fill(costs_, 0);
    std::ranges::fill(seen_, 0);
    std::ranges::fill(masks_, 0);
    const std::uint32_t count = std::min(kBatch, count_ - first);
    all_ = count == 64 ? UINT64_MAX : (std::uint64_t{1} << count) - 1;
    for (std::uint32_t i = 0; i < count; ++i) {
        costs(first + i)[0] = seen_[first + i] = std::uint64_t{1} << i;
    }
    // First the ways down, from the bottom; then the ways up of switches that have no way down.
    for (auto sw = by_place_.rbegin(); sw != by_place_.rend(); ++sw) {
        relax(*sw, first_down_[*sw], first_side_[*sw + 1]);
    }
    for (const std::uint32_t sw : by_place_) {
        relax(sw, first_side_[sw], first_down_[sw]);
        sets.add(sw, first,
                 std::span(masks_).subspan(neighbours_.first(sw), neighbours_.of(sw).size()));
    }
}

/// Returns the switches of the least damaged branch of a tree. From the top down it chooses, at
/// each level, the subtree with the most cables within the one chosen before, and takes its
/// switches of that level, so in the end one leaf. The highest of these subtrees is added to
/// `used`. Returns an empty vector if all of the highest level are in `used` already.
std::vector<bool> find_best_branch(const Graph& graph,
                                   const std::vector<std::vector<std::uint32_t>>& subtrees,
                                   const TreeLevels& levels, std::vector<bool>& used) {
    std::vector<bool> branch;
    std::vector<std::uint32_t> inside(graph.switch_count(), 0);  // Subtrees of the level before.
    std::uint32_t chosen = 0;
    for (std::uint32_t level = levels.top; level-- > 0;) {
        std::vector<std::uint32_t> cables(graph.switch_count());
        std::uint32_t best = kNone;
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            const std::uint32_t subtree = subtrees[level][sw];
            if (levels.level[sw] <= level && inside[sw] == chosen && !used[subtree]) {
                cables[subtree] += graph.degree(sw);
                best = best == kNone || cables[subtree] > cables[best] ? subtree : best;
            }
        }
        if (best == kNone) {
            return {};
        }
        if (branch.empty()) {
            branch.resize(graph.switch_count());
            used[best] = true;
        }
        inside = subtrees[level];
        chosen = best;
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            branch[sw] = branch[sw] || (levels.level[sw] == level && inside[sw] == chosen);
        }
    }
    return branch;
}

bool leads_up(const Graph& graph, const Places& places, std::uint32_t link) {
    return places[graph.links()[link].peer] < places[graph.source(link)];
}

/// Returns whether a packet that leaves the branch upwards can come back to it from above, by links
/// that go up and then down, without going straight back over a cable.
bool comes_back(const Graph& graph, const Places& places, const std::vector<bool>& branch) {
    std::vector<bool> seen(graph.links().size());
    std::vector<std::uint32_t> queue;
    const auto visit = [&](std::uint32_t link) {
        if (!seen[link]) {
            seen[link] = true;
            queue.push_back(link);
        }
    };
    for (std::uint32_t link = 0; link < graph.links().size(); ++link) {
        if (branch[graph.source(link)] && leads_up(graph, places, link)) {
            visit(link);
        }
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const std::uint32_t at = graph.links()[queue[i]].peer;
        const bool up = leads_up(graph, places, queue[i]);
        if (!up && branch[at]) {
            return true;
        }
        for (std::uint32_t j = 0; j < graph.degree(at); ++j) {
            const std::uint32_t next = graph.first_link(at) + j;
            if (graph.links()[next].peer != graph.source(queue[i]) &&
                (up || !leads_up(graph, places, next))) {
                visit(next);
            }
        }
    }
    return false;
}

}  // namespace

HopSets up_down_hops(const Graph& graph, const Neighbours& neighbours, const Places& places) {
    HopSets sets(graph.switch_count());
    UpDownSearch search(graph, neighbours, places);
    for (std::uint32_t first = 0; first < graph.switch_count(); first += kBatch) {
        search.run(first, sets);
    }
    return sets;
}

std::vector<Hole> find_holes(const Graph& graph, const HopSets& sets) {
    const std::vector<std::uint32_t> islands = find_islands(graph);
    std::vector<Hole> holes;
    for (std::uint32_t from = 0; from < graph.switch_count(); ++from) {
        for (std::uint32_t to = 0; to < graph.switch_count(); ++to) {
            if (sets.of(from, to) == 0 && from != to && islands[from] == islands[to] &&
                (graph.host_count(from) != 0 || graph.host_count(to) != 0)) {
                holes.push_back({from, to});
            }
        }
    }
    return holes;
}

std::vector<Hole> fill_tree_holes(const Graph& graph, const Neighbours& neighbours,
                                  const TreeLevels& levels, std::span<const Hole> holes,
                                  std::span<const std::uint8_t> sls, Tables& tables) {
    if (holes.empty()) {
        return {};
    }
    const auto subtrees = find_subtrees(neighbours, levels);
    const Places places = places_by_level(levels);
    std::vector<bool> used(graph.switch_count());
    std::vector<Hole> open(holes.begin(), holes.end());
    for (const std::uint8_t sl : sls) {
        const std::vector<bool> branch = find_best_branch(graph, subtrees, levels, used);
        if (open.empty() || branch.empty()) {
            break;
        }
        if (!comes_back(graph, places, branch)) {
            const auto may_follow = [&](std::uint32_t link, std::uint32_t next) {
                return branch[graph.links()[link].peer] || leads_up(graph, places, link) ||
                       !leads_up(graph, places, next);
            };
            open = fill_holes_by_rule(graph, open, sl, may_follow, tables);
        }
    }
    return graph.links().size() <= kLinksSearchedMax ? fill_holes(graph, open, sls, tables) : open;
}

void forget_long_crossings(const Graph& graph, const Neighbours& neighbours,
                           const TreeLevels& levels, const Places& places, HopSets& sets) {
    const std::uint32_t count = graph.switch_count();
    std::vector<std::uint32_t> by_place(count);
    for (std::uint32_t sw = 0; sw < count; ++sw) {
        by_place[places[sw]] = sw;
    }
    std::vector<std::uint32_t> crossings(count);
    for (std::uint32_t to = 0; to < count; ++to) {
        if (graph.host_count(to) != 0) {
            continue;
        }
        std::ranges::fill(crossings, 0);
        const auto visit = [&](std::uint32_t sw, bool up) {
            const auto positions = sets.positions(sw, sets.of(sw, to));
            for (const std::uint8_t position : positions) {
                const std::uint32_t peer = neighbours.of(sw)[position].peer;
                if ((places[peer] < places[sw]) == up) {
                    const std::uint32_t more = levels.level[peer] == levels.level[sw] ? 1 : 0;
                    crossings[sw] = std::max(crossings[sw], crossings[peer] + more);
                }
            }
        };
        // A packet that goes down never goes up again, so ways down come first, from the bottom.
        for (const std::uint32_t sw : std::views::reverse(by_place)) {
            visit(sw, false);
        }
        for (const std::uint32_t sw : by_place) {
            visit(sw, true);
            if (crossings[sw] > 1) {
                sets.clear(sw, to);
            }
        }
    }
}

std::vector<Hole> fill_joined_holes(const Graph& graph, const TreeLevels& levels,
                                    const Places& places, std::span<const Hole> holes,
                                    std::span<const std::uint8_t> sls, Tables& tables) {
    constexpr std::size_t kSlsByRule = 3;
    const auto joins_trees = [&](std::uint32_t link) {
        return levels.level[graph.source(link)] == levels.level[graph.links()[link].peer];
    };
    std::vector<Hole> open(holes.begin(), holes.end());
    for (std::size_t i = 1; i < std::min(sls.size(), kSlsByRule); ++i) {
        const bool ahead = i == 1;
        const auto may_follow = [&](std::uint32_t link, std::uint32_t next) {
            for (const std::uint32_t each : {link, next}) {
                if (joins_trees(each) && leads_up(graph, places, each) == ahead) {
                    return false;
                }
            }
            return joins_trees(link) || joins_trees(next) || !leads_up(graph, places, link) ||
                   leads_up(graph, places, next);
        };
        open = fill_holes_by_rule(graph, open, sls[i], may_follow, tables);
    }
    return graph.links().size() <= kLinksSearchedMax && sls.size() > kSlsByRule
               ? fill_holes(graph, open, sls.subspan(kSlsByRule), tables)
               : open;
}

bool between_hosts(const Graph& graph, const Hole& hole) {
    return graph.host_count(hole.from) != 0 && graph.host_count(hole.to) != 0;
}

}  // namespace softib::routing
