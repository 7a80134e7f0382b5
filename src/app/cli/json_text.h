// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace softib::app {

/// JSON for a reader. Names of files and programs may be any bytes; what is no UTF-8 is replaced.
inline std::string json_text(const nlohmann::ordered_json& value) {
    return value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace softib::app
