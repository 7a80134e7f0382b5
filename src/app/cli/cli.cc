// SPDX-License-Identifier: BSD-2-Clause
// The command line of `softib`: its subcommands are in the other files cli_*.cc.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/cli_tree.h"
#include "app/cli/complete.h"
#include "app/fabric/term.h"

namespace softib::app {
namespace {

constexpr char kFooter[] =
    "A fabric is a set of virtual hosts with InfiniBand HCAs, joined by switches.\n"
    "  softib up --hosts 4                     start one\n"
    "  softib exec h0 -- ibv_devinfo           run a program on a host\n"
    "  softib run --hosts 2 -- ./test.sh       a private fabric for one command\n"
    "  softib down                             end it\n"
    "Every command has --help. Manual: man softib\n";

int show_help(CLI::App& app, const std::string& about) {
    if (about.empty()) {
        app.clear();  // Else it would explain "help".
        fmt::print("{}", app.help());
        return 0;
    }
    for (const CLI::App* const sub : app.get_subcommands({})) {
        if (sub->get_name() == about) {
            fmt::print("{}", sub->help());
            return 0;
        }
    }
    return misuse(fmt::format("no command '{}'; see: softib help", about));
}

Command add_help(CLI::App& app, Parsed& parsed) {
    CLI::App* const sub = app.add_subcommand("help", "Explain a command");
    sub->add_option("command", parsed.help_about)->type_name("COMMAND");
    return {sub, [&app, &parsed] { return show_help(app, parsed.help_about); }};
}

/// Splits off what stands behind the first "--": it is the user's, not ours to parse.
std::vector<std::string> split(int argc, char** argv, Parsed& parsed) {
    std::vector<std::string> ours(argv + 1, argv + argc);
    const auto dashes = std::ranges::find(ours, "--");
    if (dashes != ours.end()) {
        parsed.command.assign(std::next(dashes), ours.end());
        ours.erase(dashes, ours.end());
    }
    std::ranges::reverse(ours);  // CLI11 takes them from the back.
    return ours;
}

bool is_command(const std::vector<Command>& commands, const std::string& name) {
    return std::ranges::any_of(
        commands, [&](const Command& command) { return command.app->get_name() == name; });
}

int run(int argc, char** argv) {
    CLI::App app{"InfiniBand in user space: no hardware, no kernel module, no root", "softib"};
    app.set_version_flag("--version", std::string("softib ") + SOFTIB_VERSION);
    app.require_subcommand(1);
    app.formatter(std::make_shared<UsageFormatter>());
    Parsed parsed;
    std::vector<Command> commands = add_fabric_commands(app, parsed);
    std::ranges::move(add_operation_commands(app, parsed), std::back_inserter(commands));
    std::ranges::move(add_simulation_commands(app, parsed), std::back_inserter(commands));
    std::ranges::move(add_planning_commands(app, parsed), std::back_inserter(commands));
    commands.push_back(add_help(app, parsed));
    app.footer(kFooter);  // After the subcommands, which would inherit it.
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
        const std::vector<std::string> words(argv + 2, argv + argc);
        fmt::print("{}", complete::answer(describe_command(app), words));
        return 0;
    }
    std::vector<std::string> args = split(argc, argv, parsed);
    if (!args.empty() && !args.back().starts_with('-') && !is_command(commands, args.back())) {
        note(fmt::format("no command '{}'; see: softib help", args.back()));
        return 2;
    }
    try {
        app.parse(std::move(args));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        const auto used = app.get_subcommands();
        const std::string where = used.empty() ? "" : " " + used.front()->get_name();
        note(fmt::format("{}; see: softib{} --help", error.what(), where));
        return 2;
    }
    const auto given = std::ranges::find_if(
        commands, [](const Command& command) { return command.app->parsed(); });
    return given->act();
}

}  // namespace
}  // namespace softib::app

int main(int argc, char** argv) {
    try {
        return softib::app::finish_output(softib::app::run(argc, argv));
    } catch (const std::system_error& error) {  // fmt::print() could not write.
        return softib::app::fail(error.what());
    }
}
