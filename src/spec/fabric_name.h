// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace softib::spec {

/// A fabric's name has letters, digits, '.', '_' and '-', at most 48, and does not start with a dot
/// or a hyphen. The error is for the user.
std::expected<void, std::string> check_fabric_name(std::string_view name);

}  // namespace softib::spec
