// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/routing/detours.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/sm/routing/acyclic.h"
#include "core/sm/routing/dependencies.h"
#include "core/sm/routing/route_walk.h"

namespace softib::sm::routing {

namespace {

/// All dependencies of the tables so far. Where VL = SL, lanes do not mix and each has a graph of
/// its own, made when it is first used.
class Lanes {
  public:
    Lanes(const Graph& graph, const Tables& tables, std::uint8_t vls)
        : graph_(graph), mixed_(!tables.sl_to_vl.empty()), lanes_(mixed_ ? 1 : vls) {
        const PortMap ports(graph);
        Dependencies dependencies(graph, ports, mixed_ ? vls : std::uint8_t{1});
        RouteWalk walk(graph, tables.lfts, ports);
        DependencyCollector collector(graph, tables, ports, true);
        for (std::uint32_t lid = 1; lid <= graph.lid_max().value; ++lid) {
            const Lid dlid{static_cast<std::uint16_t>(lid)};
            if (const std::uint32_t target = graph.target_of(dlid); target != kNone) {
                walk.to(graph.targets()[target], dlid);
                collector.add(walk, graph.targets()[target], dependencies);
            }
        }
        lanes_[0].emplace(graph, mixed_ ? vls : std::uint8_t{1});
        lanes_[0]->load(dependencies);
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
    /// Additions since the last `keep`, and how to undo all but the first of them.
    std::size_t added() const { return added_.size(); }
    void take_back(std::size_t first) {
        for (std::size_t i = first; i < added_.size(); ++i) {
            added_[i].lane->remove(added_[i].from, added_[i].to);
        }
        added_.resize(first);
    }
    void keep() { added_.clear(); }

  private:
    struct Added {  // So that one can be taken back.
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

class Detours {
  public:
    Detours(const Graph& graph, std::span<const std::uint8_t> sls, const MayFollow& may_follow,
            Tables& tables)
        : graph_(graph),
          sls_(sls),
          may_follow_(may_follow),
          tables_(tables),
          lanes_(graph, tables, std::max(tables.vls, lanes_needed())),
          hops_(graph.switch_count()),
          decided_(graph.switch_count()) {}

    /// Holes of one destination switch. Returns those left open.
    std::vector<Hole> fill(std::span<const Hole> holes) {
        to_ = holes[0].to;
        std::vector<std::uint32_t> wanted;
        for (const Hole& hole : holes) {
            wanted.push_back(hole.from);
        }
        list_lids();
        measure();
        filled_.clear();
        search(wanted, find_helpers(wanted, false));
        if (!all_filled(wanted)) {
            search(wanted, find_helpers(wanted, true));
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
    std::uint8_t lanes_needed() const {
        std::uint8_t highest = 0;
        for (const std::uint8_t sl : sls_) {
            highest =
                std::max(highest, tables_.sl_to_vl.empty() ? sl : tables_.sl_to_vl.highest(sl));
        }
        return static_cast<std::uint8_t>(highest + 1);
    }

    void list_lids() {
        lids_.clear();
        for (const std::uint32_t index : graph_.targets(to_)) {
            const Target& target = graph_.targets()[index];
            for (std::uint32_t i = 0; i < target.lid_count(); ++i) {
                lids_.push_back(Lid{static_cast<std::uint16_t>(target.lid.value + i)});
            }
        }
    }

    bool all_filled(std::span<const std::uint32_t> wanted) const {
        return std::ranges::none_of(wanted, [&](std::uint32_t sw) { return hops_[sw] == kNone; });
    }

    /// Hops from where all LIDs are reached, and whose service level is settled because some are.
    void measure() {
        std::ranges::fill(hops_, 0U);
        decided_.assign(graph_.switch_count(), false);
        std::vector<std::uint32_t> hops(graph_.switch_count());
        std::vector<std::uint32_t> path;
        for (const Lid lid : lids_) {
            std::ranges::fill(hops, kNone);
            hops[to_] = 0;
            for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
                path.clear();
                std::uint32_t at = sw;
                while (hops[at] == kNone && tables_.lfts.at(at, lid) != kNoPath) {
                    path.push_back(at);
                    at = next(at, lid).peer;
                }
                for (std::uint32_t far = 1; hops[at] != kNone && !path.empty(); ++far) {
                    hops[path.back()] = hops[at] + far;
                    path.pop_back();
                }
                hops_[sw] = std::max(hops_[sw], hops[sw]);  // kNone is the largest.
                decided_[sw] = decided_[sw] || hops[sw] != kNone;
            }
        }
    }

    const Link& next(std::uint32_t sw, Lid lid) const {
        return graph_.links()[graph_.link_at(sw, tables_.lfts.at(sw, lid))];
    }

    /// Switches without a route that may serve on the way: those on shortest ways from wanted ones
    /// to where the LID is reached, or all.
    std::vector<std::uint32_t> find_helpers(std::span<const std::uint32_t> wanted, bool all) const {
        std::vector<std::uint32_t> helpers;
        std::vector<std::uint32_t> routed;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (hops_[sw] != kNone) {
                routed.push_back(sw);
            } else if (all && std::ranges::find(wanted, sw) == wanted.end()) {
                helpers.push_back(sw);
            }
        }
        if (all) {
            return helpers;
        }
        const auto from_wanted = distances_in_hole(wanted);
        const auto from_routed = distances_in_hole(routed);
        std::uint32_t longest = 0;
        for (const std::uint32_t sw : wanted) {
            longest = std::max(longest, from_routed[sw] == kNone ? 0 : from_routed[sw]);
        }
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (hops_[sw] == kNone && from_wanted[sw] != kNone && from_wanted[sw] != 0 &&
                from_routed[sw] != kNone && from_wanted[sw] + from_routed[sw] <= longest) {
                helpers.push_back(sw);
            }
        }
        return helpers;
    }

    /// Hops from the nearest start, through switches without a route only.
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

    /// Outwards from where the LID is reached, until the wanted ones have routes.
    void search(std::span<const std::uint32_t> wanted, std::span<const std::uint32_t> helpers) {
        std::vector<std::uint32_t> left;
        for (const std::uint32_t sw : wanted) {
            if (hops_[sw] == kNone) {
                left.push_back(sw);
            }
        }
        left.insert(left.end(), helpers.begin(), helpers.end());
        std::uint32_t farthest = 0;
        for (const std::uint32_t hops : hops_) {
            farthest = std::max(farthest, hops == kNone ? 0 : hops);
        }
        for (std::uint32_t hops = 0; hops <= farthest && !all_filled(wanted); ++hops) {
            std::erase_if(left, [&](std::uint32_t sw) {
                const bool done = fill_one(sw, hops);
                farthest = done ? std::max(farthest, hops + 1) : farthest;
                return done;
            });
        }
    }

    /// All LIDs leave by the same link and on the same service level.
    bool fill_one(std::uint32_t sw, std::uint32_t hops) {
        for (std::uint32_t i = 0; i < graph_.degree(sw); ++i) {
            if (hops_[graph_.links(sw)[i].peer] != hops) {
                continue;
            }
            const std::uint32_t link = graph_.first_link(sw) + i;
            for (const std::uint8_t sl : sls_) {
                if ((!decided_[sw] || tables_.sls.at(sw, to_) == sl) && try_link(link, sl)) {
                    filled_.push_back({sw, link, sl, take_lids(sw, link)});
                    hops_[sw] = hops + 1;
                    return true;
                }
            }
        }
        return false;
    }

    std::vector<Lid> take_lids(std::uint32_t sw, std::uint32_t link) {
        std::vector<Lid> taken;
        for (const Lid lid : lids_) {
            if (tables_.lfts.at(sw, lid) == kNoPath) {
                tables_.lfts.at(sw, lid) = graph_.links()[link].port;
                taken.push_back(lid);
            }
        }
        return taken;
    }

    bool try_link(std::uint32_t link, std::uint8_t sl) {
        const std::size_t before = lanes_.added();
        for (const Lid lid : lids_) {
            if (tables_.lfts.at(graph_.source(link), lid) == kNoPath && !try_path(link, lid, sl)) {
                lanes_.take_back(before);
                return false;
            }
        }
        return true;
    }

    /// From the first link on, as the tables say.
    bool try_path(std::uint32_t first, Lid lid, std::uint8_t sl) {
        Channel at{first, tables_.vl(graph_.source(first), 0, graph_.links()[first].port, sl)};
        highest_vl_ = std::max(highest_vl_, at.vl);
        while (graph_.links()[at.link].peer != to_) {
            const Link& link = graph_.links()[at.link];
            const std::uint8_t port = tables_.lfts.at(link.peer, lid);
            const Channel then{graph_.link_at(link.peer, port),
                               tables_.vl(link.peer, link.peer_port, port, sl)};
            if (!may_follow_(at.link, then.link) || !lanes_.add(at, then)) {
                return false;
            }
            highest_vl_ = std::max(highest_vl_, then.vl);
            at = then;
        }
        return true;
    }

    /// Takes back the routes that no wanted switch needs, and what only they depended on.
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
        lanes_.take_back(0);
        for (const Filled& route : filled_) {
            for (const Lid lid : route.lids) {
                tables_.lfts.at(route.sw, lid) = kNoPath;
            }
        }
        highest_vl_ = 0;
        for (const Filled& route : filled_) {
            if (!used[route.sw]) {
                hops_[route.sw] = kNone;
                continue;
            }
            SOFTIB_CHECK(try_link(route.link, route.sl));
            take_lids(route.sw, route.link);
            tables_.sls.set(route.sw, to_, route.sl, graph_.switch_count());
        }
        lanes_.keep();
        tables_.vls = std::max(tables_.vls, static_cast<std::uint8_t>(highest_vl_ + 1));
    }

    struct Filled {
        std::uint32_t sw;
        std::uint32_t link;
        std::uint8_t sl;
        std::vector<Lid> lids;
    };

    const Graph& graph_;
    std::span<const std::uint8_t> sls_;
    const MayFollow& may_follow_;
    Tables& tables_;
    Lanes lanes_;
    std::uint32_t to_ = 0;
    std::vector<Lid> lids_;  ///< Of to_.
    std::vector<std::uint32_t> hops_;
    std::vector<bool> decided_;   ///< By switch: its service level to `to_` is given out.
    std::vector<Filled> filled_;  ///< From the destination outwards.
    std::uint8_t highest_vl_ = 0;
};

}  // namespace

std::vector<Hole> erase_dead_ends(const Graph& graph, Tables& tables) {
    const PortMap ports(graph);
    const std::vector<std::uint32_t> islands = find_islands(graph);
    RouteWalk walk(graph, tables.lfts, ports);
    std::vector<Hole> holes;
    for (std::uint32_t lid = 1; lid <= graph.lid_max().value; ++lid) {
        const Lid dlid{static_cast<std::uint16_t>(lid)};
        const std::uint32_t index = graph.target_of(dlid);
        if (index == kNone) {
            continue;
        }
        const std::uint32_t to = graph.targets()[index].at;
        walk.to(graph.targets()[index], dlid);
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            if (!walk.reaches(sw)) {
                tables.lfts.at(sw, dlid) = kNoPath;
                if (islands[sw] == islands[to]) {
                    holes.push_back({sw, to});
                }
            }
        }
    }
    std::ranges::sort(holes);
    const auto rest = std::ranges::unique(holes);
    holes.erase(rest.begin(), rest.end());
    return holes;
}

std::vector<Hole> fill_holes(const Graph& graph, std::span<const Hole> holes,
                             std::span<const std::uint8_t> sls, Tables& tables,
                             const MayFollow& may_follow) {
    std::vector<Hole> open;
    if (holes.empty()) {
        return open;
    }
    std::vector<Hole> sorted(holes.begin(), holes.end());
    std::ranges::sort(sorted, {}, [](const Hole& hole) { return std::pair(hole.to, hole.from); });
    Detours detours(graph, sls, may_follow, tables);
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

}  // namespace softib::sm::routing
