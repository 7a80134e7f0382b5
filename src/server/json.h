// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// JSON of what telemetry knows, and JSON of strangers.

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "telemetry/events.h"
#include "telemetry/health.h"

namespace softib::server {

using Json = nlohmann::ordered_json;

inline constexpr int kJsonDepthMax = 16;

/// Writes JSON; bytes that are no UTF-8 (a NodeDescription may have any) become U+FFFD.
std::string to_text(const Json& json);

/// Reads what a client sent. Returns std::nullopt if it is no JSON, or nested too deeply.
std::optional<Json> parse_json(std::string_view text);

Json to_json(const telemetry::Event& event);
Json to_json(const std::vector<telemetry::Check>& checks);

}  // namespace softib::server
