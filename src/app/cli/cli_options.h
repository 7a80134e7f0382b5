// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the files that define subcommands (cli_*.cc, one for each group of subcommands) share: the
// parsed command line, and the options that many subcommands have. Only those files include this
// header, because CLI11 is slow to compile.

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/plan/goodput_options.h"
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
    GoodputOptions goodput;
    TraceOptions trace;
    SmOptions sm;
    SharpOptions sharp;
    std::string help_about;
    bool help_json = false;
    std::vector<std::string> command;  ///< The words behind "--".
};

/// Returns why a text cannot be the name of a fabric; empty if it can. For CLI11's check().
std::string check_name(const std::string& name);
/// Lets an option take only one of the names between the bars: "up|down".
void only(CLI::Option* option, const std::string& choices);
/// Returns what refuses all but whole numbers from `least` to `most`. For CLI11's check().
std::function<std::string(const std::string&)> whole_number(std::uint64_t least,
                                                            std::uint64_t most);
void add_json(CLI::App& app, bool& json);
/// Adds --json to a command that runs another program: the JSON goes to standard error, because
/// standard output is that program's.
void add_json_report(CLI::App& app, bool& json);
void add_fabric_choice(CLI::App& app, std::optional<std::string>& fabric);
void add_hostname_choice(CLI::App& app, bool& real_hostname);
/// Adds --config, and a flag for each key of a fabric's description.
void add_fabric_flags(CLI::App& app, FabricFlags& flags);

/// The name of a subcommand, and the function that gives CLI11 its options. Only the subcommand
/// that the user named gets its options: to add all options of all subcommands would take longer
/// than most commands do.
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
/// Returns the names of the options that the command line gives.
std::vector<std::string> given_options(const CLI::App& app);
/// Adds a flag for each key of a question about training that `wanted` takes.
void add_train_keys(CLI::App& app, spec::TrainQuestion& question,
                    const std::function<bool(const spec::TrainKey&)>& wanted);
/// Adds the subcommands of `softib plan` about training.
std::vector<Command> add_training_commands(CLI::App& plan, Parsed& parsed);
Command add_serve(CLI::App& plan, struct PlanServeOptions& options);

}  // namespace softib::app
