// SPDX-License-Identifier: BSD-2-Clause
// The subcommand about traces of jobs.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/trace/trace_commands.h"

namespace softib::app {
namespace {

void add_files(CLI::App& app, std::vector<std::string>& files, const char* help) {
    app.add_option("files", files, help)->type_name("FILE");
}

constexpr int kPlacesMost = 1'000'000;

void add_groups(CLI::App& app, std::string& groups) {
    app.add_option("--groups", groups, "ranks of Chakra's process groups, as {\"name\": [ranks]}")
        ->type_name("FILE");
}

void add_place(CLI::App& app, std::string& cluster) {
    app.add_option("--cluster", cluster,
                   "a preset (softib plan presets), with a size as NAME:N, or a file (TOML)")
        ->type_name("CLUSTER");
}

Command add_run(CLI::App& trace, TraceRunOptions& options) {
    CLI::App* const sub = trace.add_subcommand("run", "Play jobs on a cluster");
    add_files(*sub, options.files,
              "files of one job: GOAL, Chakra, SimAI or Kineto, or a folder of them");
    add_place(*sub, options.cluster);
    sub->add_option("--nodes", options.nodes, "take this many nodes of it (default: all)")
        ->type_name("N")
        ->check(whole_number(1, kPlacesMost));
    only(sub->add_option("--model", options.model, "how messages move (default: flow)"),
         "flow|packet");
    sub->add_option("--placement", options.placement,
                    "linear, random, round-robin, or nodes as 0-3,8 (default: linear)")
        ->type_name("HOW");
    sub->add_option("--per-node", options.per_node,
                    "ranks that a node takes (default: one for each GPU)")
        ->type_name("N")
        ->check(whole_number(1, kPlacesMost));
    sub->add_option("--seed", options.seed, "of random placements (default: 1)")
        ->type_name("N")
        ->check(whole_number(0, UINT64_MAX));
    sub->add_option("--job", options.jobs, "one more job beside it, as FILE@PLACEMENT; repeatable")
        ->type_name("JOB")
        ->expected(1)
        ->take_all();
    add_groups(*sub, options.groups);
    sub->add_option("--eager", options.eager,
                    "the sends of messages up to this size end at once (default: 64KiB)")
        ->type_name("SIZE");
    sub->add_flag("--rendezvous", options.rendezvous, "longer messages wait for their receive");
    only(sub->add_option("--nic", options.nic,
                         "how a NIC sends messages to several ranks: queue pairs take turns, or "
                         "one message after the other (default: turns)"),
         "turns|order");
    sub->add_flag("--steps", options.steps,
                  "play collective operations step by step, each behind what it waits for");
    sub->add_option("--message-time", options.message_time,
                    "what software takes for one message (default: 100ns)")
        ->type_name("TIME");
    sub->add_option("--export", options.exports,
                    "write what ranks sent each other: goal=FILE, chakra=FILE, csv=FILE; "
                    "repeatable")
        ->type_name("FORMAT=FILE")
        ->expected(1)
        ->take_all();
    sub->add_option("--timeline", options.timeline, "write all operations for chrome://tracing")
        ->type_name("FILE");
    sub->add_flag("--ranks", options.ranks, "print a line for each rank");
    sub->add_flag("--yes", options.any_cost, "with --model packet: go on although it takes hours");
    add_json(*sub, options.json);
    return {sub, [&options] { return cmd_trace_run(options); }};
}

Command add_show(CLI::App& trace, TraceFileOptions& options) {
    CLI::App* const sub = trace.add_subcommand(
        "show", "Count ranks, operations and bytes of a trace, and its groups");
    sub->add_option("files", options.files, "files of one job, or a folder")
        ->type_name("FILE")
        ->required();
    add_groups(*sub, options.groups);
    add_json(*sub, options.json);
    return {sub, [&options] { return cmd_trace_show(options); }};
}

Command add_convert(CLI::App& trace, TraceFileOptions& options) {
    CLI::App* const sub = trace.add_subcommand(
        "convert", "Write a trace as GOAL (.goal) or Chakra (.et): the last FILE is written");
    add_files(*sub, options.files, "files of one job, then the one to write");
    add_groups(*sub, options.groups);
    add_place(*sub, options.cluster);
    add_json(*sub, options.json);
    return {sub, [&options] { return cmd_trace_convert(options); }};
}

Command add_scale(CLI::App& trace, TraceFileOptions& options) {
    CLI::App* const sub = trace.add_subcommand(
        "scale", "Write a trace with more ranks that do the same: the last FILE is written");
    add_files(*sub, options.files, "files of one job, then the one to write");
    sub->add_option("--ranks", options.ranks, "a multiple of those that it has")
        ->type_name("N")
        ->check(whole_number(1, 1U << 20))
        ->required();
    add_groups(*sub, options.groups);
    add_place(*sub, options.cluster);
    add_json(*sub, options.json);
    return {sub, [&options] { return cmd_trace_scale(options); }};
}

Command add_record(CLI::App& trace, Parsed& parsed) {
    TraceRecordOptions& options = parsed.trace.record;
    CLI::App* const sub = trace.add_subcommand(
        "record", "Run a command, and write what its programs send each other as a trace");
    sub->add_option("-o,--output", options.to, "GOAL (.goal) or Chakra (.et)")
        ->type_name("FILE")
        ->required();
    add_json_report(*sub, options.json);
    sub->prefix_command();
    return {sub, [&options, &parsed, sub] {
                options.command = parsed.command.empty() ? sub->remaining() : parsed.command;
                return cmd_trace_record(options);
            }};
}

Command add_trace(CLI::App& app, Parsed& parsed) {
    CLI::App* const trace =
        app.add_subcommand("trace", "Play traces of jobs on a cluster, record and convert them");
    trace->require_subcommand(1);
    TraceOptions& options = parsed.trace;
    const auto actions = std::make_shared<std::vector<Command>>(
        std::vector<Command>{add_run(*trace, options.run), add_show(*trace, options.show),
                             add_convert(*trace, options.convert), add_scale(*trace, options.scale),
                             add_record(*trace, parsed)});
    return {trace, [actions] {
                return std::ranges::find_if(*actions,
                                            [](const Command& each) { return each.app->parsed(); })
                    ->act();
            }};
}

}  // namespace

std::span<const Subcommand> trace_subcommands() {
    static constexpr Subcommand kAll[]{{"trace", add_trace}};
    return kAll;
}

}  // namespace softib::app
