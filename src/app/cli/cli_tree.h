// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The commands and options that CLI11 holds, as a user reads them (usage lines) and as a shell
// completes them. For cli.cc alone: CLI11 is slow to compile.

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <utility>

#include "app/cli/complete.h"

namespace softib::app {

/// "softib routes check".
inline std::string full_name(const CLI::App& app) {
    const CLI::App* const parent = app.get_parent();
    return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

/// Returns the usage text behind the operands of a command that runs another: for exec and run the
/// dashes that separate the two command lines, for mpirun its arguments.
inline const char* program_usage(const CLI::App& app) {
    return app.get_name() == "mpirun" ? " PROGRAM [ARG...]" : " -- COMMAND [ARG...]";
}

/// Usage lines that name operands by what they are: "softib down [OPTIONS] [FABRIC...]".
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
            line += app->get_parent() == nullptr ? " COMMAND" : " ACTION";
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

inline complete::Command describe_command(const CLI::App& app) {
    complete::Command out;
    out.name = app.get_name();
    out.help = app.get_description();
    out.runs_program = app.get_prefix_command();
    for (const CLI::Option* const option : app.get_options({})) {
        if (option->get_positional()) {
            out.operands.push_back(option->get_type_name());
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
        each.operand = option->get_items_expected_max() == 0 ? "" : option->get_type_name();
        each.help = option->get_description();
        out.options.push_back(std::move(each));
    }
    for (const CLI::App* const sub : app.get_subcommands({})) {
        if (!sub->get_group().empty()) {  // Those without are not for people.
            out.commands.push_back(describe_command(*sub));
        }
    }
    return out;
}

}  // namespace softib::app
