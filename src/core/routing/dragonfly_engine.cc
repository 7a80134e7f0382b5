// SPDX-License-Identifier: BSD-2-Clause
// Dragonflies: within its group a packet goes straight to a switch with a cable to the
// destination's group, crosses over, and within that group goes straight to the destination. Cables
// inside a group are used before and after the crossing; after it, on the second virtual lane. So
// packets move from local lane 0 to global lane 0 to local lane 1, and never back. The lane follows
// from the ports of a switch alone: in by a global one and out by a local one. All paths have
// service level 0.
#include <algorithm>

#include "core/routing/detours.h"
#include "core/routing/engine.h"
#include "core/routing/groups.h"

namespace softib::routing {

namespace {

// Detours may need other lanes than the rule says: lane 0 all the way, lane 1 all the way, then
// further lanes if there are any.
constexpr std::uint8_t kSlRule = 0;
constexpr std::uint8_t kSlDetour = 1;

constexpr std::uint8_t kLocal = 0;
constexpr std::uint8_t kGlobal = 1;

// More holes than this are no damage: the graph is something else.
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
          joined_(std::size_t{graph.switch_count()} * graph.switch_count()) {
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

    bool one_group() const {
        return std::ranges::all_of(group_of_, [&](std::uint32_t g) { return g == group_of_[0]; });
    }

  private:
    bool joined(std::uint32_t a, std::uint32_t b) const {
        return joined_[std::size_t{a} * graph_.switch_count() + b];
    }
    /// Reaches `to` without leaving its group.
    bool arrives(std::uint32_t sw, std::uint32_t to) const {
        return sw == to || (group_of_[sw] == group_of_[to] && joined(sw, to));
    }

    /// Neighbours in the destination's group from which it is reached; `to` itself if it is one.
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

    /// Positions of good next hops among the neighbours.
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

    void fill_pair(std::uint32_t from, std::uint32_t to, Lfts& lfts) const {
        const std::vector<std::uint32_t> hops = next_hops(from, to);
        // Destinations take the next hops in turn, not all sources starting with the same.
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
    std::vector<bool> joined_;  ///< Switch by switch.
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
        return std::unexpected(
            Error{"no dragonfly is to be seen in the cables: take engine nue instead"});
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
    return tables;
}

}  // namespace softib::routing
