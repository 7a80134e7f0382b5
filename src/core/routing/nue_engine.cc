// SPDX-License-Identifier: BSD-2-Clause
// Nue: deadlock-free routes on any topology with any number of virtual lanes (Domke, Hoefler and
// Matsuoka, HPDC 2016). Destinations are divided among the lanes. On each lane the engine searches
// routes inside the channel dependency graph, destination by destination, and takes no step that
// would close a cycle. The paths of a spanning tree (the escape paths) are in the graph from the
// start, so that a destination to which no other way is left can always be reached along the tree.
//
// The search takes the allowed step with the fewest hops, then the one with the least load.
#include <algorithm>
#include <array>
#include <iterator>

#include "core/routing/acyclic.h"
#include "core/routing/engine.h"
#include "core/routing/escape_tree.h"
#include "core/routing/numbering.h"

namespace softib::routing {

namespace {

/// Finds the routes to the destinations of one lane.
class Lane {
  public:
    Lane(const Graph& graph, std::span<const std::uint32_t> destinations,
         std::vector<std::uint64_t>& load)
        : graph_(graph),
          load_(load),
          dependencies_(graph, 1),
          tree_(make_escape_tree(graph, destinations)),
          out_(graph.switch_count()),
          hops_(graph.switch_count()),
          cost_(graph.switch_count()),
          touched_(graph.switch_count()) {
        reserve_escape_paths();
    }

    /// Finds a route from every switch of the island to `to`. `weight` is the number of LIDs that
    /// will use it.
    void route(std::uint32_t to, std::uint32_t weight) {
        to_ = to;
        std::ranges::fill(hops_, kNone);
        rings_.clear();
        cost_[to] = 0;
        settle(to, 0);
        // There is little traffic to a switch without hosts. Routes to it use only dependencies
        // that exist already, and so block no other routes.
        may_add_ = graph_.host_count(to) != 0;
        search(0);
        if (!repair()) {
            take_escape_paths();
        }
        add_load(weight);
    }

    /// Returns the link by which a switch sends to the last destination; kNone if there is none.
    std::uint32_t out(std::uint32_t sw) const {
        return hops_[sw] == kNone || sw == to_ ? kNone : out_[sw];
    }

  private:
    /// Adds the dependencies of the tree's paths between all switches, not only to the destinations
    /// of this lane: the search gets stuck less often if every switch can go on along the tree.
    void reserve_escape_paths() {
        std::vector<std::vector<std::uint32_t>> children(graph_.switch_count());
        for (const std::uint32_t sw : tree_.top_down) {
            if (tree_.up[sw] != kNone) {
                children[parent(sw)].push_back(sw);
            }
        }
        for (const std::uint32_t sw : tree_.top_down) {
            for (const std::uint32_t child : children[sw]) {
                const std::uint32_t in = tree_.up[child];
                if (tree_.up[sw] != kNone) {
                    dependencies_.add_for_good(in, tree_.up[sw]);
                    dependencies_.add_for_good(graph_.reverse(tree_.up[sw]), graph_.reverse(in));
                }
                for (const std::uint32_t other : children[sw]) {
                    if (other != child) {
                        dependencies_.add_for_good(in, graph_.reverse(tree_.up[other]));
                    }
                }
            }
        }
    }

    std::uint32_t parent(std::uint32_t sw) const { return graph_.links()[tree_.up[sw]].peer; }

    void settle(std::uint32_t sw, std::uint32_t hops) {
        hops_[sw] = hops;
        if (rings_.size() <= hops) {
            rings_.resize(hops + 1);
        }
        rings_[hops].push_back(sw);
    }

    /// Searches outwards from the switches that are `hops` away, ring by ring.
    void search(std::uint32_t hops) {
        std::vector<std::uint32_t> around;
        for (; hops < rings_.size(); ++hops) {
            around.clear();
            for (const std::uint32_t sw : rings_[hops]) {
                for (const Link& link : graph_.links(sw)) {
                    if (hops_[link.peer] == kNone && !touched_[link.peer]) {
                        touched_[link.peer] = true;
                        around.push_back(link.peer);
                    }
                }
            }
            for (const std::uint32_t sw : around) {
                touched_[sw] = false;
                find_way_out(sw, hops);
            }
        }
    }

    bool may_follow(std::uint32_t link, std::uint32_t next) {
        return may_add_ ? dependencies_.add_for_good(link, next) : dependencies_.has(link, next);
    }

    /// Gives a switch the cheapest allowed link to a switch that is `hops` away, if there is any.
    void find_way_out(std::uint32_t sw, std::uint32_t hops) {
        const auto links = graph_.links(sw);
        const std::uint32_t first = graph_.first_link(sw);
        std::array<std::uint64_t, 4> refused{};
        for (;;) {
            std::uint32_t best = kNone;
            std::uint64_t best_cost = UINT64_MAX;
            for (std::uint32_t i = 0; i < links.size(); ++i) {
                const std::uint32_t peer = links[i].peer;
                if (hops_[peer] == hops && (refused[i / 64] >> i % 64 & 1) == 0 &&
                    cost_[peer] + load_[first + i] < best_cost) {
                    best = i;
                    best_cost = cost_[peer] + load_[first + i];
                }
            }
            if (best == kNone) {
                return;
            }
            const std::uint32_t peer = links[best].peer;
            if (peer == to_ || may_follow(first + best, out_[peer])) {
                out_[sw] = first + best;
                cost_[sw] = best_cost;
                settle(sw, hops + 1);
                return;
            }
            refused[best / 64] |= std::uint64_t{1} << best % 64;
        }
    }

    /// Continues a search that got stuck, by giving neighbours of stuck switches another way out.
    /// Returns whether all switches of the island have a route then.
    bool repair() {
        bool whole = true;
        for (std::uint32_t hops = 0; hops < rings_.size(); ++hops) {
            for (std::size_t i = 0; i < rings_[hops].size(); ++i) {
                for (const Link& link : graph_.links(rings_[hops][i])) {
                    if (hops_[link.peer] == kNone) {
                        if (may_add_ && let_through(link.peer)) {
                            search(hops_[link.peer]);
                        } else {
                            whole = false;
                        }
                    }
                }
            }
        }
        return whole;
    }

    /// Gives one of the neighbours of a stuck switch another way out that both can use.
    bool let_through(std::uint32_t sw) {
        for (std::uint32_t i = 0; i < graph_.degree(sw); ++i) {
            const std::uint32_t peer = graph_.links(sw)[i].peer;
            const std::uint32_t in = graph_.first_link(sw) + i;
            if (hops_[peer] == kNone || peer == to_) {
                continue;
            }
            for (std::uint32_t j = 0; j < graph_.degree(peer); ++j) {
                const std::uint32_t out = graph_.first_link(peer) + j;
                if (out != out_[peer] && hops_[graph_.links()[out].peer] != kNone &&
                    !leads_back(graph_.links()[out].peer, peer) && try_way_out(peer, in, out)) {
                    out_[peer] = out;
                    out_[sw] = in;
                    // `peer` is now farther away than hops_ says, but that only ranks ways out.
                    cost_[sw] = cost_[peer] + load_[in];
                    settle(sw, hops_[peer] + 1);
                    return true;
                }
            }
        }
        return false;
    }

    bool leads_back(std::uint32_t from, std::uint32_t to) const {
        while (from != to_ && from != to) {
            from = graph_.links()[out_[from]].peer;
        }
        return from == to;
    }

    bool try_way_out(std::uint32_t sw, std::uint32_t in, std::uint32_t out) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> added;
        const auto add = [&](std::uint32_t from, std::uint32_t to) {
            if (dependencies_.has(from, to)) {
                return true;
            }
            if (!dependencies_.add(from, to)) {
                return false;
            }
            added.emplace_back(from, to);
            return true;
        };
        const std::uint32_t next = graph_.links()[out].peer;
        bool good = (next == to_ || add(out, out_[next])) && add(in, out);
        for (std::uint32_t i = 0; i < graph_.degree(sw) && good; ++i) {
            const std::uint32_t child = graph_.links(sw)[i].peer;
            const std::uint32_t link = graph_.reverse(graph_.first_link(sw) + i);
            if (child != to_ && hops_[child] != kNone && out_[child] == link) {
                good = add(link, out);
            }
        }
        for (const auto& [from, to] : added) {
            if (!good) {
                dependencies_.remove(from, to);
            }
        }
        return good;
    }

    void take_escape_paths() {
        // Switches on the path from the root to the destination send down, all others send up.
        for (const std::uint32_t sw : tree_.top_down) {
            out_[sw] = tree_.up[sw];
        }
        for (std::uint32_t sw = to_; tree_.up[sw] != kNone; sw = parent(sw)) {
            out_[parent(sw)] = graph_.reverse(tree_.up[sw]);
        }
        std::ranges::fill(hops_, kNone);
        rings_.clear();
        settle(to_, 0);
        for (std::uint32_t hops = 0; hops < rings_.size(); ++hops) {
            for (std::size_t i = 0; i < rings_[hops].size(); ++i) {
                const std::uint32_t sw = rings_[hops][i];
                for (std::uint32_t j = 0; j < graph_.degree(sw); ++j) {
                    const std::uint32_t link = graph_.reverse(graph_.first_link(sw) + j);
                    const std::uint32_t from = graph_.links(sw)[j].peer;
                    if (hops_[from] == kNone && out_[from] == link) {
                        settle(from, hops + 1);
                    }
                }
            }
        }
    }

    void add_load(std::uint32_t weight) {
        for (std::uint32_t start = 0; start < graph_.switch_count(); ++start) {
            const std::uint64_t flows = std::uint64_t{weight} * graph_.host_count(start);
            if (hops_[start] == kNone || flows == 0) {
                continue;
            }
            for (std::uint32_t sw = start; sw != to_; sw = graph_.links()[out_[sw]].peer) {
                load_[out_[sw]] += flows;
            }
        }
    }

    const Graph& graph_;
    std::vector<std::uint64_t>& load_;  ///< By link: flows of all lanes.
    AcyclicDependencies dependencies_;
    EscapeTree tree_;
    std::uint32_t to_ = 0;
    std::vector<std::uint32_t> out_;
    std::vector<std::uint32_t> hops_;
    std::vector<std::uint64_t> cost_;
    std::vector<bool> touched_;
    std::vector<std::vector<std::uint32_t>> rings_;  ///< Switches with a route, by hops.
    bool may_add_ = true;                            ///< Whether the search may add dependencies.
};

/// Divides switches among lanes: halves the set again and again, each time between two switches
/// that are far apart. So the destinations of a lane are near each other, and routes to one region
/// have few cycles by themselves.
void divide(const Graph& graph, std::span<std::uint32_t> switches, std::uint32_t parts,
            std::uint8_t lane, std::vector<std::uint8_t>& lane_of) {
    if (parts == 1 || switches.size() < 2) {
        for (const std::uint32_t sw : switches) {
            lane_of[sw] = lane;
        }
        return;
    }
    const auto farthest = [&](std::uint32_t from) {
        const auto distance = hops_from(graph, from);
        return *std::ranges::max_element(switches, {}, [&](std::uint32_t sw) {
            return distance[sw] == kNone ? 0 : distance[sw];
        });
    };
    const std::uint32_t a = farthest(switches[0]);
    const std::uint32_t b = farthest(a);
    const auto from_a = hops_from(graph, a);
    const auto from_b = hops_from(graph, b);
    std::ranges::stable_sort(switches, {}, [&](std::uint32_t sw) {
        return std::int64_t{from_a[sw]} - std::int64_t{from_b[sw]};
    });
    const std::uint32_t left = parts / 2;
    const std::size_t split = switches.size() * left / parts;
    divide(graph, switches.first(split), left, lane, lane_of);
    divide(graph, switches.subspan(split), parts - left, static_cast<std::uint8_t>(lane + left),
           lane_of);
}

/// Returns the LIDs of a switch in as many parts as it has cables, so that packets to each part can
/// come by another cable.
std::vector<std::vector<Lid>> split_lids(const Graph& graph, std::uint32_t sw) {
    const std::vector<Lid> lids = graph.lids(sw);
    const std::size_t parts = std::clamp<std::size_t>(
        graph.host_count(sw) == 0 ? 1 : graph.degree(sw), 1, std::max<std::size_t>(lids.size(), 1));
    std::vector<std::vector<Lid>> result(parts);
    for (std::size_t i = 0; i < lids.size(); ++i) {
        result[i % parts].push_back(lids[i]);
    }
    return result;
}

void fill_lids(const Graph& graph, const Lane& lane, std::span<const Lid> lids, Lfts& lfts) {
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        const std::uint32_t link = lane.out(sw);
        if (link == kNone) {
            continue;
        }
        for (const Lid lid : lids) {
            lfts.at(sw, lid) = graph.links()[link].port;
        }
    }
}

/// Returns, by switch, the lane of routes to it. A switch without hosts has the lane of the nearest
/// switch that has some.
std::vector<std::uint8_t> assign_lanes(const Graph& graph, std::uint8_t lanes) {
    std::vector<std::uint8_t> lane_of(graph.switch_count());
    std::vector<std::uint32_t> queue;
    for (const std::uint32_t sw : order_by_hosts(graph)) {
        if (graph.host_count(sw) != 0) {
            queue.push_back(sw);
        }
    }
    divide(graph, queue, lanes, 0, lane_of);
    std::vector<bool> seen(graph.switch_count());
    for (const std::uint32_t sw : queue) {
        seen[sw] = true;
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        for (const Link& link : graph.links(queue[i])) {
            if (!seen[link.peer]) {
                seen[link.peer] = true;
                lane_of[link.peer] = lane_of[queue[i]];
                queue.push_back(link.peer);
            }
        }
    }
    return lane_of;
}

}  // namespace

std::expected<Tables, Error> route_with_nue(const Graph& graph, const Options& options) {
    const std::uint8_t lanes = options.usable_vls();
    std::vector<std::uint8_t> lane_of = assign_lanes(graph, lanes);
    Tables tables{.engine = "nue", .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    std::vector<std::uint64_t> load(graph.links().size());
    const std::vector<std::uint32_t> order = order_by_hosts(graph);
    for (std::uint8_t vl = 0; vl < lanes; ++vl) {
        std::vector<std::uint32_t> destinations;
        std::ranges::copy_if(order, std::back_inserter(destinations),
                             [&](std::uint32_t sw) { return lane_of[sw] == vl; });
        if (destinations.empty()) {
            continue;
        }
        tables.vls = static_cast<std::uint8_t>(vl + 1);
        Lane lane(graph, destinations, load);
        for (const std::uint32_t to : destinations) {
            fill_local(graph, to, tables.lfts);
            for (const std::vector<Lid>& lids : split_lids(graph, to)) {
                const auto hosts = std::ranges::count_if(lids, [&](Lid lid) {
                    return !graph.targets()[graph.target_of(lid)].is_switch();
                });
                lane.route(to, static_cast<std::uint32_t>(hosts));
                fill_lids(graph, lane, lids, tables.lfts);
            }
        }
    }
    if (tables.vls > 1) {
        tables.sls = SlMap::by_destination(std::move(lane_of));
    }
    return tables;
}

}  // namespace softib::routing
