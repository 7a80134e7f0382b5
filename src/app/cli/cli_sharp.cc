// SPDX-License-Identifier: BSD-2-Clause
// The subcommand that shows aggregation nodes, trees and jobs.
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
    return {sub, [&sharp] { return cmd_sharp(sharp); }};
}

}  // namespace

std::span<const Subcommand> sharp_subcommands() {
    static constexpr Subcommand kAll[]{{"sharp", add_sharp}};
    return kAll;
}

}  // namespace softib::app
