// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/torus.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/routing/union_find.h"

namespace softib::routing {

namespace {

// A torus of eight dimensions, more than any in use, has this many neighbours.
constexpr std::size_t kNeighboursMax = 16;
// More positions than any torus that fits into a subnet has.
constexpr std::uint64_t kPositionsMax = 1 << 20;

/// An edge from the lower of two neighbours to the higher. It stands for all cables between them.
struct DirectedEdge {
    std::uint32_t from, to;
};

/// Classes of parallel edges, with their direction relative to each other.
class Parallels {
  public:
    explicit Parallels(std::uint32_t edges) : parent_(edges), flipped_(edges) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }

    std::uint32_t find(std::uint32_t edge) const {
        while (parent_[edge] != edge) {
            edge = parent_[edge];
        }
        return edge;
    }
    /// Returns whether an edge points against the one that stands for its class.
    bool flipped(std::uint32_t edge) const {
        bool result = false;
        for (; parent_[edge] != edge; edge = parent_[edge]) {
            result = result != flipped_[edge];
        }
        return result;
    }
    /// Joins the classes of two edges. Returns false if the two are known to point the other way.
    bool join(std::uint32_t a, std::uint32_t b, bool opposite) {
        const bool flip = (flipped(a) != flipped(b)) != opposite;
        const std::uint32_t top_a = find(a);
        const std::uint32_t top_b = find(b);
        if (top_a == top_b) {
            return !flip;
        }
        parent_[std::max(top_a, top_b)] = std::min(top_a, top_b);
        flipped_[std::max(top_a, top_b)] = flip;
        return true;
    }

  private:
    std::vector<std::uint32_t> parent_;
    std::vector<bool> flipped_;
};

class TorusFinder {
  public:
    TorusFinder(const Graph& graph, const Neighbours& neighbours)
        : graph_(graph), neighbours_(neighbours), classes_(0) {}

    std::optional<Torus> find() {
        if (!list_edges() || !find_classes()) {
            return std::nullopt;
        }
        group_classes();
        Torus torus;
        for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
            if (dimension_of(edge) == classes_.find(edge) && classes_.find(edge) == edge) {
                torus.dimensions.emplace_back();
                if (!find_slices(edge, torus.dimensions.back())) {
                    return std::nullopt;
                }
            }
        }
        return place_switches(torus) && edges_fit(torus) ? std::optional(std::move(torus))
                                                         : std::nullopt;
    }

  private:
    bool list_edges() {
        edge_between_.resize(graph_.switch_count());
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (neighbours_.of(sw).size() > kNeighboursMax) {
                return false;
            }
            for (const Neighbours::Neighbour& next : neighbours_.of(sw)) {
                if (sw < next.peer) {
                    const auto edge = static_cast<std::uint32_t>(edges_.size());
                    edges_.push_back({sw, next.peer});
                    edge_between_[sw][next.peer] = edge;
                    edge_between_[next.peer][sw] = edge;
                }
            }
        }
        classes_ = Parallels(static_cast<std::uint32_t>(edges_.size()));
        return true;
    }

    /// Returns the corners opposite to `corner` in squares over its edges to `a` and `b`.
    std::vector<std::uint32_t> squares(std::uint32_t corner, std::uint32_t a,
                                       std::uint32_t b) const {
        std::vector<std::uint32_t> result;
        for (const auto& [peer, edge] : edge_between_[a]) {
            if (peer != corner && edge_between_[b].contains(peer)) {
                result.push_back(peer);
            }
        }
        return result;
    }

    /// Calls visit(corner, a, b, opposite corners) for each two edges that meet at a corner, until
    /// one call returns false. Returns whether none did.
    bool for_each_corner(auto visit) const {
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            for (const auto& [a, edge_a] : edge_between_[sw]) {
                for (const auto& [b, edge_b] : edge_between_[sw]) {
                    if (a < b && !visit(sw, a, b, squares(sw, a, b))) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    bool join(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
        // The edge from a to b is parallel to the one from c to d.
        return classes_.join(edge_between_[a].at(b), edge_between_[c].at(d), (a < b) != (c < d));
    }

    bool find_classes() {
        return for_each_corner([&](std::uint32_t corner, std::uint32_t a, std::uint32_t b,
                                   const std::vector<std::uint32_t>& opposite) {
            return std::ranges::all_of(opposite, [&](std::uint32_t far) {
                return join(corner, a, b, far) && join(corner, b, a, far);
            });
        });
    }

    /// Groups classes into dimensions. Classes that meet without a square are of one dimension,
    /// unless damage took the square away. So the most frequent meetings decide first, a square
    /// anywhere between two dimensions keeps them apart, and no switch may have three neighbours in
    /// one dimension.
    void group_classes() {
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> meetings;
        for_each_corner([&](std::uint32_t corner, std::uint32_t a, std::uint32_t b,
                            const std::vector<std::uint32_t>& opposite) {
            std::uint32_t x = classes_.find(edge_between_[corner].at(a));
            std::uint32_t y = classes_.find(edge_between_[corner].at(b));
            if (x > y) {
                std::swap(x, y);
            }
            if (!opposite.empty()) {
                apart_.insert({x, y});
            } else {
                ++meetings[{x, y}];
            }
            return true;
        });
        group_.resize(edges_.size());
        std::iota(group_.begin(), group_.end(), 0U);
        std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>> ranked;
        for (const auto& [pair, count] : meetings) {
            ranked.emplace_back(-std::int64_t{count}, pair.first, pair.second);
        }
        std::ranges::sort(ranked);
        for (const auto& [count, x, y] : ranked) {
            if (group_[x] != group_[y] && may_be_one(group_[x], group_[y])) {
                const auto [low, high] = std::minmax(group_[x], group_[y]);
                const std::uint32_t from = high;
                const std::uint32_t to = low;
                std::ranges::replace(group_, from, to);
            }
        }
    }

    std::uint32_t dimension_of(std::uint32_t edge) const { return group_[classes_.find(edge)]; }

    bool may_be_one(std::uint32_t x, std::uint32_t y) const {
        if (std::ranges::any_of(apart_, [&](const auto& pair) {
                const std::uint32_t a = group_[pair.first];
                const std::uint32_t b = group_[pair.second];
                return (a == x && b == y) || (a == y && b == x);
            })) {
            return false;
        }
        return std::ranges::none_of(edge_between_, [&](const auto& near) {
            return std::ranges::count_if(near, [&](const auto& entry) {
                       const std::uint32_t group = dimension_of(entry.second);
                       return group == x || group == y;
                   }) > 2;
        });
    }

    /// Finds the slices of a dimension and their order, a ring or a line. A slice has the switches
    /// that are joined by cables of the other dimensions, or lie on the same side of parallel
    /// cables. Returns false if the slices make neither.
    bool find_slices(std::uint32_t group, Torus::Dimension& dimension) const {
        UnionFind slices(graph_.switch_count());
        std::map<std::uint32_t, DirectedEdge> sides;  // By class: one switch on either side.
        for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
            if (dimension_of(edge) != group) {
                slices.join(edges_[edge].from, edges_[edge].to);
                continue;
            }
            const bool flip = classes_.flipped(edge);
            const DirectedEdge side{flip ? edges_[edge].to : edges_[edge].from,
                                    flip ? edges_[edge].from : edges_[edge].to};
            const auto [entry, first] = sides.emplace(classes_.find(edge), side);
            if (!first) {
                slices.join(entry->second.from, side.from);
                slices.join(entry->second.to, side.to);
            }
        }
        std::map<std::uint32_t, std::set<std::uint32_t>> next;
        for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
            if (dimension_of(edge) == group) {
                const std::uint32_t a = slices.find(edges_[edge].from);
                const std::uint32_t b = slices.find(edges_[edge].to);
                next[a].insert(b);
                next[b].insert(a);
            }
        }
        return number_slices(slices, next, dimension);
    }

    bool number_slices(UnionFind& slices,
                       const std::map<std::uint32_t, std::set<std::uint32_t>>& next,
                       Torus::Dimension& dimension) const {
        std::uint32_t start = next.begin()->first;
        for (const auto& [slice, near] : next) {
            if (near.size() > 2 || near.contains(slice)) {
                return false;
            }
            if (near.size() == 1 && (next.at(start).size() != 1 || slice < start)) {
                start = slice;  // A slice with one neighbour is the end of a line.
            }
        }
        std::map<std::uint32_t, std::uint32_t> number;
        for (std::uint32_t slice = start; !number.contains(slice);) {
            number.emplace(slice, static_cast<std::uint32_t>(number.size()));
            for (const std::uint32_t near : next.at(slice)) {
                if (!number.contains(near)) {
                    slice = near;
                    break;
                }
            }
        }
        if (number.size() != next.size()) {
            return false;
        }
        dimension.size = static_cast<std::uint32_t>(number.size());
        dimension.ring = dimension.size > 2 && next.at(start).size() == 2;
        dimension.at.assign(graph_.switch_count(), kNone);
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (!neighbours_.of(sw).empty()) {
                const auto found = number.find(slices.find(sw));
                if (found == number.end()) {
                    return false;
                }
                dimension.at[sw] = found->second;
            }
        }
        return true;
    }

    bool place_switches(Torus& torus) const {
        std::uint64_t positions = 1;
        for (const Torus::Dimension& dimension : torus.dimensions) {
            positions *= dimension.size;
            if (positions > kPositionsMax) {
                return false;
            }
        }
        torus.switch_at.assign(positions, kNone);
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (neighbours_.of(sw).empty()) {
                continue;
            }
            std::uint32_t& place = torus.switch_at[torus.index(sw)];
            if (place != kNone) {
                return false;
            }
            place = sw;
        }
        return true;
    }

    bool edges_fit(const Torus& torus) const {
        return std::ranges::all_of(edges_, [&](const DirectedEdge& edge) {
            for (std::size_t d = 0; d < torus.dimensions.size(); ++d) {
                if (torus.step(edge.from, d, true) == edge.to ||
                    torus.step(edge.from, d, false) == edge.to) {
                    return true;
                }
            }
            return false;
        });
    }

    const Graph& graph_;
    const Neighbours& neighbours_;
    std::vector<DirectedEdge> edges_;
    std::vector<std::map<std::uint32_t, std::uint32_t>> edge_between_;
    Parallels classes_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> apart_;  ///< Classes that form squares.
    std::vector<std::uint32_t> group_;                         ///< By class: its dimension.
};

}  // namespace

std::uint32_t Torus::index(std::uint32_t sw) const {
    std::uint32_t result = 0;
    for (const Dimension& dimension : dimensions) {
        result = result * dimension.size + dimension.at[sw];
    }
    return result;
}

std::uint32_t Torus::step(std::uint32_t sw, std::size_t dimension, bool forward) const {
    const Dimension& along = dimensions[dimension];
    const std::uint32_t last = along.size - 1;
    const std::uint32_t at = along.at[sw];
    if (!along.ring && at == (forward ? last : 0)) {
        return kNone;
    }
    const std::uint32_t to = forward ? (at == last ? 0 : at + 1) : (at == 0 ? last : at - 1);
    std::uint32_t stride = 1;
    for (std::size_t d = dimension + 1; d < dimensions.size(); ++d) {
        stride *= dimensions[d].size;
    }
    return switch_at[index(sw) + to * stride - at * stride];
}

std::optional<Torus> find_torus(const Graph& graph, const Neighbours& neighbours) {
    if (graph.links().empty()) {
        return std::nullopt;
    }
    return TorusFinder(graph, neighbours).find();
}

}  // namespace softib::routing
