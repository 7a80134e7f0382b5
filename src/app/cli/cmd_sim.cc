// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "app/cli/commands.h"
#include "app/cli/sim/compare.h"
#include "app/cli/sim/progress.h"
#include "app/cli/sim/report.h"
#include "app/cli/sim/whatif.h"
#include "app/fabric/term.h"
#include "core/topo/subnets.h"
#include "net/simulation.h"
#include "plan/results.h"
#include "spec/scenario/scenario.h"

namespace softib::app {

namespace {

/// What traffic there is if nobody says.
constexpr char kTrafficDefault[] = "permutation";

std::expected<spec::Scenario, std::string> read_scenario(const SimOptions& options) {
    spec::Scenario scenario;
    if (!options.scenario.empty()) {
        if (auto loaded = spec::load_scenario(options.scenario, scenario); !loaded) {
            return std::unexpected(loaded.error());
        }
    }
    if (!options.flags.empty()) {
        auto described = describe(options.flags, std::move(scenario.fabric));
        if (!described) {
            return std::unexpected(described.error());
        }
        scenario.fabric = *std::move(described);
    }
    for (const auto& [key, value] : options.keys) {
        if (auto applied = spec::apply_scenario_flag(key, value, scenario); !applied) {
            return std::unexpected(applied.error());
        }
    }
    // Traffic by flags is instead of that of the file; keys alone are for all of the default's.
    if (!options.traffics.empty() || !options.traffic_keys.empty()) {
        scenario.traffics.clear();
    }
    std::vector<std::string> traffics = options.traffics;
    if (traffics.empty() && scenario.traffics.empty()) {
        traffics.emplace_back(kTrafficDefault);
    }
    for (const std::string& traffic : traffics) {
        if (auto added = spec::add_traffic(traffic, options.traffic_keys, scenario); !added) {
            return std::unexpected(added.error());
        }
    }
    for (const auto& [key, value] : options.failures) {
        if (auto added = spec::add_failure(key, value, scenario); !added) {
            return std::unexpected(added.error());
        }
    }
    return scenario;
}

std::string title_of(const spec::Scenario& scenario, const topo::Fabric& fabric) {
    const std::string kind = !scenario.fabric.from.empty()
                                 ? scenario.fabric.from
                                 : std::string(topo::to_string(scenario.fabric.spec.shape));
    const std::size_t routers = topo::find_routers(fabric).size();
    const std::string joined =
        routers == 0 ? std::string()
                     : fmt::format(", {} and {}", counted(topo::subnet_count(fabric), "subnet"),
                                   counted(routers, "router"));
    return fmt::format("{}, {}, {}{}", kind, counted(fabric.hosts.size(), "host"),
                       counted(fabric.count(topo::NodeKind::kSwitch), "switch"), joined);
}

/// What is special about a network, in words.
std::string describe_network(const net::SimulationOptions& options, std::uint8_t data_vls) {
    using Ecmp = net::RoceOptions::Ecmp;
    if (!options.roce) {
        return fmt::format("{}{}{}", counted(data_vls, "data VL"),
                           options.hosts.adaptive ? ", adaptive routing" : "",
                           options.congestion ? ", congestion control" : "");
    }
    const net::RoceOptions& roce = *options.roce;
    const char* const ways[] = {"no ECMP", "ECMP by 5-tuple", "ECMP by queue pair",
                                "packets sprayed", "packets by load"};
    static_assert(static_cast<int>(Ecmp::kLoad) == 4);
    return fmt::format("RoCE, {}, {}, {}, {}, {}{}", counted(data_vls, "lane"),
                       ways[static_cast<int>(roce.ecmp)], roce.links.lossless ? "PFC" : "no PFC",
                       roce.links.ecn.high_blocks == 0 ? "no ECN" : "ECN",
                       roce.hosts.reacts ? "DCQCN, " : "",
                       roce.hosts.selective ? "selective repeat" : "go-back-N");
}

/// Whether the way of a packet between switches is known only to them.
bool ways_unknown(const net::SimulationOptions& options) {
    using Ecmp = net::RoceOptions::Ecmp;
    return options.roce
               ? options.roce->ecmp != Ecmp::kTables && options.roce->ecmp != Ecmp::kFiveTuple
               : options.hosts.adaptive;
}

int write_file(const std::string& path, const std::string& text) {
    if (path == "-") {
        fmt::print("{}", text);
        return 0;
    }
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    return out ? 0 : fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

/// Whatever was asked for.
int write_report(const SimOptions& options, const sim::Report& report, const plan::Player& player,
                 const plan::Ends& ends) {
    int status = 0;
    if (!options.csv.empty()) {
        status |= write_file(options.csv, sim::messages_csv(player, ends));
    }
    if (!options.csv_links.empty()) {
        status |= write_file(options.csv_links, sim::links_csv(report.results));
    }
    if (!options.html.empty()) {
        status |= write_file(options.html, sim::to_html(report));
    }
    if (options.json) {
        status |= write_file("-", sim::to_json(report));
    } else if (options.csv != "-" && options.csv_links != "-" && options.html != "-") {
        status |= write_file("-", sim::to_text(report));
    }
    return status;
}

/// Runs an experiment; `use(report, player)` is called with what it showed.
std::expected<void, std::string> simulate(const spec::Scenario& scenario,
                                          const spec::Experiment& experiment, auto use) {
    const plan::Ends ends(experiment.fabric);
    auto simulation = net::Simulation::make(experiment.fabric, experiment.options);
    if (!simulation) {
        return std::unexpected(simulation.error().message);
    }
    plan::Player player(*simulation, experiment.schedules);
    const sim::Ran ran =
        sim::run_with_progress(player, scenario.until, experiment.options.hosts.mtu);
    sim::Report report{
        .title = title_of(scenario, experiment.fabric),
        .engine = simulation->engine(),
        .data_vls = simulation->data_vls(),
        .adaptive = ways_unknown(experiment.options),
        .congestion_control = experiment.options.congestion.has_value() && !experiment.options.roce,
        .roce = experiment.options.roce.has_value(),
        .network = describe_network(experiment.options, simulation->data_vls()),
        .seed = scenario.seed,
        .hosts = experiment.fabric.hosts.size(),
        .switches = experiment.fabric.count(topo::NodeKind::kSwitch),
        .stopped = ran.stopped,
        .cpu_seconds = ran.cpu_seconds,
        .notes = simulation->notes(),
        .results = {}};
    report.results =
        plan::summarise(player, experiment.fabric, ends, {.adaptive = report.adaptive});
    if (!ran.stopped && simulation->idle() && simulation->unfinished() != 0) {
        report.notes.push_back(fmt::format("{} will never be delivered",
                                           counted(simulation->unfinished(), "message")));
        std::ranges::copy(simulation->check(), std::back_inserter(report.notes));
    }
    use(report, player);
    return {};
}

int run_scenario(const SimOptions& options, const spec::Scenario& scenario) {
    const auto experiment = spec::prepare(scenario);
    if (!experiment) {
        return fail_describing(experiment.error());
    }
    int status = 0;
    const auto ran =
        simulate(scenario, *experiment, [&](const sim::Report& report, const plan::Player& player) {
            status = write_report(options, report, player, plan::Ends(experiment->fabric));
        });
    return ran ? status : fail(ran.error());
}

// Several networks.

int compare_variants(const SimOptions& options, const spec::Scenario& scenario) {
    if (!options.csv.empty() || !options.csv_links.empty()) {
        return fail("--csv and --csv-links are for one run: leave out --compare, or take --json");
    }
    sim::Comparison comparison;
    for (const spec::Variant& variant : scenario.compare) {
        const auto chosen = spec::choose_variant(scenario, variant);
        if (!chosen) {
            return fail_describing(chosen.error());
        }
        const auto experiment = spec::prepare(*chosen);
        if (!experiment) {
            return fail_describing(experiment.error());
        }
        const auto ran =
            simulate(*chosen, *experiment, [&](const sim::Report& report, const plan::Player&) {
                comparison.variants.push_back({variant.name, report});
            });
        if (!ran) {
            return fail(fmt::format("{}: {}", variant.name, ran.error()));
        }
        if (comparison.variants.back().report.stopped) {
            break;
        }
    }
    comparison.title = comparison.variants.front().report.title;
    int status = options.html.empty() ? 0 : write_file(options.html, sim::to_html(comparison));
    if (options.json) {
        status |= write_file("-", sim::to_json(comparison));
    } else if (options.html != "-") {
        status |= write_file("-", sim::to_text(comparison));
    }
    return status;
}

// What if.

sim::WhatIfCase to_case(const sim::Report& report, std::string lost) {
    sim::WhatIfCase result{.lost = std::move(lost), .engine = report.engine};
    std::vector<double> gbps;
    for (const plan::TrafficResult& traffic : report.results.traffics) {
        result.messages += traffic.messages;
        result.delivered += traffic.delivered;
        result.gbps += traffic.gbps;
        result.finished_us =
            std::max(result.finished_us, static_cast<double>(traffic.finished_at) / 1e6);
        std::ranges::copy(traffic.message_gbps.values(), std::back_inserter(gbps));
    }
    const plan::Distribution all(std::move(gbps));
    result.message_gbps = all.mean();
    result.slowest_gbps = all.min();
    return result;
}

std::string names_of(const topo::Fabric& fabric, const std::vector<net::Failure>& failures) {
    std::string names;
    for (const net::Failure& failure : failures) {
        names += names.empty() ? "" : ", ";
        names += failure.what.port == 0 ? fabric.nodes[failure.what.node].name
                                        : plan::name_of(fabric, failure.what);
    }
    return names;
}

std::vector<plan::Flow> flows_of(const spec::Experiment& experiment) {
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

/// The draws of what is lost: one for what has a name, several for what is drawn at random.
std::expected<std::vector<std::vector<net::Failure>>, std::string> list_losses(
    const SimOptions& options, const spec::Scenario& scenario) {
    std::vector<std::vector<net::Failure>> cases;
    for (std::uint32_t i = 0; i < options.seeds && !scenario.failures.empty(); ++i) {
        spec::Scenario draw = scenario;
        draw.seed += i;
        auto experiment = spec::prepare(draw);
        if (!experiment) {
            return std::unexpected(experiment.error());
        }
        for (net::Failure& failure : experiment->options.failures) {
            failure.at = 0;
        }
        if (std::ranges::find(cases, experiment->options.failures) == cases.end()) {
            cases.push_back(std::move(experiment->options.failures));
        }
    }
    return cases;
}

std::expected<sim::WhatIf, std::string> ask_what_if(const SimOptions& options,
                                                    const spec::Scenario& scenario) {
    const auto losses = list_losses(options, scenario);
    if (!losses) {
        return std::unexpected(losses.error());
    }
    spec::Scenario whole = scenario;
    whole.failures.clear();
    auto experiment = spec::prepare(whole);
    if (!experiment) {
        return std::unexpected(experiment.error());
    }
    sim::WhatIf whatif{.title = title_of(scenario, experiment->fabric)};
    const auto add = [&](const std::string& lost) {
        return simulate(whole, *experiment, [&](const sim::Report& report, const plan::Player&) {
            whatif.cases.push_back(to_case(report, lost));
        });
    };
    if (auto ran = add("nothing"); !ran) {
        return std::unexpected(ran.error());
    }
    for (const std::vector<net::Failure>& failures : *losses) {
        experiment->options.failures = failures;
        if (auto ran = add(names_of(experiment->fabric, failures)); !ran) {
            return std::unexpected(ran.error());
        }
    }
    constexpr std::size_t kTriesMax = 200;
    auto ranking = plan::rank_losses(experiment->fabric, experiment->options.engine,
                                     flows_of(*experiment), kTriesMax);
    if (!ranking) {
        return std::unexpected(ranking.error());
    }
    whatif.ranking = *std::move(ranking);
    for (const plan::Loss& loss : whatif.ranking.cables) {
        whatif.cable_names.push_back(plan::name_of(experiment->fabric, loss.what));
    }
    for (const plan::Loss& loss : whatif.ranking.switches) {
        whatif.switch_names.push_back(experiment->fabric.nodes[loss.what.node].name);
    }
    return whatif;
}

}  // namespace

int cmd_sim(const SimOptions& options) {
    if (options.schema) {
        return write_file("-", sim::scenario_schema());
    }
    const auto scenario = read_scenario(options);
    if (!scenario) {
        return fail_describing(scenario.error());
    }
    if (!options.whatif) {
        return scenario->compare.empty() ? run_scenario(options, *scenario)
                                         : compare_variants(options, *scenario);
    }
    if (!scenario->compare.empty()) {
        return fail("whatif compares a fabric with damaged ones: leave out --compare");
    }
    const auto whatif = ask_what_if(options, *scenario);
    if (!whatif) {
        return fail_describing(whatif.error());
    }
    return write_file("-", options.json ? sim::to_json(*whatif) : sim::to_text(*whatif));
}

}  // namespace softib::app
