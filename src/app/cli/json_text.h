// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

#include "answer/json_text.h"

namespace softib::app {

using answer::json_text;

/// Returns JSON on one line, for a reader that takes a value per line. Bytes that are no UTF-8
/// become U+FFFD.
inline std::string json_line(const nlohmann::ordered_json& value) {
    return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Prints a line of JSON to standard error, for a command that runs a program and leaves standard
/// output to it. A failure to write is ignored: the exit status stays the program's.
inline void report_line(const nlohmann::ordered_json& value) {
    std::fflush(stdout);
    std::fputs(json_line(value).c_str(), stderr);
}

}  // namespace softib::app
