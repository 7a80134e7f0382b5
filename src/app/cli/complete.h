// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds what may stand next on a command line of softib, for the completions of shells
// (packaging/). A shell runs
//
//   softib __complete WORD... CURRENT
//
// with the words behind "softib" and the one under the cursor, which may be empty. Each line of the
// answer is a value, or a value, a tab and what the value means. The last line tells the shell what
// to do:
//
//   :values         offer the values of the other lines
//   :files          offer paths of files
//   :directories    offer paths of directories
//   :program N      complete another command line, which begins at word N, counted from 0 behind
//                   "softib"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace softib::app::complete {

/// An option as the user may give it.
struct Option {
    std::vector<std::string> names;  ///< "-f", "--fabric".
    std::string operand;             ///< "FABRIC", "up|down"; empty: the option is a flag.
    std::string help;
};

/// A command, or the program with its commands.
struct Command {
    std::string name;
    std::string help;
    std::vector<Option> options;
    std::vector<std::string> operands;  ///< In order; written as Option::operand.
    bool last_repeats = false;
    bool runs_program = false;   ///< Another program's command line follows the operands, or "--".
    bool inherits = false;       ///< Takes the options of the command above it, too.
    bool needs_command = false;  ///< One of `commands` must follow.
    std::vector<Command> commands;
};

/// What the word under the cursor may be.
struct Wanted {
    std::string operand;  ///< The kind of value: "FABRIC", "up|down"; empty: no value.
    std::string before;   ///< What stands in the same word before the value: "--sm=", "h0,".
    std::string prefix;   ///< The part of the value that the user has typed.
    std::vector<std::string> given;     ///< The operands of the command that the user has typed.
    std::optional<std::string> fabric;  ///< The fabric that the line names.
    const Command* names_of = nullptr;  ///< The command whose subcommands may stand here.
    std::vector<const Option*> options;
    std::optional<std::size_t> program_at;
};

/// Reads all words but the last, and returns what the last one may be.
Wanted find_wanted(const Command& program, std::span<const std::string> words);

/// Returns the answer to a shell, as the head of this file describes it.
std::string answer(const Command& program, std::span<const std::string> words);

}  // namespace softib::app::complete
