// SPDX-License-Identifier: BSD-2-Clause
// Subcommands that simulate.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/commands.h"
#include "run/options.h"
#include "spec/scenario/scenario.h"

namespace softib::app {
namespace {

/// Adds the flag of a key or an option. Its values go to `flags` under `name`.
void add_flag(CLI::App& app, spec::KeyTexts& flags, const std::string& flag,
              const std::string& name, std::string_view operand, const std::string& help,
              std::string_view group, bool repeats) {
    if (operand.empty()) {
        app.add_flag_callback(
               flag, [&flags, name] { flags.emplace_back(name, "true"); }, help)
            ->group(std::string(group));
        return;
    }
    const auto keep = [&flags, name](const std::vector<std::string>& values) {
        for (const std::string& value : values) {
            flags.emplace_back(name, value);
        }
    };
    CLI::Option* const option = app.add_option_function<std::vector<std::string>>(flag, keep, help);
    option->type_name(std::string(operand))
        ->group(std::string(group))
        ->expected(1)
        ->allow_extra_args(false);
    if (repeats) {
        option->take_all();
    }
}

/// Adds a flag for each key of a scenario.
void add_scenario_flags(CLI::App& app, spec::KeyTexts& flags) {
    using Section = spec::ScenarioKey::Section;
    for (const spec::ScenarioKey& key : spec::scenario_keys()) {
        const char* const group = key.section == Section::kFail      ? "Failures"
                                  : key.section == Section::kTraffic ? "Traffic"
                                  : key.section == Section::kHosts   ? "Adapters"
                                                                     : "Simulation";
        if (key.name == "pattern") {
            add_flag(app, flags, "--traffic", "traffic", "PATTERN",
                     "who sends to whom, and its keys: PATTERN,KEY=VALUE,... (repeatable); or "
                     "sharp-allreduce,size=BYTES: switches reduce",
                     group, true);
            continue;
        }
        const std::string help = key.initial.empty()
                                     ? std::string(key.help)
                                     : fmt::format("{} (default: {})", key.help, key.initial);
        add_flag(app, flags, spec::flag_name(key.name), std::string(key.name), key.operand, help,
                 group, key.section == Section::kFail);
    }
}

/// Adds a flag for each option of a run.
void add_run_flags(CLI::App& app, CLI::App& whatif, spec::KeyTexts& flags) {
    for (const run::Option& option : run::options()) {
        if (!option.flag.empty()) {
            CLI::App& command = option.name.starts_with("whatif.") ? whatif : app;
            add_flag(command, flags, std::string(option.flag), std::string(option.name),
                     option.operand, std::string(option.help), option.group, option.repeats);
        }
    }
}

Command add_sim(CLI::App& app, Parsed& parsed) {
    SimOptions& sim = parsed.sim;
    spec::KeyTexts& flags = sim.asked.flags;
    CLI::App* const sub =
        app.add_subcommand("sim", "Simulate traffic on a fabric at packet level, in virtual time");
    sub->add_option("scenario", sim.asked.file, "a scenario or a sweep (TOML); flags win over it")
        ->type_name("FILE");
    CLI::App* const whatif = sub->add_subcommand(
        "whatif", "compare with the fabric that has lost something, and rank what hurts most");
    add_run_flags(*sub, *whatif, flags);
    sub->add_flag("--schema", sim.schema, "print the JSON schema of scenarios, for editors")
        ->group("Output");
    add_scenario_flags(*sub, flags);
    add_fabric_flags(*sub, sim.flags);
    whatif->fallthrough();
    whatif->parse_complete_callback([&flags] { flags.emplace_back("whatif", "true"); });
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
