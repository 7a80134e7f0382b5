// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// JSON of traces: members that may be missing or of another kind.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "spec/trace/trace_file.h"

namespace softib::spec {

using TraceJson = nlohmann::json;

/// The error has the file and the byte.
std::expected<TraceJson, std::string> parse_trace_json(const TraceText& file);

/// The first of these members that is there; null if none is.
const TraceJson& member(const TraceJson& object, std::initializer_list<const char*> names);
/// Numbers, also as text, and booleans; std::nullopt for anything else, and below 0.
std::optional<double> number_in(const TraceJson& value);
std::optional<std::uint64_t> whole_in(const TraceJson& value);
std::string text_in(const TraceJson& value);
/// Whole numbers of a list, or of a text like "[0, 1]"; what is none ends it.
std::vector<std::uint64_t> wholes_in(const TraceJson& value);

}  // namespace softib::spec
