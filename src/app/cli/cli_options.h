// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the files that define subcommands share: the options of all, and those that many have. A
// file per group of subcommands (cli_*.cc) gives CLI11 its options. They alone include this: CLI11
// is slow to compile.

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/plan/train_options.h"
#include "app/cli/trace/trace_commands.h"

namespace softib::app {

/// A subcommand and what to do when it was given.
struct Command {
    CLI::App* app;
    std::function<int()> act;
};

/// Everything the command line can say.
struct Parsed {
    UpOptions up;
    DownOptions down;
    ListOptions list;
    StatusOptions status;
    LogOptions log;
    AddrOptions addr;
    TopoOptions topo;
    AmOptions am;
    ExecOptions exec;
    ExecOptions env;
    RunOptions run;
    MpirunOptions mpirun;
    RouteOptions route;
    RoutesOptions routes;
    LinkOptions link;
    FaultOptions fault;
    CaptureOptions capture;
    SwitchOptions power;
    SimOptions sim;
    TelemetryCommand telemetry;
    TelemetryCommand serve;
    HealthOptions health;
    PlanOptions plan;
    TrainOptions train;
    TraceOptions trace;
    SmOptions sm;
    SharpOptions sharp;
    std::string help_about;
    bool help_json = false;
    std::vector<std::string> command;  ///< What stands behind "--".
};

/// Refuses what can be no fabric's name.
std::string check_name(const std::string& name);
/// One of the names between the bars: "up|down".
void only(CLI::Option* option, const std::string& choices);
void add_json(CLI::App& app, bool& json);
/// The same for commands that run another program, whose standard output stays as it is.
void add_json_report(CLI::App& app, bool& json);
void add_fabric_choice(CLI::App& app, std::optional<std::string>& fabric);
void add_hostname_choice(CLI::App& app, bool& real_hostname);
/// The keys of a description, as flags.
void add_fabric_flags(CLI::App& app, FabricFlags& flags);

/// A subcommand by its name, and what gives CLI11 its options. Only that which the user named is
/// given them: all options of all take longer than most commands.
struct Subcommand {
    std::string_view name;
    Command (*add)(CLI::App& app, Parsed& parsed);
};

// One list per group, in the order of `softib help`.
std::span<const Subcommand> fabric_subcommands();
std::span<const Subcommand> operation_subcommands();
std::span<const Subcommand> planning_subcommands();
std::span<const Subcommand> sharp_subcommands();
std::span<const Subcommand> simulation_subcommands();
std::span<const Subcommand> telemetry_subcommands();
std::span<const Subcommand> trace_subcommands();
/// The subcommands of `softib plan` about training.
std::vector<Command> add_training_commands(CLI::App& plan, Parsed& parsed);

}  // namespace softib::app
