// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds what is wrong with a command line before any of it acts: the first word, in the order
// typed, that has no place in it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli/complete.h"

namespace softib::app::complete {

/// The words behind a "--"; std::nullopt if there is none.
using Behind = std::optional<std::vector<std::string>>;

/// Returns what is wrong with the first word that has no place: an option, a command or an operand
/// that does not exist, with the nearest that does; an option without its value, also if the next
/// word is another option of the command; a flag with a value; a "--" behind a command that runs no
/// other program. Empty if all words have a place, or if one of them asks for help. Values are not
/// looked at. The words are those behind "softib", up to a "--".
std::string find_stray_word(const Command& program, std::span<const std::string> words,
                            const Behind& behind = {});

}  // namespace softib::app::complete
