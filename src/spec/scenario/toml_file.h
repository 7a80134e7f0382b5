// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Files of TOML, for those that read scenarios and sweeps.

#include <toml++/toml.h>

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace softib::spec {

/// The whole file.
std::expected<std::string, std::string> read_text(const std::string& file);
std::expected<toml::table, std::string> parse_toml(std::string_view text, const std::string& file);
/// "lab.toml:3:1", as errors begin.
std::string place(const std::string& file, const toml::source_region& region);
/// A value as a flag would give it; nothing if no flag could.
std::optional<std::string> text_of(const toml::node& node);

}  // namespace softib::spec
