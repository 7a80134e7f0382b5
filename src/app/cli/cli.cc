// SPDX-License-Identifier: BSD-2-Clause
// The command line of `softib`. Its subcommands are in the files cli_*.cc.
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/cli_tree.h"
#include "app/cli/complete.h"
#include "app/cli/json_text.h"
#include "app/cli/late_build.h"
#include "app/cli/stray_word.h"
#include "app/fabric/term.h"
#include "core/base/nearest.h"

namespace softib::app {
namespace {

constexpr char kFooter[] =
    "A fabric is a set of virtual hosts with InfiniBand HCAs, joined by switches.\n"
    "  softib up --hosts 4                     start one\n"
    "  softib exec h0 -- ibv_devinfo           run a program on a host\n"
    "  softib run --hosts 2 -- ./test.sh       a private fabric for one command\n"
    "  softib down                             end it\n"
#ifndef SOFTIB_PLANNER
    "sim, plan and trace are built when you use one of them for the first time.\n"
#endif
    "Every command has --help. Manual: man softib\n";

void print_help(const CLI::App& app, bool json) {
    fmt::print("{}", json ? json_text(to_json(describe_command(app))) : app.help());
}

std::vector<Subcommand> all_subcommands() {
    std::vector<Subcommand> all;
    for (const auto group : {fabric_subcommands(), operation_subcommands(), sharp_subcommands(),
#ifdef SOFTIB_PLANNER
                             simulation_subcommands(), planning_subcommands(), trace_subcommands(),
#endif
                             telemetry_subcommands()}) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

/// Returns an error message for a command that this program does not have.
std::string no_command(const std::string& name) {
    std::vector<std::string_view> names{"help"};
    std::ranges::transform(all_subcommands(), std::back_inserter(names), &Subcommand::name);
    const auto near = nearest_name(name, names);
    return fmt::format("no command '{}'{}; see: softib help", name,
                       near ? fmt::format(" (did you mean {}?)", *near) : "");
}

int show_help(CLI::App& app, const std::string& about, bool json) {
    if (about.empty()) {
        app.clear();  // Otherwise CLI11 would explain "help".
        print_help(app, json);
        return 0;
    }
    for (const CLI::App* const sub : app.get_subcommands({})) {
        if (sub->get_name() == about) {
            print_help(*sub, json);
            return 0;
        }
    }
    return misuse(no_command(about));
}

Command add_help(CLI::App& app, Parsed& parsed) {
    CLI::App* const sub = app.add_subcommand("help", "Explain a command");
    sub->add_option("command", parsed.help_about)->type_name("COMMAND");
    sub->add_flag("--json", parsed.help_json, "print commands, operands and options as JSON");
    return {sub, [&app, &parsed] { return show_help(app, parsed.help_about, parsed.help_json); }};
}

/// Splits off the words behind the first "--", which are the command line of another program.
std::vector<std::string> split(int argc, char** argv, complete::Behind& behind) {
    std::vector<std::string> ours(argv + 1, argv + argc);
    const auto dashes = std::ranges::find(ours, "--");
    if (dashes != ours.end()) {
        behind.emplace(std::next(dashes), ours.end());
        ours.erase(dashes, ours.end());
    }
    return ours;
}

/// Returns the subcommand of that name; all subcommands if there is none, or if it is "help".
std::vector<Subcommand> named_subcommands(std::string_view name) {
    std::vector<Subcommand> all = all_subcommands();
    const auto named = std::ranges::find(all, name, &Subcommand::name);
    if (named != all.end()) {
        return {*named};
    }
    all.push_back({"help", add_help});
    return all;
}

bool is_command(const std::string& name) {
    const std::vector<Subcommand> all = all_subcommands();
    return name == "help" || std::ranges::find(all, name, &Subcommand::name) != all.end();
}

/// Returns the name of the innermost command that was given: "softib plan train".
std::string given_command(const CLI::App& app) {
    const auto given = app.get_subcommands();
    return given.empty() ? full_name(app) : given_command(*given.front());
}

/// Returns what CLI11 says, in words that tell what to do.
std::string told(const CLI::ParseError& error) {
    const std::string text = error.what();
    const std::size_t twice = text.find(": At Most 1 required");
    return twice == std::string::npos ? text : text.substr(0, twice) + " is there twice: give one";
}

int run(int argc, char** argv) {
    CLI::App app{"InfiniBand in user space: no hardware, no kernel module, no root", "softib"};
    app.set_version_flag("--version", std::string("softib ") + SOFTIB_VERSION);
    app.require_subcommand(1);
    app.formatter(std::make_shared<UsageFormatter>());
    Parsed parsed;
    std::vector<Command> commands;
    for (const Subcommand& each : named_subcommands(argc > 1 ? argv[1] : "")) {
        commands.push_back(each.add(app, parsed));
    }
    app.footer(kFooter);  // Set after the subcommands were added, which would inherit it.
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
        const std::vector<std::string> words(argv + 2, argv + argc);
        fmt::print("{}", complete::answer(describe_command(app), words));
        return 0;
    }
    complete::Behind behind;
    std::vector<std::string> args = split(argc, argv, behind);
    parsed.command = behind.value_or(std::vector<std::string>());
    if (!args.empty() && is_left_out(args.front())) {
        return build_and_run(argv);
    }
    if (!args.empty() && !args.front().starts_with('-') && !is_command(args.front())) {
        return misuse(no_command(args.front()));
    }
    // A command that is not for people is not described.
    if (const complete::Command known = describe_command(app); !known.commands.empty()) {
        if (const std::string wrong = complete::find_stray_word(known, args, behind);
            !wrong.empty()) {
            return misuse(wrong);
        }
    }
    std::ranges::reverse(args);  // CLI11 takes words from the back.
    try {
        app.parse(std::move(args));
        const auto given = std::ranges::find_if(
            commands, [](const Command& command) { return command.app->parsed(); });
        return given->act();
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        return misuse(fmt::format("{}; see: {} --help", told(error), given_command(app)));
    }
}

/// Opens descriptors 0 to 2 that the caller has closed, so that they do not become files or sockets
/// of ours, into which messages would go. Reads and writes there fail, as on a closed descriptor.
void occupy_standard_descriptors() {
    for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(wanted, F_GETFD) < 0) {
            open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // The lowest is free.
        }
    }
}

}  // namespace
}  // namespace softib::app

#ifdef SOFTIB_SANITIZED
/// Returns options of AddressSanitizer: a command does not look for leaks at its end, which would
/// take a fifth of its time.
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0";
}
#endif

int main(int argc, char** argv) {
    softib::app::occupy_standard_descriptors();
    try {
        return softib::app::finish_output(softib::app::run(argc, argv));
    } catch (const std::system_error& error) {  // fmt::print() could not write.
        return softib::app::fail(error.what());
    } catch (const std::bad_alloc&) {
        return softib::app::fail(
            "there is not enough memory for this: take a smaller fabric or fewer messages");
    }
}
