// SPDX-License-Identifier: BSD-2-Clause
// Dragonflies: within its group a packet goes straight to a switch with a cable to the
// destination's group, crosses over, and within that group goes straight to the destination. Cables
// inside a group (local cables) are used before and after the crossing; after it, on the second
// virtual lane. So packets move from local lane 0 to global lane 0 to local lane 1, and never back.
// The ports of a switch alone decide the lane: lane 1 is for packets in by a global port and out by
// a local one. All paths have service level 0.
//
// If switches choose by load (UGAL: Kim, Dally, Scott and Abts 2008), a packet may also go round by
// a third group: its switch sends it by a global cable of its own, or to another switch of the
// group, which sends it by one of its own. From there on the packet takes the shortest way. Lanes
// that depend on ports alone do not tell the first crossing from the second. So groups are passed
// in an order that never closes a circle: a crossing is even or odd (the numbers of its groups are
// both even or both odd, or not) and up or down (to a higher group or a lower one), and may follow
// another one only as kFollows says. For any two groups about half of all others are left to go
// round by (the parity-sign rule of Garcia et al. 2013, there for the switches of a group). After a
// crossing its kind selects the lane of the local cable, so that the same crossings may follow the
// local cable as may follow the crossing itself.
#include <algorithm>
#include <array>

#include "core/routing/detours.h"
#include "core/routing/engine.h"
#include "core/routing/groups.h"

namespace softib::routing {

namespace {

// Detours may use other lanes than the rule says: lane 0 all the way, lane 1 all the way, then
// further lanes if there are any. Each has a service level, from kSlDetour on.
constexpr std::uint8_t kSlRule = 0;
constexpr std::uint8_t kSlDetour = 1;

constexpr std::uint8_t kLocal = 0;
constexpr std::uint8_t kGlobal = 1;

// Kinds of crossings, and the mask of kinds that may follow each (bit n for kind n).
enum Crossing : std::uint8_t { kEvenUp, kEvenDown, kOddUp, kOddDown };
constexpr std::uint8_t kOdd = 1U << kOddUp | 1U << kOddDown;
constexpr std::array<std::uint8_t, 4> kFollows{kOdd, 0xF, kOdd, 0};
// The local lane after a crossing of each kind. Lane 0 is also that of packets that come from
// hosts, which any crossing may follow.
constexpr std::array<std::uint8_t, 4> kLaneBehind{1, 0, 1, 2};
constexpr std::uint8_t kLongWayVls = 3;

Crossing crossing(std::uint32_t from, std::uint32_t to) {
    return static_cast<Crossing>((from % 2 == to % 2 ? kEvenUp : kOddUp) + (to < from ? 1 : 0));
}

// With more holes than this, the graph is not a damaged dragonfly but something else.
constexpr std::size_t kHolesMaxPercent = 20;

std::vector<std::uint8_t> list_sls(std::uint8_t vls) {
    std::vector<std::uint8_t> sls{kSlRule};
    for (std::uint8_t vl = 0; vl < vls && kSlDetour + vl < kSlCount; ++vl) {
        sls.push_back(static_cast<std::uint8_t>(kSlDetour + vl));
    }
    return sls;
}

class DragonflyRouter {
  public:
    DragonflyRouter(const Graph& graph, std::vector<std::uint32_t> group_of)
        : graph_(graph),
          neighbours_(graph),
          group_of_(std::move(group_of)),
          rank_(graph.switch_count()),
          joined_(std::size_t{graph.switch_count()} * graph.switch_count()) {
        // group_of_ names a group by its lowest switch.
        std::uint32_t groups = 0;
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            rank_[sw] = group_of_[sw] == sw ? groups++ : rank_[group_of_[sw]];
        }
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            for (const Neighbours::Neighbour& next : neighbours_.of(sw)) {
                joined_[std::size_t{sw} * graph.switch_count() + next.peer] = true;
            }
        }
    }

    void fill(Lfts& lfts) const {
        for (std::uint32_t to = 0; to < graph_.switch_count(); ++to) {
            fill_local(graph_, to, lfts);
            for (std::uint32_t from = 0; from < graph_.switch_count(); ++from) {
                if (from != to) {
                    fill_pair(from, to, lfts);
                }
            }
        }
    }

    SlToVl lanes(std::uint8_t vls) const {
        SlToVl map(graph_.switch_count(), 2, 2);
        for (const std::uint8_t in : {kLocal, kGlobal}) {
            for (const std::uint8_t out : {kLocal, kGlobal}) {
                SlToVl::Row row{};
                for (const std::uint8_t sl : list_sls(vls)) {
                    row[sl] = sl == kSlRule ? in == kGlobal && out == kLocal
                                            : static_cast<std::uint8_t>(sl - kSlDetour);
                }
                map.set_row(in, out, row);
            }
        }
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            for (const Link& link : graph_.links(sw)) {
                const std::uint8_t kind = group_of_[sw] == group_of_[link.peer] ? kLocal : kGlobal;
                map.set_in_class(sw, link.port, kind);
                map.set_out_class(sw, link.port, kind);
            }
        }
        return map;
    }

    /// Adds the sets of ports on equally short ways, and those on longer ways.
    void add_choices(Tables& tables) const {
        const std::uint32_t n = graph_.switch_count();
        tables.groups = make_port_groups(n, [&](std::uint32_t from, std::uint32_t to) {
            return from == to ? std::vector<std::uint8_t>{} : ports_to(from, next_hops(from, to));
        });
        // A switch sends packets from its group round by a cable of its own, unless one of its
        // cables leads to the destination's group.
        const PortGroups& across = tables.long_ways.instead =
            make_port_groups(n, [&](std::uint32_t sw, std::uint32_t to) {
                return leads_across(sw, to) ? std::vector<std::uint8_t>{}
                                            : ports_to(sw, ways_round(sw, to));
            });
        tables.long_ways.beside = make_port_groups(n, [&](std::uint32_t from, std::uint32_t to) {
            if (group_of_[from] == group_of_[to]) {
                return std::vector<std::uint8_t>{};
            }
            std::vector<std::uint32_t> hops = ways_round(from, to);
            const auto near = neighbours_.of(from);
            for (std::uint32_t i = 0; i < near.size(); ++i) {
                if (group_of_[near[i].peer] == group_of_[from] &&
                    across.of(near[i].peer, to) != 0) {
                    hops.push_back(i);
                }
            }
            return ports_to(from, hops);
        });
        tables.long_ways.origins.assign(std::size_t{n} * 256, Origin::kHost);
        for (std::uint32_t sw = 0; sw < n; ++sw) {
            for (const Link& link : graph_.links(sw)) {
                tables.long_ways.origins[std::size_t{sw} * 256 + link.port] =
                    group_of_[sw] == group_of_[link.peer] ? Origin::kNear : Origin::kAny;
            }
        }
        tables.vls = kLongWayVls;
        tables.sl_to_vl = lanes_behind();
    }

    bool one_group() const {
        return std::ranges::all_of(group_of_, [&](std::uint32_t g) { return g == group_of_[0]; });
    }

  private:
    bool joined(std::uint32_t a, std::uint32_t b) const {
        return joined_[std::size_t{a} * graph_.switch_count() + b];
    }
    /// Returns whether a switch is `to` or has a cable to it within its group.
    bool arrives(std::uint32_t sw, std::uint32_t to) const {
        return sw == to || (group_of_[sw] == group_of_[to] && joined(sw, to));
    }

    /// Returns the positions of neighbours in the group of `to` that have a cable to it; only that
    /// of `to` itself if it is a neighbour.
    std::vector<std::uint32_t> crossings(std::uint32_t from, std::uint32_t to) const {
        std::vector<std::uint32_t> result;
        const auto near = neighbours_.of(from);
        for (std::uint32_t i = 0; i < near.size(); ++i) {
            if (near[i].peer == to) {
                return {i};
            }
            if (group_of_[near[i].peer] == group_of_[to] && arrives(near[i].peer, to)) {
                result.push_back(i);
            }
        }
        return result;
    }

    /// Returns the positions of the best next hops among the neighbours.
    std::vector<std::uint32_t> next_hops(std::uint32_t from, std::uint32_t to) const {
        if (joined(from, to)) {
            return crossings(from, to);
        }
        if (group_of_[from] == group_of_[to]) {
            return {};
        }
        if (std::vector<std::uint32_t> own = crossings(from, to); !own.empty()) {
            return own;
        }
        std::vector<std::uint32_t> shortest;
        std::vector<std::uint32_t> others;
        const auto near = neighbours_.of(from);
        for (std::uint32_t i = 0; i < near.size(); ++i) {
            const std::uint32_t gateway = near[i].peer;
            if (group_of_[gateway] != group_of_[from]) {
                continue;
            }
            if (joined(gateway, to)) {
                shortest.push_back(i);
            } else if (!crossings(gateway, to).empty()) {
                others.push_back(i);
            }
        }
        return shortest.empty() ? others : shortest;
    }

    /// Returns whether a switch is in the group of `to`, or has a cable to that group from where
    /// `to` is reached.
    bool leads_across(std::uint32_t sw, std::uint32_t to) const {
        return group_of_[sw] == group_of_[to] || !crossings(sw, to).empty();
    }

    /// Returns the positions of neighbours in third groups by which a packet may go round.
    std::vector<std::uint32_t> ways_round(std::uint32_t from, std::uint32_t to) const {
        std::vector<std::uint32_t> result;
        const std::uint32_t mine = rank_[from];
        const auto near = neighbours_.of(from);
        for (std::uint32_t i = 0; i < near.size(); ++i) {
            const std::uint32_t third = rank_[near[i].peer];
            if (third != mine && third != rank_[to] && mine != rank_[to] &&
                (kFollows[crossing(mine, third)] >> crossing(third, rank_[to]) & 1) != 0) {
                result.push_back(i);
            }
        }
        return result;
    }

    std::vector<std::uint8_t> ports_to(std::uint32_t sw,
                                       const std::vector<std::uint32_t>& positions) const {
        std::vector<std::uint8_t> ports;
        for (const std::uint32_t position : positions) {
            for (const std::uint32_t link : neighbours_.links(neighbours_.of(sw)[position])) {
                ports.push_back(graph_.links()[link].port);
            }
        }
        std::ranges::sort(ports);
        return ports;
    }

    SlToVl lanes_behind() const {
        SlToVl map(graph_.switch_count(), kLongWayVls, 2);
        for (std::uint8_t lane = 0; lane < kLongWayVls; ++lane) {
            SlToVl::Row row;
            row.fill(lane);
            map.set_row(lane, kLocal, row);
            row.fill(0);
            map.set_row(lane, kGlobal, row);
        }
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            for (const Link& link : graph_.links(sw)) {
                if (group_of_[sw] != group_of_[link.peer]) {
                    map.set_out_class(sw, link.port, kGlobal);
                    map.set_in_class(sw, link.port,
                                     kLaneBehind[crossing(rank_[link.peer], rank_[sw])]);
                }
            }
        }
        return map;
    }

    void fill_pair(std::uint32_t from, std::uint32_t to, Lfts& lfts) const {
        const std::vector<std::uint32_t> hops = next_hops(from, to);
        // Destinations take the next hops in turn, and different sources start with different ones.
        std::size_t turn = std::size_t{from} + to;
        for (const Lid lid : graph_.lids(to)) {
            if (!hops.empty()) {
                const auto cables =
                    neighbours_.links(neighbours_.of(from)[hops[turn % hops.size()]]);
                lfts.at(from, lid) =
                    graph_.links()[cables[turn / hops.size() % cables.size()]].port;
            }
            ++turn;
        }
    }

    const Graph& graph_;
    Neighbours neighbours_;
    std::vector<std::uint32_t> group_of_;
    std::vector<std::uint32_t> rank_;  ///< By switch: its group, numbered from 0 on.
    std::vector<bool> joined_;         ///< Whether a cable joins two switches, by both switches.
};

}  // namespace

std::expected<Tables, Error> route_with_dragonfly(const Graph& graph, const Options& options) {
    const DragonflyRouter router(graph, find_groups(graph, Neighbours(graph)));
    const std::uint8_t vls = options.usable_vls();
    Tables tables{.engine = "dragonfly", .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    router.fill(tables.lfts);
    const std::vector<Hole> holes = erase_dead_ends(graph, tables);
    const std::size_t pairs = std::size_t{graph.switch_count()} * graph.switch_count();
    if (holes.size() * 100 > pairs * kHolesMaxPercent) {
        return std::unexpected(Error{"the cables form no dragonfly: use engine nue"});
    }
    if (!router.one_group()) {
        if (vls < 2) {
            return std::unexpected(
                Error{"a dragonfly needs two virtual lanes and there is one: switch QoS on, or "
                      "take engine nue or updn"});
        }
        tables.vls = 2;
        tables.sl_to_vl = router.lanes(vls);
    }
    if (!fill_holes(graph, holes, router.one_group() ? options.sls() : list_sls(vls), tables)
             .empty()) {
        return std::unexpected(
            Error{"too much of this dragonfly is missing to route it by its groups: take engine "
                  "nue instead"});
    }
    if (options.adaptive && holes.empty() && !router.one_group() && vls >= kLongWayVls) {
        router.add_choices(tables);
    }
    return tables;
}

}  // namespace softib::routing
