// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Suggestions for misspelt names: the names that a user may have meant.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace softib {

/// Returns the name with the smallest edit distance to `misspelt`, one that begins with it before
/// another; std::nullopt if more than three letters, or more than half of them, are added, missing
/// or replaced.
std::optional<std::string_view> nearest_name(std::string_view misspelt,
                                             std::span<const std::string_view> names);

/// Returns an error message, "unknown key 'X'" if `what` is "key", followed by the nearest of the
/// names, or by all of them if none is near.
std::string unknown_name(std::string_view what, std::string_view misspelt,
                         std::span<const std::string_view> names);

}  // namespace softib
