// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads JSON of traces, in which members may be missing or of another type than expected.

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

/// Parses a file. The error names the file, and the byte that is wrong.
std::expected<TraceJson, std::string> parse_trace_json(const TraceText& file);

/// Returns the first of these members that the object has; JSON's null if it has none.
const TraceJson& member(const TraceJson& object, std::initializer_list<const char*> names);
/// Returns a number, also from a text or a boolean; std::nullopt for anything else and for negative
/// numbers.
std::optional<double> number_in(const TraceJson& value);
/// Returns what number_in() returns as a whole number; std::nullopt if it is too large.
std::optional<std::uint64_t> whole_in(const TraceJson& value);
/// Returns a text, or a whole number as text; empty for anything else.
std::string text_in(const TraceJson& value);
/// Returns the whole numbers of a list, or of a text like "[0, 1]", up to the first element that is
/// not one.
std::vector<std::uint64_t> wholes_in(const TraceJson& value);

}  // namespace softib::spec
