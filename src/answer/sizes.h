// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Lists of sizes and of names, as options of `softib plan` have them.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace softib::answer {

/// Returns the parts of a text between the characters `by`; "a,b" has two.
std::vector<std::string> split_list(const std::string& text, char by);

/// Reads "FROM:TO", by powers of two, or a list of sizes. The error begins with "--sizes".
std::expected<std::vector<std::uint64_t>, std::string> read_sizes(const std::string& text);

}  // namespace softib::answer
