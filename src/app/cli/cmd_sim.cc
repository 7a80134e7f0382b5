// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/sim/compare.h"
#include "app/cli/sim/page_server.h"
#include "app/cli/sim/recorder.h"
#include "app/cli/sim/report.h"
#include "app/cli/sim/run.h"
#include "app/cli/sim/sharp.h"
#include "app/cli/sim/whatif.h"
#include "app/cli/sweep/sweep.h"
#include "app/cli/text_file.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "parallel/job.h"
#include "plan/results.h"
#include "plan/trace/expand.h"
#include "plan/units.h"
#include "spec/scenario/scenario.h"
#include "spec/scenario/sweep.h"

namespace softib::app {

namespace {

/// The traffic if neither a scenario nor a flag names one.
constexpr char kTrafficDefault[] = "permutation";

constexpr char kOneRecorded[] =
    "--record and --serve are for one simulation of messages: leave out whatif, --sweep, --compare "
    "and sharp-allreduce";

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
    // Flags about traffic replace the file's traffics. Keys without --traffic are those of the
    // default traffic.
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

/// Writes the report in all the forms that the options ask for. Returns the exit status.
int write_report(const SimOptions& options, const sim::Report& report, const plan::Player& player,
                 const plan::Ends& ends) {
    int status = 0;
    if (!options.csv.empty()) {
        status |= write_text(options.csv, sim::messages_csv(player, ends));
    }
    if (!options.csv_links.empty()) {
        status |= write_text(options.csv_links, sim::links_csv(report));
    }
    if (const auto exports = trace::read_exports(options.exports); exports && !exports->empty()) {
        plan::trace::Job job = plan::trace::job_of_messages(player.messages(), ends.count());
        job.name = "sim";
        status |= trace::write_exports(*exports, job, sim::messages_csv(player, ends));
    }
    if (!options.html.empty()) {
        status |= write_text(options.html, sim::to_html(report));
    }
    if (options.json) {
        status |= write_text("-", sim::to_json(report));
    } else if (options.csv != "-" && options.csv_links != "-" && options.html != "-") {
        status |= write_text("-", sim::to_text(report));
    }
    return status;
}

/// Returns the number of threads; 0 if this process is one of an MPI job, each of which simulates a
/// part.
std::uint32_t threads_of(const SimOptions& options) {
    return parallel::job_size() > 1 ? 0 : options.threads;
}

bool is_recorded(const SimOptions& options) {
    return options.serve || !options.record.empty();
}

/// Returns what must be recorded. With `page`, which shows the recording, there is a file even if
/// the user has named none.
std::expected<sim::RecordOptions, std::string> record_options(const SimOptions& options,
                                                              sim::PageServer* page) {
    sim::RecordOptions record{.path = options.record};
    if (!options.record_every.empty()) {
        const auto step = plan::parse_time(options.record_every);
        if (!step || *step < 1000) {
            return std::unexpected(
                fmt::format("--record-every: {}", step ? "a step is 1ns or longer" : step.error()));
        }
        record.step = *step;
    }
    if (page != nullptr) {
        const auto path = page->recording();
        if (!path) {
            return std::unexpected(path.error());
        }
        record.path = *path;
        record.begun = [page] { return page->start(); };
    }
    return record;
}

int run_scenario(const SimOptions& options, const spec::Scenario& scenario) {
    const auto experiment = spec::prepare(scenario);
    if (!experiment) {
        return fail_describing(experiment.error());
    }
    if (const auto exports = trace::read_exports(options.exports); !exports) {
        return misuse(exports.error());
    }
    std::optional<sim::PageServer> page;
    if (options.serve) {
        page.emplace(options.record, options.port);
    }
    const auto record = record_options(options, page ? &*page : nullptr);
    if (!record) {
        return fail(record.error());
    }
    int status = 0;
    const auto ran = sim::simulate(
        scenario, *experiment, threads_of(options),
        [&](const sim::Report& report, const plan::Player& player) {
            status = write_report(options, report, player, plan::Ends(experiment->fabric));
        },
        *record);
    if (!ran) {
        return fail(ran.error());
    }
    return page ? status | page->wait() : status;
}

// Reductions in switches (SHARP).

/// Returns whether a traffic is SHARP's; its keys may follow its name.
bool is_sharp(const SimOptions& options) {
    return std::ranges::any_of(options.traffics, [](const std::string& traffic) {
        return traffic.substr(0, traffic.find(',')) == sim::kSharpTraffic;
    });
}

int run_sharp(const SimOptions& options) {
    if (options.traffics.size() != 1 || options.whatif || !options.failures.empty() ||
        options.threads > 1 || !options.csv.empty() || !options.csv_links.empty() ||
        !options.html.empty() || !options.exports.empty()) {
        return misuse(
            fmt::format("--traffic {} stands alone: no other traffic, failure, thread, "
                        "whatif or file goes with it",
                        sim::kSharpTraffic));
    }
    // The keys are those of any traffic, so they are parsed as those of another one.
    SimOptions keys = options;
    keys.traffics.front().replace(0, sim::kSharpTraffic.size(), "shift");
    const auto scenario = read_scenario(keys);
    if (!scenario) {
        return fail_describing(scenario.error());
    }
    const auto experiment = spec::prepare(*scenario);
    if (!experiment) {
        return fail_describing(experiment.error());
    }
    const auto report = sim::simulate_sharp_traffic(*scenario, *experiment, options.json);
    return report ? write_text("-", *report) : fail(report.error());
}

// Comparisons of several networks (--compare).

int compare_variants(const SimOptions& options, const spec::Scenario& scenario) {
    if (!options.csv_links.empty() || !options.exports.empty()) {
        return fail(
            "--csv-links and --export are for one run: leave out --compare, or take --json");
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
        const auto ran = sim::simulate(*chosen, *experiment, options.threads,
                                       [&](const sim::Report& report, const plan::Player&) {
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
    int status = options.html.empty() ? 0 : write_text(options.html, sim::to_html(comparison));
    if (!options.csv.empty()) {
        status |= write_text(options.csv, sim::to_csv(comparison));
    }
    if (options.json) {
        status |= write_text("-", sim::to_json(comparison));
    } else if (options.html != "-" && options.csv != "-") {
        status |= write_text("-", sim::to_text(comparison));
    }
    return status;
}

// `softib sim whatif`.

sim::WhatIfCase to_case(const sim::Report& report, std::string lost) {
    const plan::Totals totals = plan::total_of(report.results);
    return {.lost = std::move(lost),
            .engine = report.engine,
            .messages = totals.messages,
            .delivered = totals.delivered,
            .gbps = totals.gbps,
            .message_gbps = totals.message_gbps.mean(),
            .slowest_gbps = totals.message_gbps.min(),
            .finished_us = static_cast<double>(totals.finished_at) / 1e6};
}

std::string names_of(const topo::Fabric& fabric, const std::vector<net::Failure>& failures) {
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

/// Returns the lists of failures to simulate: one if all failures are named, several if some are
/// drawn at random.
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
    sim::WhatIf whatif{.title = sim::title_of(scenario, experiment->fabric)};
    const auto add = [&](const std::string& lost) {
        return sim::simulate(whole, *experiment, options.threads,
                             [&](const sim::Report& report, const plan::Player&) {
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
        whatif.switch_names.push_back(plan::name_of_node(experiment->fabric, loss.what.node));
    }
    for (const plan::Loss& loss : whatif.ranking.routers) {
        whatif.router_names.push_back(plan::name_of_node(experiment->fabric, loss.what.node));
    }
    return whatif;
}

// Sweeps.

sweep::Outcome simulate_point(const spec::Sweep& of, const spec::SweepPoint& point,
                              spec::Scenario scenario) {
    const auto failed = [](const std::string& error) {
        return sweep::Outcome{.failed = true, .error = error};
    };
    if (auto applied = spec::apply_point(of, point, scenario); !applied) {
        return failed(applied.error());
    }
    const auto experiment = spec::prepare(scenario);
    if (!experiment) {
        return failed(experiment.error());
    }
    sweep::Outcome outcome;
    const auto ran = sim::simulate(
        scenario, *experiment, 1, [&](const sim::Report& report, const plan::Player&) {
            const plan::Totals totals = plan::total_of(report.results);
            outcome = {.messages = totals.messages,
                       .delivered = totals.delivered,
                       .duration_us = static_cast<double>(totals.finished_at) / 1e6,
                       .gbps = totals.gbps,
                       .message_gbps = totals.message_gbps.mean(),
                       .slowest_gbps = totals.message_gbps.min(),
                       .completion_p50_us = totals.completion_us.percentile(50),
                       .completion_p99_us = totals.completion_us.percentile(99),
                       .completion_max_us = totals.completion_us.max(),
                       .cpu_seconds = report.cpu_seconds,
                       .log_hash = fmt::format("{:016x}", report.results.stats.log_hash),
                       .report = sim::to_json(report)};
        });
    return ran ? outcome : failed(ran.error());
}

/// Returns all that the points have in common, as text: the base scenario and the files that it
/// names.
std::string common_text(const SimOptions& options, const spec::Scenario& base) {
    std::string text = SOFTIB_VERSION;
    const auto add = [&](std::string_view part) { text += fmt::format("{}{}", '\0', part); };
    const auto add_file = [&](const std::string& file) {
        std::ifstream in(file, std::ios::binary);
        add(std::string{std::istreambuf_iterator<char>(in), {}});
    };
    for (const std::string& file : {options.scenario, options.flags.config}) {
        add_file(file);
    }
    add(base.fabric.netlist);
    add(base.fabric.partitions_text);
    for (const spec::TrafficWish& wish : base.traffics) {
        add_file(wish.pairs_file);
    }
    for (const KeyTexts* keys :
         {&options.flags.keys, &options.keys, &options.traffic_keys, &options.failures}) {
        for (const auto& [key, value] : *keys) {
            add(key + "=" + value);
        }
    }
    for (const std::string& traffic : options.traffics) {
        add(traffic);
    }
    return text;
}

int run_sweep_file(const SimOptions& options) {
    if (options.whatif || !options.csv_links.empty() || !options.html.empty() ||
        !options.exports.empty() || !options.scenario.empty()) {
        return misuse(
            "--sweep goes with neither whatif, --html, --csv-links, --export nor a scenario; the "
            "sweep names its scenario as base");
    }
    const auto of = spec::load_sweep(options.sweep);
    if (!of) {
        return fail(of.error());
    }
    SimOptions with_base = options;
    with_base.scenario = of->base;
    const auto base = read_scenario(with_base);
    if (!base) {
        return fail_describing(base.error());
    }
    if (auto checked = spec::check_sweep(*of, *base); !checked) {
        return fail(checked.error());
    }
    return sweep::run_sweep(
        *of,
        {.database = options.db,
         .part = options.part,
         .jobs = options.jobs,
         .merge = options.merge,
         .csv = options.csv,
         .json = options.json,
         .common = common_text(with_base, *base)},
        [&](const spec::SweepPoint& point) { return simulate_point(*of, point, *base); });
}

}  // namespace

int cmd_sim(const SimOptions& options) {
    if (options.schema) {
        return write_text("-", sim::scenario_schema());
    }
    if (!options.record_every.empty() && !is_recorded(options)) {
        return misuse("--record-every is for --record or --serve");
    }
    if (is_recorded(options) && (options.whatif || !options.sweep.empty() || is_sharp(options))) {
        return misuse(kOneRecorded);
    }
    if (!options.sweep.empty()) {
        return run_sweep_file(options);
    }
    if (is_sharp(options)) {
        return run_sharp(options);
    }
    const auto scenario = read_scenario(options);
    if (!scenario) {
        return fail_describing(scenario.error());
    }
    if (parallel::job_size() > 1 && (options.whatif || options.threads > 1)) {
        return misuse(
            "under mpirun each process has one part of one simulation: whatif and --threads do not "
            "go with it");
    }
    if (is_recorded(options) && !scenario->compare.empty()) {
        return misuse(kOneRecorded);
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
    return write_text("-", options.json ? sim::to_json(*whatif) : sim::to_text(*whatif));
}

}  // namespace softib::app
