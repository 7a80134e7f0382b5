// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The commands and options that CLI11 holds: as usage lines for a user, as words for a shell's
// completion, and as JSON. Only cli.cc includes this header, because CLI11 is slow to compile.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

#include "app/cli/complete.h"
#include "plan/cluster/presets.h"
#include "plan/train/model.h"

namespace softib::app {

/// Returns the name of a command with those above it: "softib routes check".
inline std::string full_name(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

/// Returns the usage text behind the operands of a command that runs another: for exec and run the
/// dashes that separate the two command lines, for mpirun its arguments.
inline const char* program_usage(const CLI::App& app) {
    return app.get_name() == "mpirun" ? " PROGRAM [ARG...]" : " -- COMMAND [ARG...]";
}

/// Formats usage lines that name operands by their type: "softib down [OPTIONS] [FABRIC...]".
class UsageFormatter : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App* app, std::string) const override {
        std::string line = fmt::format("Usage: {} [OPTIONS]", full_name(*app));
        for (const CLI::Option* const operand :
             app->get_options([](const CLI::Option* option) { return option->get_positional(); })) {
            const std::string name = operand->get_type_name() + (repeats(*operand) ? "..." : "");
            line += operand->get_required() ? " " + name : " [" + name + "]";
        }
        if (app->get_prefix_command()) {
            line += program_usage(*app);
        } else if (!app->get_subcommands({}).empty()) {
            const bool needed = app->get_require_subcommand_min() > 0;
            line += app->get_parent() == nullptr ? " COMMAND" : needed ? " ACTION" : " [ACTION]";
        }
        return line + "\n";
    }
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        return is_positional ? option->get_type_name()
                             : CLI::Formatter::make_option_name(option, false);
    }
    std::string make_option_opts(const CLI::Option* option) const override {
        return option->get_positional() ? "" : CLI::Formatter::make_option_opts(option);
    }

    static bool repeats(const CLI::Option& option) { return option.get_items_expected_max() > 1; }
};

/// Returns what stands for an operand: its name, or the values that it may have, as "a|b". The
/// planner's presets are inserted here, because only a `softib` with the planner has them.
inline std::string describe_operand(const CLI::Option& option) {
    const std::string type = option.get_type_name();
#ifdef SOFTIB_PLANNER
    const auto names_of = [](const auto& presets) {
        std::string names;
        for (const auto& preset : presets) {
            names += (names.empty() ? "" : "|") + preset.name;
        }
        return names;
    };
    if (type == "CLUSTER") {
        return names_of(plan::presets());
    }
    if (type == "MODEL") {
        return names_of(plan::model_presets());
    }
#endif
    return type;
}

/// Returns a command with its options, operands and subcommands, for completion and for JSON.
inline complete::Command describe_command(const CLI::App& app) {
    complete::Command out;
    out.name = app.get_name();
    out.help = app.get_description();
    out.runs_program = app.get_prefix_command();
    out.inherits = app.get_fallthrough();
    out.needs_command = app.get_require_subcommand_min() > 0;
    for (const CLI::Option* const option : app.get_options({})) {
        if (option->get_positional()) {
            out.operands.push_back(describe_operand(*option));
            out.last_repeats = UsageFormatter::repeats(*option);
            continue;
        }
        complete::Option each;
        for (const std::string& name : option->get_snames()) {
            each.names.push_back("-" + name);
        }
        for (const std::string& name : option->get_lnames()) {
            each.names.push_back("--" + name);
        }
        each.operand = option->get_items_expected_max() == 0 ? "" : describe_operand(*option);
        each.help = option->get_description();
        out.options.push_back(std::move(each));
    }
    for (const CLI::App* const sub : app.get_subcommands({})) {
        if (!sub->get_group().empty()) {  // Subcommands without a group are not for people.
            out.commands.push_back(describe_command(*sub));
        }
    }
    return out;
}

/// Returns a command with its options and subcommands, as `softib help --json` prints it.
inline nlohmann::ordered_json to_json(const complete::Command& command) {
    using Json = nlohmann::ordered_json;
    Json options = Json::array();
    for (const complete::Option& each : command.options) {
        options.push_back({{"names", each.names},
                           {"operand", each.operand.empty() ? Json() : Json(each.operand)},
                           {"help", each.help}});
    }
    Json commands = Json::array();
    for (const complete::Command& each : command.commands) {
        commands.push_back(to_json(each));
    }
    return {{"name", command.name},
            {"help", command.help},
            {"operands", command.operands},
            {"last_operand_repeats", command.last_repeats},
            {"runs_program", command.runs_program},
            {"options", options},
            {"commands", commands}};
}

}  // namespace softib::app
