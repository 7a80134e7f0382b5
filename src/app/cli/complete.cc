// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/complete.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace softib::app::complete {

namespace {

bool is_fabric_choice(const Option& option) {
    return std::ranges::find(option.names, "--fabric") != option.names.end();
}

/// The commands on the way from the program to the one that the words have reached.
using Path = std::vector<const Command*>;

const Option* find_option(const Path& path, std::string_view name) {
    for (const Command* const command : path) {
        for (const Option& option : command->options) {
            if (std::ranges::find(option.names, name) != option.names.end()) {
                return &option;
            }
        }
    }
    return nullptr;
}

const Command* find_command(const Command& command, std::string_view name) {
    const auto found = std::ranges::find(command.commands, name, &Command::name);
    return found == command.commands.end() ? nullptr : &*found;
}

/// Returns whether a word is the beginning of a subcommand's name: a name begins so, or nothing
/// else can stand here.
bool names_one_of(const Command& command, std::string_view begun) {
    return std::ranges::any_of(command.commands,
                               [&](const Command& each) { return each.name.starts_with(begun); }) ||
           (!command.commands.empty() && command.operands.empty());
}

/// Returns the part of "--name=value" before the "=".
std::string_view name_part(std::string_view word) {
    return word.substr(0, word.find('='));
}

/// Reads a command line word by word.
class Reader {
  public:
    explicit Reader(const Command& program) : path_{&program} {}

    /// Takes a complete word, at place `at` of the line.
    void take(const std::string& word, std::size_t at) {
        if (program_at_) {
            return;
        }
        if (const Option* const option = std::exchange(value_of_, nullptr)) {
            note(*option, word);
        } else if (word == "--") {
            program_at_ = at + 1;
        } else if (word.starts_with('-')) {
            take_option(word);
        } else if (const Command* const command = find_command(*path_.back(), word)) {
            path_.push_back(command);
        } else if (path_.back()->runs_program && given_.size() == path_.back()->operands.size()) {
            program_at_ = at;
        } else {
            given_.push_back(word);
        }
    }

    /// Takes the last word, which may be incomplete, and returns what it may be.
    Wanted finish(const std::string& word, std::size_t at) {
        const Command& command = *path_.back();
        Wanted wanted{.operand = {},
                      .before = {},
                      .prefix = word,
                      .given = given_,
                      .fabric = fabric_,
                      .names_of = nullptr,
                      .options = {},
                      .program_at = program_at_};
        if (program_at_) {
            return wanted;
        }
        if (value_of_ != nullptr) {
            wanted.operand = value_of_->operand;
        } else if (word.starts_with("--") && word.find('=') != std::string::npos) {
            const Option* const option = find_option(path_, name_part(word));
            wanted.operand = option == nullptr ? "" : option->operand;
            wanted.before = std::string(name_part(word)) + "=";
            wanted.prefix = word.substr(wanted.before.size());
        } else if (word.starts_with('-')) {
            for (const Command* const each : path_) {
                for (const Option& option : each->options) {
                    wanted.options.push_back(&option);
                }
            }
        } else if (names_one_of(command, word)) {
            wanted.names_of = &command;
        } else if (given_.size() < command.operands.size()) {
            wanted.operand = command.operands[given_.size()];
        } else if (command.last_repeats) {
            wanted.operand = command.operands.back();
        } else if (command.runs_program) {
            wanted.program_at = at;
        }
        return wanted;
    }

  private:
    void take_option(const std::string& word) {
        const Option* const option = find_option(path_, name_part(word));
        if (option == nullptr || option->operand.empty()) {
            return;
        }
        if (const std::size_t equals = word.find('='); equals != std::string::npos) {
            note(*option, word.substr(equals + 1));
        } else {
            value_of_ = option;
        }
    }
    void note(const Option& option, const std::string& value) {
        if (is_fabric_choice(option)) {
            fabric_ = value;
        }
    }

    Path path_;
    std::vector<std::string> given_;
    std::optional<std::string> fabric_;
    std::optional<std::size_t> program_at_;
    const Option* value_of_ = nullptr;  ///< The option whose value comes next.
};

}  // namespace

Wanted find_wanted(const Command& program, std::span<const std::string> words) {
    Reader reader(program);
    if (words.empty()) {
        return reader.finish("", 0);
    }
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        reader.take(words[i], i);
    }
    return reader.finish(words.back(), words.size() - 1);
}

}  // namespace softib::app::complete
