// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/detours.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/routing/acyclic.h"
#include "core/routing/dependencies.h"
#include "core/routing/route_walk.h"

namespace softib::routing {

namespace {

/// All dependencies of the tables so far. If VL = SL, packets do not change lanes, and each lane
/// has a dependency graph of its own, made when it is first used.
class Lanes {
  public:
    Lanes(const Graph& graph, const Tables& tables, std::uint8_t vls)
        : graph_(graph), mixed_(!tables.sl_to_vl.empty()), lanes_(mixed_ ? 1 : vls) {
        const PortMap ports(graph);
        Dependencies dependencies(graph, ports, mixed_ ? vls : tables.vls);
        RouteWalk walk(graph, tables.lfts, ports);
        DependencyCollector collector(graph, tables, ports, true);
        graph.for_each_lid([&](const Target& target, Lid lid) {
            walk.to(target, lid);
            collector.add(walk, target, dependencies);
        });
        for (std::uint8_t vl = 0; vl < (mixed_ ? 1 : tables.vls); ++vl) {
            lanes_[vl].emplace(graph, mixed_ ? vls : std::uint8_t{1});
            lanes_[vl]->load(dependencies, vl);
        }
    }

    bool add(Channel from, Channel to) {
        AcyclicDependencies& lane = of(from);
        const auto edge = std::pair(number(lane, from), number(lane, to));
        if (lane.has(edge.first, edge.second)) {
            return true;
        }
        if (!lane.add(edge.first, edge.second)) {
            return false;
        }
        added_.push_back({&lane, edge.first, edge.second});
        return true;
    }
    /// Returns the number of dependencies added since the last keep().
    std::size_t added() const { return added_.size(); }
    /// Removes the dependencies added since the last keep(), except for the first `first` of them.
    void take_back(std::size_t first) {
        for (std::size_t i = first; i < added_.size(); ++i) {
            added_[i].lane->remove(added_[i].from, added_[i].to);
        }
        added_.resize(first);
    }
    void keep() { added_.clear(); }

  private:
    struct Added {  // A dependency that take_back() can remove.
        AcyclicDependencies* lane;
        std::uint32_t from, to;
    };

    AcyclicDependencies& of(Channel channel) {
        std::optional<AcyclicDependencies>& lane = lanes_[mixed_ ? 0 : channel.vl];
        if (!lane) {
            lane.emplace(graph_, std::uint8_t{1});
        }
        return *lane;
    }
    std::uint32_t number(const AcyclicDependencies& lane, Channel channel) const {
        return lane.channel(channel.link, mixed_ ? channel.vl : std::uint8_t{0});
    }

    const Graph& graph_;
    bool mixed_;
    std::vector<std::optional<AcyclicDependencies>> lanes_;
    std::vector<Added> added_;
};

/// The check that keeps detours from closing a cycle: the dependencies of all routes, or a rule.
/// The other one is nullptr.
struct Guard {
    Lanes* lanes;
    const MayFollow* may_follow;
};

class Detours {
  public:
    Detours(const Graph& graph, std::span<const std::uint8_t> sls, Guard guard, Tables& tables)
        : graph_(graph), sls_(sls), guard_(guard), tables_(tables), hops_(graph.switch_count()) {}

    /// Fills holes that all have the same destination switch. Returns those left open.
    std::vector<Hole> fill(std::span<const Hole> holes) {
        to_ = holes[0].to;
        std::vector<std::uint32_t> wanted;
        for (const Hole& hole : holes) {
            wanted.push_back(hole.from);
        }
        lids_ = graph_.lids(to_);
        measure();
        filled_.clear();
        // Helpers are further switches that may get a route on the way. Those that turn out to be
        // of no use are taken back, but cost time, so searches with few helpers come first.
        search(wanted, {});
        if (!all_filled(wanted)) {
            search(wanted, find_near_helpers(wanted));
        }
        if (!all_filled(wanted)) {
            search(wanted, find_all_helpers(wanted));
        }
        drop_unused(wanted);
        std::vector<Hole> open;
        for (const std::uint32_t sw : wanted) {
            if (hops_[sw] == kNone) {
                open.push_back({sw, to_});
            }
        }
        return open;
    }

  private:
    bool all_filled(std::span<const std::uint32_t> wanted) const {
        return std::ranges::none_of(wanted, [&](std::uint32_t sw) { return hops_[sw] == kNone; });
    }

    /// Sets hops_ to the hops of each switch to the destination; kNone without a route.
    void measure() {
        std::ranges::fill(hops_, kNone);
        hops_[to_] = 0;
        std::vector<std::uint32_t> path;
        for (std::uint32_t sw = 0; sw < graph_.switch_count() && !lids_.empty(); ++sw) {
            path.clear();
            std::uint32_t at = sw;
            while (hops_[at] == kNone && tables_.lfts.at(at, lids_[0]) != kNoPath) {
                path.push_back(at);
                at = next(at, lids_[0]).peer;
            }
            for (std::uint32_t far = 1; hops_[at] != kNone && !path.empty(); ++far) {
                hops_[path.back()] = hops_[at] + far;
                path.pop_back();
            }
        }
    }

    const Link& next(std::uint32_t sw, Lid lid) const {
        return graph_.links()[graph_.link_at(sw, tables_.lfts.at(sw, lid))];
    }

    /// Returns switches without a route that are on shortest ways from wanted switches to switches
    /// with a route.
    std::vector<std::uint32_t> find_near_helpers(std::span<const std::uint32_t> wanted) const {
        std::vector<std::uint32_t> routed;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (hops_[sw] != kNone) {
                routed.push_back(sw);
            }
        }
        const auto from_wanted = distances_in_hole(wanted);
        const auto from_routed = distances_in_hole(routed);
        std::uint32_t longest = 0;
        for (const std::uint32_t sw : wanted) {
            longest = std::max(longest, from_routed[sw] == kNone ? 0 : from_routed[sw]);
        }
        std::vector<std::uint32_t> helpers;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (hops_[sw] == kNone && from_wanted[sw] != kNone && from_wanted[sw] != 0 &&
                from_routed[sw] != kNone && from_wanted[sw] + from_routed[sw] <= longest) {
                helpers.push_back(sw);
            }
        }
        return helpers;
    }

    std::vector<std::uint32_t> find_all_helpers(std::span<const std::uint32_t> wanted) const {
        std::vector<std::uint32_t> helpers;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (hops_[sw] == kNone && std::ranges::find(wanted, sw) == wanted.end()) {
                helpers.push_back(sw);
            }
        }
        return helpers;
    }

    /// Returns the hops from the nearest of `starts`, through switches without a route only.
    std::vector<std::uint32_t> distances_in_hole(std::span<const std::uint32_t> starts) const {
        std::vector<std::uint32_t> distance(graph_.switch_count(), kNone);
        std::vector<std::uint32_t> queue(starts.begin(), starts.end());
        for (const std::uint32_t sw : starts) {
            distance[sw] = 0;
        }
        for (std::size_t i = 0; i < queue.size(); ++i) {
            for (const Link& link : graph_.links(queue[i])) {
                if (distance[link.peer] == kNone && hops_[link.peer] == kNone) {
                    distance[link.peer] = distance[queue[i]] + 1;
                    queue.push_back(link.peer);
                }
            }
        }
        return distance;
    }

    /// Searches outwards from the switches with a route, ring by ring, until all wanted switches
    /// have one. Only wanted switches and helpers get a route.
    void search(std::span<const std::uint32_t> wanted, std::span<const std::uint32_t> helpers) {
        std::vector<bool> eligible(graph_.switch_count());
        for (const auto switches : {wanted, helpers}) {
            for (const std::uint32_t sw : switches) {
                eligible[sw] = hops_[sw] == kNone;
            }
        }
        std::vector<std::vector<std::uint32_t>> rings;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (hops_[sw] != kNone) {
                rings.resize(std::max<std::size_t>(rings.size(), hops_[sw] + 1));
                rings[hops_[sw]].push_back(sw);
            }
        }
        std::vector<std::uint32_t> around;
        for (std::uint32_t hops = 0; hops < rings.size() && !all_filled(wanted); ++hops) {
            around.clear();
            for (const std::uint32_t sw : rings[hops]) {
                for (const Link& link : graph_.links(sw)) {
                    if (eligible[link.peer]) {
                        eligible[link.peer] = false;
                        around.push_back(link.peer);
                    }
                }
            }
            for (const std::uint32_t sw : around) {
                if (fill_one(sw, hops)) {
                    rings.resize(std::max<std::size_t>(rings.size(), hops + 2));
                    rings[hops + 1].push_back(sw);
                } else {
                    eligible[sw] = true;  // A longer way may still be found.
                }
            }
        }
    }

    /// Finds a route for a switch over a neighbour that is `hops` away from the destination. All
    /// LIDs leave by the same link and on the same service level. Returns false if there is none.
    bool fill_one(std::uint32_t sw, std::uint32_t hops) {
        for (std::uint32_t i = 0; i < graph_.degree(sw); ++i) {
            const std::uint32_t link = graph_.first_link(sw) + i;
            if (hops_[graph_.links(sw)[i].peer] != hops || !may_go_on(link)) {
                continue;
            }
            for (const std::uint8_t sl : sls_) {
                if (try_link(link, sl)) {
                    filled_.push_back({sw, link, sl});
                    hops_[sw] = hops + 1;
                    set_ports(sw, graph_.links()[link].port);
                    return true;
                }
            }
        }
        return false;
    }

    bool may_go_on(std::uint32_t first) const {
        return guard_.may_follow == nullptr || std::ranges::all_of(lids_, [&](Lid lid) {
                   std::uint32_t link = first;
                   while (graph_.links()[link].peer != to_) {
                       const std::uint32_t at = graph_.links()[link].peer;
                       const std::uint32_t then = graph_.link_at(at, tables_.lfts.at(at, lid));
                       if (!(*guard_.may_follow)(link, then)) {
                           return false;
                       }
                       link = then;
                   }
                   return true;
               });
    }

    void set_ports(std::uint32_t sw, std::uint8_t port) {
        for (const Lid lid : lids_) {
            tables_.lfts.at(sw, lid) = port;
        }
    }

    bool try_link(std::uint32_t link, std::uint8_t sl) {
        if (guard_.lanes == nullptr) {
            return true;
        }
        const std::size_t before = guard_.lanes->added();
        const bool good =
            std::ranges::all_of(lids_, [&](Lid lid) { return try_path(link, lid, sl); });
        if (!good) {
            guard_.lanes->take_back(before);
        }
        return good;
    }

    /// Adds the dependencies of the way that begins with a link and goes on by the tables. Returns
    /// false if one of them would close a cycle.
    bool try_path(std::uint32_t first, Lid lid, std::uint8_t sl) {
        Channel at{first, tables_.vl(graph_.source(first), 0, graph_.links()[first].port, sl)};
        highest_vl_ = std::max(highest_vl_, at.vl);
        while (graph_.links()[at.link].peer != to_) {
            const Link& link = graph_.links()[at.link];
            const std::uint8_t port = tables_.lfts.at(link.peer, lid);
            const Channel then{graph_.link_at(link.peer, port),
                               tables_.vl(link.peer, link.peer_port, port, sl)};
            if (!guard_.lanes->add(at, then)) {
                return false;
            }
            highest_vl_ = std::max(highest_vl_, then.vl);
            at = then;
        }
        return true;
    }

    /// Takes back the routes that no wanted switch needs, with their dependencies.
    void drop_unused(std::span<const std::uint32_t> wanted) {
        std::vector<bool> used(graph_.switch_count());
        for (const std::uint32_t start : wanted) {
            for (const Lid lid : lids_) {
                for (std::uint32_t sw = start; hops_[start] != kNone && sw != to_;
                     sw = next(sw, lid).peer) {
                    used[sw] = true;
                }
            }
        }
        if (guard_.lanes != nullptr) {
            guard_.lanes->take_back(0);
        }
        for (const Filled& route : filled_) {
            set_ports(route.sw, kNoPath);
        }
        highest_vl_ = 0;
        for (const Filled& route : filled_) {
            if (!used[route.sw]) {
                hops_[route.sw] = kNone;
                continue;
            }
            SOFTIB_CHECK(try_link(route.link, route.sl));
            set_ports(route.sw, graph_.links()[route.link].port);
            tables_.sls.set(route.sw, to_, route.sl, graph_.switch_count());
        }
        if (guard_.lanes != nullptr) {
            guard_.lanes->keep();
        }
        tables_.vls = std::max(tables_.vls, static_cast<std::uint8_t>(highest_vl_ + 1));
    }

    struct Filled {
        std::uint32_t sw;
        std::uint32_t link;
        std::uint8_t sl;
    };

    const Graph& graph_;
    std::span<const std::uint8_t> sls_;
    Guard guard_;
    Tables& tables_;
    std::uint32_t to_ = 0;
    std::vector<Lid> lids_;  ///< LIDs of to_.
    std::vector<std::uint32_t> hops_;
    std::vector<Filled> filled_;  ///< Routes found, from the destination outwards.
    std::uint8_t highest_vl_ = 0;
};

std::uint8_t lanes_needed(std::span<const std::uint8_t> sls, const Tables& tables) {
    std::uint8_t highest = 0;
    for (const std::uint8_t sl : sls) {
        highest = std::max(highest, tables.sl_to_vl.empty() ? sl : tables.sl_to_vl.highest(sl));
    }
    return static_cast<std::uint8_t>(highest + 1);
}

std::vector<Hole> fill_all(std::span<const Hole> holes, Detours detours) {
    std::vector<Hole> open;
    std::vector<Hole> sorted(holes.begin(), holes.end());
    std::ranges::sort(sorted, {}, [](const Hole& hole) { return std::pair(hole.to, hole.from); });
    for (std::size_t begin = 0; begin < sorted.size();) {
        std::size_t end = begin;
        while (end < sorted.size() && sorted[end].to == sorted[begin].to) {
            ++end;
        }
        const auto left = detours.fill(std::span(sorted).subspan(begin, end - begin));
        open.insert(open.end(), left.begin(), left.end());
        begin = end;
    }
    return open;
}

}  // namespace

std::vector<Hole> erase_dead_ends(const Graph& graph, Tables& tables) {
    const PortMap ports(graph);
    const std::vector<std::uint32_t> islands = find_islands(graph);
    std::vector<Hole> holes;
    // A switch that cannot reach some LIDs of another one gives up the rest too, which may cut off
    // further switches.
    for (std::size_t before = SIZE_MAX; before != holes.size();) {
        before = holes.size();
        RouteWalk walk(graph, tables.lfts, ports);
        graph.for_each_lid([&](const Target& target, Lid lid) {
            walk.to(target, lid);
            for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
                if (!walk.reaches(sw) && islands[sw] == islands[target.at]) {
                    holes.push_back({sw, target.at});
                }
            }
        });
        std::ranges::sort(holes);
        const auto rest = std::ranges::unique(holes);
        holes.erase(rest.begin(), rest.end());
        for (const Hole& hole : holes) {
            for (const Lid lid : graph.lids(hole.to)) {
                tables.lfts.at(hole.from, lid) = kNoPath;
            }
        }
    }
    return holes;
}

std::vector<Hole> fill_holes(const Graph& graph, std::span<const Hole> holes,
                             std::span<const std::uint8_t> sls, Tables& tables) {
    if (holes.empty()) {
        return {};
    }
    Lanes lanes(graph, tables, std::max(tables.vls, lanes_needed(sls, tables)));
    return fill_all(holes, Detours(graph, sls, {&lanes, nullptr}, tables));
}

std::vector<Hole> fill_holes_by_rule(const Graph& graph, std::span<const Hole> holes,
                                     std::uint8_t sl, const MayFollow& may_follow, Tables& tables) {
    auto open = fill_all(holes, Detours(graph, std::span(&sl, 1), {nullptr, &may_follow}, tables));
    if (open.size() < holes.size()) {
        tables.vls = std::max(tables.vls, static_cast<std::uint8_t>(sl + 1));
    }
    return open;
}

}  // namespace softib::routing
