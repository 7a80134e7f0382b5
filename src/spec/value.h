// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A value that a user gave for a key, in a file or by a flag, before the rule of the key has
// checked it.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace softib::spec {

using Numbers = std::vector<std::int64_t>;
using Value = std::variant<std::int64_t, std::string, Numbers, bool>;
using Result = std::expected<void, std::string>;

/// Returns the value as an error message shows it.
std::string shown(const Value& value);

/// Returns the error "must be WANTED, not VALUE".
std::unexpected<std::string> refuse(std::string_view wanted, const Value& value);

/// Returns an error that suggests the nearest of the known names, or lists all of them.
std::string unknown_among(std::string_view name, const std::vector<std::string_view>& names);

/// Returns the number, if the value is one from `least` to `most`.
std::expected<std::int64_t, std::string> take_number(const Value& value, std::int64_t least,
                                                     std::int64_t most);

/// Returns the text, if the value is one; `wanted` tells in the error what it should have been.
std::expected<std::string, std::string> take_text(const Value& value, std::string_view wanted);
/// Returns the text as take_text does, but refuses an empty one too.
std::expected<std::string, std::string> take_some_text(const Value& value, std::string_view wanted);

/// Returns std::nullopt if the text is no whole number.
std::optional<std::int64_t> parse_number(std::string_view text);
/// Parses "4x4x2".
std::optional<Numbers> parse_numbers(std::string_view text);
/// Parses "4G", "512MiB", "65536".
std::expected<std::uint64_t, std::string> parse_bytes(std::string_view text);

}  // namespace softib::spec
