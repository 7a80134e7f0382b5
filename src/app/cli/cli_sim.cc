// SPDX-License-Identifier: BSD-2-Clause
// Subcommands that simulate.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/commands.h"
#include "spec/scenario/scenario.h"

namespace softib::app {
namespace {

/// Adds a flag for each key of a scenario. Its value goes to the option of the key's section.
void add_scenario_flags(CLI::App& app, SimOptions& sim) {
    using Section = spec::ScenarioKey::Section;
    for (const spec::ScenarioKey& key : spec::scenario_keys()) {
        KeyTexts& keys = key.section == Section::kFail      ? sim.failures
                         : key.section == Section::kTraffic ? sim.traffic_keys
                                                            : sim.keys;
        const char* const group = key.section == Section::kFail      ? "Failures"
                                  : key.section == Section::kTraffic ? "Traffic"
                                  : key.section == Section::kHosts   ? "Adapters"
                                                                     : "Simulation";
        if (key.name == "pattern") {
            app.add_option(
                   "--traffic", sim.traffics,
                   "who sends to whom, and its keys: PATTERN,KEY=VALUE,... (repeatable); or "
                   "sharp-allreduce,size=BYTES: switches reduce")
                ->type_name("PATTERN")
                ->group(group);
            continue;
        }
        const std::string flag = spec::flag_name(key.name);
        const std::string help = key.initial.empty()
                                     ? std::string(key.help)
                                     : fmt::format("{} (default: {})", key.help, key.initial);
        if (key.operand.empty()) {
            app.add_flag_callback(
                   flag, [&keys, name = std::string(key.name)] { keys.emplace_back(name, "true"); },
                   help)
                ->group(group);
            continue;
        }
        const auto keep = [&keys,
                           name = std::string(key.name)](const std::vector<std::string>& values) {
            for (const std::string& value : values) {
                keys.emplace_back(name, value);
            }
        };
        CLI::Option* const option =
            app.add_option_function<std::vector<std::string>>(flag, keep, help);
        option->type_name(std::string(key.operand))->group(group);
        if (key.section != Section::kFail) {
            option->expected(1);
        }
    }
}

void add_sweep_flags(CLI::App& app, SimOptions& sim) {
    constexpr char kGroup[] = "Sweeps";
    CLI::Option* const sweep =
        app.add_option("--sweep", sim.sweep, "simulate every combination of lists of values (TOML)")
            ->type_name("FILE")
            ->group(kGroup);
    const auto add = [&](CLI::Option* option) { option->group(kGroup)->needs(sweep); };
    add(app.add_option("--jobs", sim.jobs, "simulations at a time (default: one for each core)")
            ->type_name("N")
            ->check(CLI::Range(1, 4096).description("")));
    add(app.add_option("--db", sim.db, "where results are kept (default: the sweep's name.db)")
            ->type_name("FILE"));
    add(app.add_option("--part", sim.part, "only every N-th point, from the I-th on")
            ->type_name("I/N"));
    add(app.add_flag("--merge", sim.merge, "only put the results of parts together"));
}

void add_recording_flags(CLI::App& app, SimOptions& sim) {
    app.add_option("--record", sim.record,
                   "write what every port counts, for softib serve --recording")
        ->type_name("FILE");
    app.add_option("--record-every", sim.record_every,
                   "virtual time between two readings of it, or of --serve (default: 100us)")
        ->type_name("TIME");
    CLI::Option* const serve = app.add_flag(
        "--serve", sim.serve, "show it as a web page while it runs and afterwards, until Ctrl-C");
    app.add_option("--port", sim.port, "the page's port (default: 8080; 0: any that is free)")
        ->type_name("PORT")
        ->check(CLI::Range(0, 65535).description(""))
        ->needs(serve);
}

Command add_sim(CLI::App& app, Parsed& parsed) {
    SimOptions& sim = parsed.sim;
    CLI::App* const sub =
        app.add_subcommand("sim", "Simulate traffic on a fabric at packet level, in virtual time");
    sub->add_option("scenario", sim.scenario, "a scenario (TOML); flags win over it")
        ->type_name("FILE");
    add_json(*sub, sim.json);
    sub->add_option("--csv", sim.csv,
                    "write all messages, or with --compare a line a network ('-': standard output)")
        ->type_name("FILE");
    sub->add_option("--csv-links", sim.csv_links, "write all links")->type_name("FILE");
    sub->add_option("--export", sim.exports,
                    "write what end ports sent each other: goal=FILE, chakra=FILE, csv=FILE; "
                    "repeatable")
        ->type_name("FORMAT=FILE")
        ->expected(1)
        ->take_all();
    sub->add_option("--html", sim.html, "write a report with plots")->type_name("FILE");
    add_recording_flags(*sub, sim);
    sub->add_option("--threads", sim.threads,
                    "threads of one simulation, which change nothing but its time (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(1, 256).description(""));
    sub->add_flag("--schema", sim.schema, "print the JSON schema of scenarios, for editors");
    add_scenario_flags(*sub, sim);
    add_sweep_flags(*sub, sim);
    add_fabric_flags(*sub, sim.flags);
    CLI::App* const whatif = sub->add_subcommand(
        "whatif", "compare with the fabric that has lost something, and rank what hurts most");
    whatif->fallthrough();
    whatif->parse_complete_callback([&sim] { sim.whatif = true; });
    whatif->add_option("--seeds", sim.seeds, "draws of --fail-random (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(1, 1000).description(""));
    return {sub, [&sim] { return cmd_sim(sim); }};
}

}  // namespace

std::span<const Subcommand> simulation_subcommands() {
    static constexpr Subcommand kAll[]{
        {"sim", add_sim},
    };
    return kAll;
}

}  // namespace softib::app
