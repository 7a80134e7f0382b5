// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/stray_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/nearest.h"

namespace softib::app::complete {
namespace {

bool has_name(const Option& option, std::string_view name) {
    return std::ranges::find(option.names, name) != option.names.end();
}

std::string meant(std::string_view misspelt, const std::vector<std::string_view>& names) {
    const std::size_t dashes = std::min(misspelt.find_first_not_of('-'), misspelt.size());
    std::vector<std::string_view> bare;  // Dashes are not misspelt, and count as no letters.
    std::ranges::transform(names, std::back_inserter(bare),
                           [&](std::string_view name) { return name.substr(dashes); });
    const auto near = nearest_name(misspelt.substr(dashes), bare);
    return near ? fmt::format(" (did you mean {}{}?)", misspelt.substr(0, dashes), *near) : "";
}

/// Follows a command line word by word until one has no place.
class Walk {
  public:
    explicit Walk(const Command& program) : path_{&program} {}

    std::string follow(std::span<const std::string> words, const Behind& behind) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string& word = words[i];
            const bool is_last = i + 1 == words.size();
            if (word.size() < 2 || !word.starts_with('-')) {
                if (!take_word(word)) {
                    return wrong_;
                }
                continue;
            }
            const Option* const option = take_option(word, is_last ? nullptr : &words[i + 1]);
            if (option == nullptr) {
                return wrong_;
            }
            i += takes_next_ ? 1 : 0;
        }
        if (command().needs_command) {
            return say("{} needs {}: {}", full_name(),
                       path_.size() == 1 ? "a command" : "an action", actions());
        }
        return behind && !command().runs_program
                   ? say("{} runs no other program: '--{}{}' has no place", full_name(),
                         behind->empty() ? "" : " ", behind->empty() ? "" : behind->front())
                   : "";
    }

  private:
    const Command& command() const { return *path_.back(); }

    std::string full_name() const {
        std::string name;
        for (const Command* const each : path_) {
            name += (name.empty() ? "" : " ") + each->name;
        }
        return name;
    }

    std::string actions() const {
        std::vector<std::string_view> names;
        std::ranges::transform(command().commands, std::back_inserter(names), &Command::name);
        return fmt::format("{}", fmt::join(names, ", "));
    }

    template <class... Args>
    std::string say(fmt::format_string<Args...> format, Args&&... args) const {
        const bool is_program = path_.size() == 1;
        return fmt::format("{}; see: {} {}", fmt::format(format, std::forward<Args>(args)...),
                           full_name(), is_program ? "help" : "--help");
    }

    /// Returns the commands whose options may be given here, the innermost first.
    std::vector<const Command*> heard() const {
        std::vector<const Command*> all;
        for (auto each = path_.rbegin(); each != path_.rend(); ++each) {
            all.push_back(*each);
            if (!(*each)->inherits) {
                break;
            }
        }
        return all;
    }

    const Option* find(std::string_view name) const {
        for (const Command* const each : heard()) {
            const auto found = std::ranges::find_if(
                each->options, [&](const Option& option) { return has_name(option, name); });
            if (found != each->options.end()) {
                return &*found;
            }
        }
        return nullptr;
    }

    std::vector<std::string_view> long_names() const {
        std::vector<std::string_view> names;
        for (const Command* const each : heard()) {
            for (const Option& option : each->options) {
                std::ranges::copy_if(option.names, std::back_inserter(names),
                                     [](std::string_view name) { return name.size() > 2; });
            }
        }
        return names;
    }

    /// Takes a word that is no option. Returns false if it is one too many, or no command.
    bool take_word(const std::string& word) {
        if (runs_program_) {
            return true;
        }
        const auto sub = std::ranges::find(command().commands, word, &Command::name);
        if (sub != command().commands.end()) {
            path_.push_back(&*sub);
            given_ = 0;
            return true;
        }
        const std::size_t places = command().operands.size();
        if (given_ < places || command().last_repeats) {
            ++given_;
            return true;
        }
        if (command().runs_program) {
            runs_program_ = true;
            return true;
        }
        if (!command().commands.empty()) {
            std::vector<std::string_view> names;
            std::ranges::transform(command().commands, std::back_inserter(names), &Command::name);
            wrong_ = say("{} has no '{}'{}", full_name(), word, meant(word, names));
        } else if (places == 0) {
            wrong_ = say("{} takes no operand: '{}'", full_name(), word);
        } else {
            wrong_ = say("{} takes only {}: '{}' is one too many", full_name(),
                         fmt::join(command().operands, " "), word);
        }
        return false;
    }

    /// Takes an option, and the word behind it if that is its value. Returns nullptr if there is no
    /// such option or no value; an option all the same for the words of another program.
    const Option* take_option(const std::string& word, const std::string* next) {
        static const Option anything;
        takes_next_ = false;
        if (runs_program_) {
            return &anything;
        }
        if (word.starts_with("--")) {
            const std::size_t equals = word.find('=');
            const Option* const option = find(word.substr(0, equals));
            if (option == nullptr) {
                wrong_ = unknown(word.substr(0, equals));
                return nullptr;
            }
            if (equals == std::string::npos) {
                return with_value(*option, next);
            }
            if (option->operand.empty() || equals + 1 == word.size()) {
                wrong_ = option->operand.empty() ? say("{} takes no value: leave out '{}'",
                                                       word.substr(0, equals), word.substr(equals))
                                                 : say("{} needs {} behind the '='",
                                                       word.substr(0, equals), option->operand);
                return nullptr;
            }
            return option;
        }
        for (std::size_t i = 1; i < word.size(); ++i) {  // "-av" is "-a -v"; "-fNAME" is "-f NAME".
            const Option* const option = find(std::string{'-', word[i]});
            if (option == nullptr || (word.size() > 2 && find("-" + word) != nullptr)) {
                wrong_ = unknown(word);
                return nullptr;
            }
            if (i + 1 == word.size()) {
                return with_value(*option, next);
            }
            if (!option->operand.empty()) {
                return option;
            }
        }
        return &anything;
    }

    std::string unknown(const std::string& word) const {
        const bool one_dash = !word.starts_with("--");
        return say("{} has no option {}{}", full_name(), word,
                   meant(one_dash && word.size() > 2 ? "-" + word : word, long_names()));
    }

    const Option* with_value(const Option& option, const std::string* next) {
        takes_next_ = !option.operand.empty();
        if (!takes_next_) {
            return &option;
        }
        const std::string& name = option.names.back();
        if (next == nullptr) {
            wrong_ = say("{} needs {} behind it", name, option.operand);
            return nullptr;
        }
        if (next->starts_with('-') && next->size() > 1 &&
            find(next->substr(0, next->find('='))) != nullptr) {
            wrong_ = say("{} needs {} behind it, and {} is an option", name, option.operand, *next);
            return nullptr;
        }
        return &option;
    }

    std::vector<const Command*> path_;
    std::size_t given_ = 0;      ///< Operands of the innermost command.
    bool runs_program_ = false;  ///< What follows is the command line of another program.
    bool takes_next_ = false;    ///< The next word is the value of the option.
    std::string wrong_;
};

}  // namespace

std::string find_stray_word(const Command& program, std::span<const std::string> words,
                            const Behind& behind) {
    const auto asks_for_help = [](const std::string& word) {
        return word == "--help" || word == "-h";
    };
    if (std::ranges::any_of(words, asks_for_help) ||
        (!words.empty() && words.front() == "--version")) {
        return "";
    }
    return Walk(program).follow(words, behind);
}

}  // namespace softib::app::complete
