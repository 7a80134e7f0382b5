// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Names that a user may have meant.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace softib {

/// Returns the name that a misspelt one is next to, by at most three letters that are added,
/// missing or other ones; std::nullopt if none is so near.
std::optional<std::string_view> nearest_name(std::string_view misspelt,
                                             std::span<const std::string_view> names);

/// Returns "unknown key 'X'" (`what` is "key") with the nearest of the names, or with all of them.
std::string unknown_name(std::string_view what, std::string_view misspelt,
                         std::span<const std::string_view> names);

}  // namespace softib
