// SPDX-License-Identifier: BSD-2-Clause
#pragma once

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

}  // namespace softib::run
