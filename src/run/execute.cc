// SPDX-License-Identifier: BSD-2-Clause
#include "run/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "parallel/for_each.h"
#include "plan/route_loads.h"
#include "run/basis.h"
#include "run/options.h"
#include "run/single.h"

namespace softib::run {

namespace {

using Executed = std::expected<std::optional<Outcome>, std::string>;

/// Carries out a run of one kind.
class Executor {
  public:
    Executor(const Run& run, Watch& watch) : run_(run), watch_(watch) {}

    Executed operator()(const Single&) {
        const auto experiment = spec::prepare(run_.scenario);
        if (!experiment) {
            return std::unexpected(experiment.error());
        }
        if (auto accepted = ask(*experiment, 1); !accepted) {
            return std::unexpected(accepted.error());
        }
        const bool tables = !run_.outputs.csv.empty() || !run_.outputs.exports.empty();
        auto report = simulate(run_.scenario, *experiment, run_.place, watch_, tables);
        if (!report) {
            return std::unexpected(report.error());
        }
        return *report ? std::optional<Outcome>(**std::move(report)) : std::nullopt;
    }

    Executed operator()(const Compare& compare) {
        Comparison comparison;
        for (const spec::Variant& variant : compare.variants) {
            const auto chosen = spec::choose_variant(run_.scenario, variant);
            if (!chosen) {
                return std::unexpected(chosen.error());
            }
            const auto experiment = spec::prepare(*chosen);
            if (!experiment) {
                return std::unexpected(experiment.error());
            }
            if (auto accepted = comparison.variants.empty()
                                    ? ask(*experiment, compare.variants.size())
                                    : std::expected<void, std::string>();
                !accepted) {
                return std::unexpected(accepted.error());
            }
            auto report = simulate(*chosen, *experiment, place_of(*chosen), watch_);
            if (!report) {
                return std::unexpected(fmt::format("{}: {}", variant.name, report.error()));
            }
            comparison.variants.push_back({variant.name, **std::move(report)});
            if (comparison.variants.back().report.stopped) {
                break;
            }
        }
        comparison.title = comparison.variants.front().report.title;
        return comparison;
    }

    Executed operator()(const WhatIf& asked) {
        const auto losses = list_losses(asked.draws);
        if (!losses) {
            return std::unexpected(losses.error());
        }
        spec::Scenario whole = run_.scenario;
        whole.failures.clear();
        auto experiment = spec::prepare(whole);
        if (!experiment) {
            return std::unexpected(experiment.error());
        }
        WhatIfReport whatif{.title = title_of(run_.scenario, experiment->fabric)};
        std::vector<std::vector<net::Failure>> cases{{}};
        std::ranges::copy(*losses, std::back_inserter(cases));
        if (auto accepted = ask(*experiment, cases.size()); !accepted) {
            return std::unexpected(accepted.error());
        }
        for (const std::vector<net::Failure>& failures : cases) {
            experiment->options.failures = failures;
            const auto report = simulate(whole, *experiment, run_.place, watch_);
            if (!report) {
                return std::unexpected(report.error());
            }
            whatif.cases.push_back(to_case(**report, whatif.cases.empty()
                                                         ? "nothing"
                                                         : names_of(experiment->fabric, failures)));
        }
        whatif.basis = basis_of(whole, *experiment);
        whatif.basis.emplace_back(
            "after a loss new routes are there at once, and the ranking is by routes alone, a flow "
            "having an equal part of the busiest link on its way; no published measurement "
            "validates "
            "losses");
        experiment->options.failures.clear();
        return rank(*experiment, std::move(whatif));
    }

    Executed operator()(const Sweep& sweep) {
        SweepReport report;
        report.rows.resize(sweep.axes.point_count());
        std::atomic<bool> stopped{false};
        parallel::for_each(
            report.rows.size(), run_.sweep.jobs,
            [&](std::size_t i) {
                Watch quiet;
                PointRow& row = report.rows[i];
                row.number = i;
                row.point = sweep.axes.point(i);
                if (!stopped) {
                    row.outcome = simulate_point(run_, row.point, quiet);
                }
            },
            [&](std::size_t) { stopped = stopped || watch_.stopped(); });
        report.stopped = stopped;
        return report;
    }

    Executed operator()(const Sharp&) {
        const auto experiment = spec::prepare(run_.scenario);
        if (!experiment) {
            return std::unexpected(experiment.error());
        }
        auto report = simulate_sharp(run_, *experiment);
        return report ? Executed(*std::move(report)) : std::unexpected(report.error());
    }

  private:
    /// Asks the watch whether as many simulations as this one may be made, one after the other.
    std::expected<void, std::string> ask(const spec::Experiment& experiment,
                                         std::size_t simulations) {
        if (run_.place.any_cost || run_.place.job) {
            return {};
        }
        Cost cost = cost_of(run_.scenario, experiment);
        cost.seconds *= static_cast<double>(simulations) / run_.place.threads;
        return watch_.accept(cost);
    }
    /// Returns the place of a network that is compared: one thread where more would not act.
    Place place_of(const spec::Scenario& chosen) const {
        const spec::Serves& threads = find_option("threads")->serves;
        Place place = run_.place;
        if (!threads.models.has(chosen.model) || !threads.layers.has(chosen.fabric.link_layer)) {
            place.threads = 1;
        }
        return place;
    }
    static WhatIfCase to_case(const Report& report, std::string lost) {
        const plan::Totals totals = plan::total_of(report.results);
        return {.lost = std::move(lost),
                .engine = report.engine,
                .messages = totals.messages,
                .delivered = totals.delivered,
                .gbps = totals.gbps,
                .message_gbps = totals.message_gbps.mean(),
                .slowest_gbps = totals.message_gbps.min(),
                .finished_us = totals.finished_us};
    }

    static std::string names_of(const topo::Fabric& fabric,
                                const std::vector<net::Failure>& failures) {
        std::string names;
        std::string last;  // A lost router is in the list once for each of its ports, in a row.
        for (const net::Failure& failure : failures) {
            const std::string name = failure.what.port == 0
                                         ? plan::name_of_node(fabric, failure.what.node)
                                         : plan::name_of(fabric, failure.what);
            if (name != last) {
                names += (names.empty() ? "" : ", ") + name;
                last = name;
            }
        }
        return names;
    }

    static std::vector<plan::Flow> flows_of(const spec::Experiment& experiment) {
        std::vector<plan::Flow> flows;
        for (plan::Schedule schedule : experiment.schedules) {
            for (std::uint32_t sender = 0; sender < schedule.sender_count(); ++sender) {
                while (schedule.left(sender) != 0) {
                    flows.push_back({schedule.end_of(sender), schedule.next(sender).to});
                }
            }
        }
        std::ranges::sort(flows);
        flows.erase(std::ranges::unique(flows).begin(), flows.end());
        return flows;
    }

    /// Returns the lists of failures to simulate: one if all failures are named, several if some
    /// are drawn at random.
    std::expected<std::vector<std::vector<net::Failure>>, std::string> list_losses(
        std::uint32_t draws) const {
        std::vector<std::vector<net::Failure>> cases;
        for (std::uint32_t i = 0; i < draws && !run_.scenario.failures.empty(); ++i) {
            spec::Scenario draw = run_.scenario;
            draw.seed += i;
            auto experiment = spec::prepare(draw);
            if (!experiment) {
                return std::unexpected(experiment.error());
            }
            if (std::ranges::find(cases, experiment->options.failures) == cases.end()) {
                cases.push_back(std::move(experiment->options.failures));
            }
        }
        return cases;
    }

    /// Adds what the loss of each cable, switch and router alone does.
    static Executed rank(const spec::Experiment& experiment, WhatIfReport whatif) {
        constexpr std::size_t kTriesMax = 200;
        auto ranking = plan::rank_losses(experiment.fabric, experiment.options.engine,
                                         flows_of(experiment), kTriesMax);
        if (!ranking) {
            return std::unexpected(ranking.error());
        }
        whatif.ranking = *std::move(ranking);
        for (const plan::Loss& loss : whatif.ranking.cables) {
            whatif.cable_names.push_back(plan::name_of(experiment.fabric, loss.what));
        }
        for (const plan::Loss& loss : whatif.ranking.switches) {
            whatif.switch_names.push_back(plan::name_of_node(experiment.fabric, loss.what.node));
        }
        for (const plan::Loss& loss : whatif.ranking.routers) {
            whatif.router_names.push_back(plan::name_of_node(experiment.fabric, loss.what.node));
        }
        return whatif;
    }

    const Run& run_;
    Watch& watch_;
};

}  // namespace

std::expected<std::optional<Outcome>, std::string> execute(const Run& run, Watch& watch) {
    return std::visit(Executor(run, watch), run.kind);
}

PointOutcome simulate_point(const Run& run, const spec::SweepPoint& point, Watch& watch) {
    const auto failed = [](const std::string& error) {
        return PointOutcome{.failed = true, .error = error};
    };
    spec::Scenario scenario = run.scenario;
    if (auto applied = spec::apply_point(std::get<Sweep>(run.kind).axes, point, scenario);
        !applied) {
        return failed(applied.error());
    }
    const auto experiment = spec::prepare(scenario);
    if (!experiment) {
        return failed(experiment.error());
    }
    if (const Cost cost = cost_of(scenario, *experiment); !fits_memory(cost)) {
        return failed(too_large(cost));
    }
    const auto simulated = simulate(scenario, *experiment, {}, watch);
    if (!simulated) {
        return failed(simulated.error());
    }
    const Report& report = **simulated;
    const plan::Totals totals = plan::total_of(report.results);
    return {.messages = totals.messages,
            .delivered = totals.delivered,
            .duration_us = totals.finished_us,
            .gbps = totals.gbps,
            .message_gbps = totals.message_gbps.mean(),
            .slowest_gbps = totals.message_gbps.min(),
            .completion_p50_us = totals.completion_us.percentile(50),
            .completion_p99_us = totals.completion_us.percentile(99),
            .completion_max_us = totals.completion_us.max(),
            .cpu_seconds = report.cpu_seconds,
            .log_hash = fmt::format("{:016x}", report.results.stats.log_hash),
            .report = to_json(report)};
}

std::string to_json(const Outcome& outcome) {
    return std::visit([](const auto& each) { return to_json(each); }, outcome);
}

}  // namespace softib::run
