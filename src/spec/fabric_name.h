// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace softib::spec {

/// Checks that a fabric's name consists of 1 to 48 letters, digits, '.', '_' and '-', and does not
/// start with a dot or a hyphen. The error is a sentence for the user.
std::expected<void, std::string> check_fabric_name(std::string_view name);

}  // namespace softib::spec
