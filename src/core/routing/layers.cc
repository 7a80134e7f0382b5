// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/routing/acyclic.h"
#include "core/routing/numbering.h"

namespace softib::routing {

namespace {

/// The links of finished routes.
class Paths {
  public:
    Paths(const Graph& graph, const Lfts& lfts) : graph_(graph), lfts_(lfts) {
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            lids_.push_back(graph.lids(sw));
        }
    }

    std::span<const Lid> lids(std::uint32_t sw) const { return lids_[sw]; }
    /// Returns the link by which a switch sends to a LID; kNone at the end of the way.
    std::uint32_t out(std::uint32_t sw, Lid lid) const {
        return graph_.link_at(sw, lfts_.at(sw, lid));
    }
    /// Calls visit(link, next link) for each hop over a switch on the way to a LID.
    void for_each_turn(std::uint32_t from, Lid lid, auto visit) const {
        std::uint32_t link = out(from, lid);
        while (link != kNone) {
            const std::uint32_t next = out(graph_.links()[link].peer, lid);
            if (next != kNone) {
                visit(link, next);
            }
            link = next;
        }
    }
    /// Calls visit(link, next link) for all ways between two switches, in both directions.
    void for_each_turn_of_pair(const std::pair<std::uint32_t, std::uint32_t>& pair,
                               auto visit) const {
        for (const Lid lid : lids_[pair.second]) {
            for_each_turn(pair.first, lid, visit);
        }
        for (const Lid lid : lids_[pair.first]) {
            for_each_turn(pair.second, lid, visit);
        }
    }

  private:
    const Graph& graph_;
    const Lfts& lfts_;
    std::vector<std::vector<Lid>> lids_;
};

/// The lane of each pair of switches.
class PairLanes {
  public:
    explicit PairLanes(std::uint32_t switches) : switches_(switches) {
        lanes_.resize(std::size_t{switches} * switches);
    }
    std::uint8_t at(std::uint32_t a, std::uint32_t b) const {
        return lanes_[std::size_t{a} * switches_ + b];
    }
    void set(const std::pair<std::uint32_t, std::uint32_t>& pair, std::uint8_t lane) {
        const auto [a, b] = pair;
        lanes_[std::size_t{a} * switches_ + b] = lanes_[std::size_t{b} * switches_ + a] = lane;
    }
    void store(Tables& tables) const {
        const std::uint8_t highest = lanes_.empty() ? 0 : *std::ranges::max_element(lanes_);
        tables.vls = static_cast<std::uint8_t>(highest + 1);
        tables.sls = {};
        if (highest == 0) {
            return;
        }
        tables.sls = SlMap::by_pair(switches_);
        for (std::uint32_t a = 0; a < switches_; ++a) {
            for (std::uint32_t b = 0; b < switches_; ++b) {
                tables.sls.set(a, b, at(a, b), switches_);
            }
        }
    }

  private:
    std::uint32_t switches_;
    std::vector<std::uint8_t> lanes_;
};

/// The pairs of different switches: those that both have hosts, whose routes carry the traffic, and
/// the rest, whose routes are for management. Neighbours in the order of hosts are neighbours here.
struct Pairs {
    using Pair = std::pair<std::uint32_t, std::uint32_t>;

    explicit Pairs(const Graph& graph) {
        const std::vector<std::uint32_t> order = order_by_hosts(graph);
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                const bool both =
                    graph.host_count(order[i]) != 0 && graph.host_count(order[j]) != 0;
                (both ? of_hosts : others).emplace_back(order[i], order[j]);
            }
        }
    }

    std::vector<Pair> of_hosts;
    std::vector<Pair> others;
};

/// The dependencies of the pairs on each lane.
class LaneSet {
  public:
    LaneSet(const Graph& graph, const Paths& paths, std::uint8_t vls_max)
        : graph_(graph), paths_(paths), vls_max_(vls_max) {}

    void open() { lanes_.emplace_back(graph_, std::uint8_t{1}); }

    /// Adds all dependencies of a pair to a lane. Returns false, with nothing changed, if one of
    /// them would close a cycle.
    bool add(Pairs::Pair pair, std::size_t number) {
        AcyclicDependencies& lane = lanes_[number];
        added_.clear();
        bool good = true;
        paths_.for_each_turn_of_pair(pair, [&](std::uint32_t link, std::uint32_t next) {
            if (!good || lane.has(link, next)) {
                return;
            }
            good = lane.add(link, next);
            if (good) {
                added_.emplace_back(link, next);
            }
        });
        for (const auto& [link, next] : added_) {
            if (!good) {
                lane.remove(link, next);
            }
        }
        return good;
    }

    /// Adds each pair to the first lane where it closes no cycle. Returns false if for some pair
    /// there is none.
    bool add_first_fit(std::span<const Pairs::Pair> pairs, PairLanes& lanes) {
        for (const Pairs::Pair& pair : pairs) {
            std::uint8_t lane = 0;
            for (;; ++lane) {
                if (lane == vls_max_) {
                    return false;
                }
                if (lane == lanes_.size()) {
                    open();
                }
                if (add(pair, lane)) {
                    break;
                }
            }
            lanes.set(pair, lane);
        }
        return true;
    }

  private:
    const Graph& graph_;
    const Paths& paths_;
    std::uint8_t vls_max_;
    std::deque<AcyclicDependencies> lanes_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> added_;
};

/// Breaks the cycles of one lane after the other.
class CycleBreaker {
  public:
    CycleBreaker(const Graph& graph, const Paths& paths, PairLanes& lanes)
        : graph_(graph), paths_(paths), lanes_(lanes), marks_(graph.links().size()) {
        std::size_t turns = 0;
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            first_turn_.push_back(turns);
            turns += std::size_t{graph.degree(sw)} * graph.degree(sw);
        }
        routes_.resize(turns);
    }

    /// Takes pairs off a lane until the others close no cycle, and returns them.
    std::vector<Pairs::Pair> take_off(std::span<const Pairs::Pair> pairs, std::uint8_t lane) {
        lane_ = lane;
        moved_.clear();
        std::ranges::fill(routes_, 0U);
        for (const Pairs::Pair& pair : pairs) {
            count(pair, 1);
        }
        std::ranges::fill(marks_, Mark::kNew);
        for (std::uint32_t link = 0; link < graph_.links().size(); ++link) {
            while (marks_[link] == Mark::kNew) {
                if (const std::vector<std::uint32_t> cycle = find_cycle(link); !cycle.empty()) {
                    break_one(cycle);
                }
            }
        }
        return std::move(moved_);
    }

  private:
    enum class Mark : std::uint8_t { kNew, kOpen, kDone };

    std::size_t turn(std::uint32_t link, std::uint32_t next) const {
        const std::uint32_t sw = graph_.links()[link].peer;
        return first_turn_[sw] +
               std::size_t{graph_.reverse(link) - graph_.first_link(sw)} * graph_.degree(sw) +
               (next - graph_.first_link(sw));
    }

    void count(Pairs::Pair pair, int by) {
        paths_.for_each_turn_of_pair(pair, [&](std::uint32_t link, std::uint32_t next) {
            routes_[turn(link, next)] += static_cast<std::uint32_t>(by);
        });
    }

    /// Searches from a link on. Links from which no cycle can be reached are done for good, since
    /// routes are only ever taken off.
    std::vector<std::uint32_t> find_cycle(std::uint32_t start) {
        struct Step {
            std::uint32_t link;
            std::uint32_t next;  ///< Place of the next link to look at.
        };
        std::vector<Step> path{{start, 0}};
        marks_[start] = Mark::kOpen;
        while (!path.empty()) {
            Step& step = path.back();
            const std::uint32_t sw = graph_.links()[step.link].peer;
            if (step.next == graph_.degree(sw)) {
                marks_[step.link] = Mark::kDone;
                path.pop_back();
                continue;
            }
            const std::uint32_t next = graph_.first_link(sw) + step.next++;
            if (marks_[next] == Mark::kDone || routes_[turn(step.link, next)] == 0) {
                continue;
            }
            if (marks_[next] == Mark::kNew) {
                marks_[next] = Mark::kOpen;
                path.push_back({next, 0});
                continue;
            }
            std::vector<std::uint32_t> cycle;
            for (const Step& open : path) {
                marks_[open.link] = Mark::kNew;
                if (open.link == next || !cycle.empty()) {
                    cycle.push_back(open.link);
                }
            }
            return cycle;
        }
        return {};
    }

    /// Takes off all pairs with a route over the turn of the cycle that has the fewest routes.
    void break_one(std::span<const std::uint32_t> cycle) {
        std::size_t weakest = 0;
        const auto next = [&](std::size_t i) { return cycle[(i + 1) % cycle.size()]; };
        const auto routes = [&](std::size_t i) { return routes_[turn(cycle[i], next(i))]; };
        for (std::size_t i = 1; i < cycle.size(); ++i) {
            weakest = routes(i) < routes(weakest) ? i : weakest;
        }
        const std::uint32_t link = cycle[weakest];
        const std::uint32_t through = graph_.source(link);
        const std::uint32_t after = graph_.links()[link].peer;
        for (std::uint32_t to = 0; to < graph_.switch_count(); ++to) {
            for (const Lid lid : paths_.lids(to)) {
                if (paths_.out(through, lid) == link && paths_.out(after, lid) == next(weakest)) {
                    move_senders(through, to, lid);
                }
            }
        }
    }

    /// Takes off the pairs whose route to a LID passes a switch.
    void move_senders(std::uint32_t through, std::uint32_t to, Lid lid) {
        for (std::uint32_t from = 0; from < graph_.switch_count(); ++from) {
            if (from == to || graph_.host_count(from) == 0 || graph_.host_count(to) == 0 ||
                lanes_.at(from, to) != lane_) {
                continue;
            }
            std::uint32_t at = from;
            for (std::uint32_t link = 0; at != through && link != kNone;) {
                link = paths_.out(at, lid);
                at = link == kNone ? at : graph_.links()[link].peer;
            }
            if (at == through) {
                count({from, to}, -1);
                lanes_.set({from, to}, static_cast<std::uint8_t>(lane_ + 1));
                moved_.emplace_back(from, to);
            }
        }
    }

    const Graph& graph_;
    const Paths& paths_;
    PairLanes& lanes_;
    std::vector<Mark> marks_;              ///< By link, of the search for cycles.
    std::vector<std::size_t> first_turn_;  ///< By switch: index of its first turn.
    std::vector<std::uint32_t> routes_;    ///< By turn: number of routes on this lane.
    std::vector<Pairs::Pair> moved_;
    std::uint8_t lane_ = 0;
};

}  // namespace

bool break_cycles(const Graph& graph, std::uint8_t vls_max, Tables& tables) {
    const Paths paths(graph, tables.lfts);
    const Pairs pairs(graph);
    PairLanes lanes(graph.switch_count());
    CycleBreaker breaker(graph, paths, lanes);
    LaneSet set(graph, paths, vls_max);
    std::vector<Pairs::Pair> here = pairs.of_hosts;
    for (std::uint8_t lane = 0; !here.empty(); ++lane) {
        if (lane == vls_max) {
            return false;
        }
        const std::vector<Pairs::Pair> moved = breaker.take_off(here, lane);
        set.open();
        for (const Pairs::Pair& pair : here) {
            if (lanes.at(pair.first, pair.second) == lane) {
                SOFTIB_CHECK(set.add(pair, lane));
            }
        }
        // Each turn took off more pairs than were needed, since others went with them.
        here.clear();
        for (const Pairs::Pair& pair : moved) {
            if (set.add(pair, lane)) {
                lanes.set(pair, lane);
            } else {
                here.push_back(pair);
            }
        }
    }
    if (!set.add_first_fit(pairs.others, lanes)) {
        return false;
    }
    lanes.store(tables);
    return true;
}

bool add_pair_by_pair(const Graph& graph, std::uint8_t vls_max, Tables& tables) {
    const Paths paths(graph, tables.lfts);
    const Pairs pairs(graph);
    PairLanes lanes(graph.switch_count());
    LaneSet set(graph, paths, vls_max);
    if (!set.add_first_fit(pairs.of_hosts, lanes) || !set.add_first_fit(pairs.others, lanes)) {
        return false;
    }
    lanes.store(tables);
    return true;
}

Error too_few_lanes(std::string_view engine, std::uint8_t lanes) {
    return {
        fmt::format("{} needs more lanes than the {} that all links of this subnet have: take "
                    "engine nue, which needs one, or let links have more lanes",
                    engine, lanes)};
}

}  // namespace softib::routing
