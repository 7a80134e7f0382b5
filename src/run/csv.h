// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace softib::run {

/// Returns a cell of comma-separated values, in quotes if it needs them.
inline std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"\n") == text.npos) {
        return text;
    }
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' ? "\"\"" : std::string(1, c);
    }
    return out + "\"";
}

/// Returns a number as such a cell, which is empty if the number is unknown.
inline std::string csv_number(auto number) {
    return std::isnan(static_cast<double>(number)) ? "" : fmt::format("{}", number);
}

}  // namespace softib::run
