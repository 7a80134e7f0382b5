// SPDX-License-Identifier: BSD-2-Clause
// Subcommands that show aggregation nodes, trees and jobs (SHARP), and that run the aggregation
// manager.
#include <CLI/CLI.hpp>

#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/commands.h"

namespace softib::app {

namespace {

Command add_sharp(CLI::App& app, Parsed& parsed) {
    SharpOptions& sharp = parsed.sharp;
    CLI::App* const sub =
        app.add_subcommand("sharp", "Show aggregation nodes, and the trees of SHARP jobs");
    add_fabric_choice(*sub, sharp.fabric);
    sharp.action = "status";
    only(sub->add_option("action", sharp.action,
                         "the nodes, the trees, or the jobs (default: status)"),
         "status|trees|jobs");
    add_json(*sub, sharp.json);
    sub->add_option("--dot", sharp.dot, "trees: write Graphviz DOT ('-': standard output)")
        ->type_name("FILE");
    sub->add_option("--svg", sharp.svg, "trees: write a picture ('-': standard output)")
        ->type_name("FILE");
    return {sub, [&sharp] { return cmd_sharp(sharp); }};
}

Command add_am(CLI::App& app, Parsed& parsed) {
    AmOptions& am = parsed.am;
    CLI::App* const sub = app.add_subcommand(
        "am", "Run the aggregation manager of SHARP on a host (of a fabric with --am none)");
    add_fabric_choice(*sub, am.where.fabric);
    add_json_report(*sub, am.where.json);
    sub->add_option("--am-key", am.key, "AM_Key that nodes ask for from then on (default: none)")
        ->type_name("KEY");
    sub->add_flag("--once", am.once, "end when it knows the nodes");
    sub->add_option("host", am.where.host, "which host, as in softib status")
        ->type_name("HOST")
        ->required();
    return {sub, [&am] { return cmd_am(am); }};
}

}  // namespace

std::span<const Subcommand> sharp_subcommands() {
    static constexpr Subcommand kAll[]{{"am", add_am}, {"sharp", add_sharp}};
    return kAll;
}

}  // namespace softib::app
