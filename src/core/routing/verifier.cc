// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/routing/choice_walk.h"
#include "core/routing/permutations.h"
#include "core/routing/route_walk.h"

namespace softib::routing {

namespace {

class Verifier {
  public:
    Verifier(const Graph& graph, const Tables& tables, const VerifyOptions& options)
        : graph_(graph),
          options_(options),
          ports_(graph),
          walk_(graph, tables.lfts, ports_),
          islands_(find_islands(graph)),
          island_hosts_(graph.switch_count()),
          island_switches_(graph.switch_count()),
          through_(graph.switch_count()),
          flows_(ports_.size()),
          collector_(graph, tables, ports_, options.switches_send),
          dependencies_(graph, ports_, tables.vls),
          tables_(tables) {
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            island_hosts_[islands_[sw]] += graph.host_count(sw);
            island_switches_[islands_[sw]] += 1;
        }
    }

    void check_all(Report& report) {
        graph_.for_each_lid([&](const Target& target, Lid lid) { check(target, lid, report); });
        report.discarded = collector_.discarded();
        if (options_.choices && !tables_.groups.empty()) {
            follow_choices(report);
        }
        report.dependencies = dependencies_.count();
        report.cycle = dependencies_.find_cycle();
        sum_up_load(report.load);
    }

    const PortMap& ports() const { return ports_; }

  private:
    void check(const Target& target, Lid lid, Report& report) {
        walk_.to(target, lid);
        report.reach.hops_max = std::max(report.reach.hops_max, walk_.longest());
        count_pairs(target, lid, report.reach);
        if (options_.switches_receive || !target.is_switch()) {
            collector_.add(walk_, target, dependencies_);
        }
        if (!target.is_switch()) {
            add_flows();
        }
    }

    void follow_choices(Report& report) {
        ChoiceWalk walk(graph_, tables_, ports_);
        for (std::uint32_t to = 0; to < graph_.switch_count(); ++to) {
            if (graph_.host_count(to) != 0) {
                walk.add(to, dependencies_);
            }
        }
        report.reach.chosen_hops_max = walk.longest();
        report.reach.choices_lost = walk.lost();
        report.discarded += walk.discarded();
    }

    void count_pairs(const Target& target, Lid lid, Reachability& reach) {
        const std::uint32_t island = islands_[target.at];
        const std::uint64_t hosts = island_hosts_[island];
        const std::uint64_t switches = island_switches_[island];
        reach.pairs += target.is_switch() ? hosts : hosts - 1 + switches;
        reach.apart += target.is_switch()
                           ? graph_.host_count() - hosts
                           : graph_.host_count() - hosts + graph_.switch_count() - switches;
        if (walk_.reached().size() == switches) {
            return;
        }
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (islands_[sw] != island || walk_.reaches(sw)) {
                continue;
            }
            // Pairs from the switch's hosts to the LID, and from the switch itself unless the LID
            // is a switch's; none from the host to itself.
            const std::uint64_t lost =
                graph_.host_count(sw) + (target.is_switch() || sw == target.at ? 0U : 1U);
            reach.switch_pairs_lost += target.is_switch() ? 1U : 0U;
            if (lost == 0) {
                continue;
            }
            const bool loop = runs_in_a_circle(sw);
            reach.lost += lost;
            reach.looping += loop ? lost : 0;
            if (reach.examples.size() < options_.examples_max) {
                reach.examples.push_back({sw, lid, loop});
            }
        }
    }

    bool runs_in_a_circle(std::uint32_t sw) const {
        for (std::uint32_t hops = 0; sw != kNone; ++hops) {
            if (hops > graph_.switch_count()) {
                return true;
            }
            sw = walk_.next(sw);
        }
        return false;
    }

    void add_flows() {
        const auto reached = walk_.reached();
        for (const std::uint32_t sw : reached) {
            through_[sw] = graph_.host_count(sw);
        }
        for (std::size_t i = reached.size(); i-- > 1;) {
            const std::uint32_t sw = reached[i];
            through_[walk_.next(sw)] += through_[sw];
            flows_[ports_.index(sw, walk_.out_port(sw))] += through_[sw];
        }
    }

    void sum_up_load(LinkLoad& load) const {
        load.links = static_cast<std::uint32_t>(graph_.links().size());
        load.min = load.links == 0 ? 0 : UINT64_MAX;
        std::uint64_t sum = 0;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            for (const Link& link : graph_.links(sw)) {
                const std::uint64_t flows = flows_[ports_.index(sw, link.port)];
                load.min = std::min(load.min, flows);
                load.max = std::max(load.max, flows);
                load.unused += flows == 0 ? 1U : 0U;
                sum += flows;
            }
        }
        if (load.max != 0) {
            load.mean = static_cast<double>(sum) / load.links;
            load.balance = load.mean / static_cast<double>(load.max);
        }
    }

    const Graph& graph_;
    VerifyOptions options_;
    PortMap ports_;
    RouteWalk walk_;
    std::vector<std::uint32_t> islands_;
    std::vector<std::uint64_t> island_hosts_;
    std::vector<std::uint64_t> island_switches_;
    std::vector<std::uint64_t> through_;  ///< By switch: number of hosts that send through it.
    std::vector<std::uint64_t> flows_;    ///< Flows by PortMap index.
    DependencyCollector collector_;
    Dependencies dependencies_;
    const Tables& tables_;
};

std::uint64_t count_one_way_sls(const Graph& graph, const SlMap& sls) {
    std::uint64_t count = 0;
    if (sls.uniform()) {
        return count;
    }
    for (std::uint32_t a = 0; a < graph.switch_count(); ++a) {
        for (std::uint32_t b = 0; b < a; ++b) {
            if (graph.host_count(a) != 0 && graph.host_count(b) != 0 &&
                sls.at(a, b) != sls.at(b, a)) {
                ++count;
            }
        }
    }
    return count;
}

}  // namespace

Report verify(const Graph& graph, const Tables& tables, const VerifyOptions& options) {
    Report report;
    Verifier verifier(graph, tables, options);
    verifier.check_all(report);
    report.one_way_sls = count_one_way_sls(graph, tables.sls);
    Permutations permutations(graph, tables, verifier.ports(), options.ranks);
    report.shifts = permutations.shifts(options);
    report.random = permutations.randoms(options);
    return report;
}

std::string summary(const Tables& tables, const Report& report) {
    std::string text = tables.engine + ": ";
    text += report.reach.lost == 0
                ? fmt::format("{} pairs arrive", report.reach.pairs)
                : fmt::format("{} of {} pairs lost", report.reach.lost, report.reach.pairs);
    if (report.discarded != 0) {
        text += fmt::format(", no lane at {} hops", report.discarded);
    }
    text += report.acyclic() ? ", no credit loop"
                             : fmt::format(", credit loop of {} channels", report.cycle.size());
    return text + fmt::format(", balance {:.2f}", report.load.balance);
}

}  // namespace softib::routing
