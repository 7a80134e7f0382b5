// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// JSON for what telemetry knows, and a reader for JSON that clients send.

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "telemetry/events.h"
#include "telemetry/health.h"
#include "view/json.h"

namespace softib::server {

using Json = nlohmann::ordered_json;

inline constexpr int kJsonDepthMax = 16;

/// Returns JSON as text. Bytes that are no UTF-8 (a NodeDescription may have any) become U+FFFD.
std::string to_text(const Json& json);

/// Reads JSON that a client sent. Returns std::nullopt if it is no JSON, or is nested deeper than
/// kJsonDepthMax.
std::optional<Json> parse_json(std::string_view text);
/// Returns a field that an object in a JSON text has twice; empty if there is none.
std::string repeated_field(std::string_view text);

Json to_json(const telemetry::Event& event);
using view::to_json;  // For checks.

}  // namespace softib::server
