// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads TOML files, for scenarios, sweeps, clusters and models.

#include <toml++/toml.h>

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace softib::spec {

/// Returns the text of a whole file.
std::expected<std::string, std::string> read_text(const std::string& file);
std::expected<toml::table, std::string> parse_toml(std::string_view text, const std::string& file);
/// Returns a place as errors begin with it: "lab.toml:3:1".
std::string place(const std::string& file, const toml::source_region& region);
/// Returns a value as the text that a flag would have; std::nullopt if there is no such text.
std::optional<std::string> text_of(const toml::node& node);

}  // namespace softib::spec
