// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

namespace softib::app {

/// JSON for a reader. Names of files and programs may be any bytes; what is no UTF-8 is replaced.
inline std::string json_text(const nlohmann::ordered_json& value) {
    return value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// The same on one line, for a reader that takes a value per line.
inline std::string json_line(const nlohmann::ordered_json& value) {
    return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Prints a line of JSON to standard error, for a command whose standard output is that of a
/// program which it runs. If it cannot be written, the exit status is still the program's.
inline void report_line(const nlohmann::ordered_json& value) {
    std::fflush(stdout);
    std::fputs(json_line(value).c_str(), stderr);
}

}  // namespace softib::app
