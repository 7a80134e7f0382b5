// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What may stand next on a command line of softib, for the completions of shells (packaging/). A
// shell asks
//
//   softib __complete WORD... CURRENT
//
// with the words behind "softib" and the one under the cursor, which may be empty, and is answered
// by lines of a value, or of a value, a tab and what it means. The last line says what they are:
//
//   :values         all there is
//   :files          paths of files come from the shell
//   :directories    paths of directories do
//   :program N      from word N on, counted from 0 behind "softib", another command line begins

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace softib::app::complete {

/// An option as the user may give it.
struct Option {
    std::vector<std::string> names;  ///< "-f", "--fabric".
    std::string operand;             ///< "FABRIC", "up|down"; empty: a flag.
    std::string help;
};

/// A command, or the program with its commands.
struct Command {
    std::string name;
    std::string help;
    std::vector<Option> options;
    std::vector<std::string> operands;  ///< In order, as those of options.
    bool last_repeats = false;
    bool runs_program = false;  ///< Another program's command line follows the operands, or "--".
    std::vector<Command> commands;
};

/// What is wanted at the end of a line.
struct Wanted {
    std::string operand;  ///< What kind of value; empty: none.
    std::string before;   ///< What stands in the same word before the value: "--sm=", "h0,".
    std::string prefix;   ///< What is there of it.
    std::vector<std::string> given;     ///< The operands of the command that stand before.
    std::optional<std::string> fabric;  ///< The fabric that the line names.
    const Command* names_of = nullptr;  ///< Its subcommands, or its options, may stand here.
    std::vector<const Option*> options;
    std::optional<std::size_t> program_at;
};

/// Reads all words but the last, and tells what that may be.
Wanted find_wanted(const Command& program, std::span<const std::string> words);

/// The answer to a shell.
std::string answer(const Command& program, std::span<const std::string> words);

}  // namespace softib::app::complete
