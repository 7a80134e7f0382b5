// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace softib::answer {

/// Returns JSON on several lines, for people. Bytes that are no UTF-8 (names of files and programs
/// may have any) become U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& value) {
    return value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace softib::answer
