// SPDX-License-Identifier: BSD-2-Clause
#include "spec/fabric_name.h"

#include <fmt/format.h>

namespace softib::spec {

namespace {

constexpr std::size_t kFabricNameMax = 48;

}  // namespace

std::expected<void, std::string> check_fabric_name(std::string_view name) {
    constexpr std::string_view kAllowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (name.empty() || name.size() > kFabricNameMax || name.starts_with('.') ||
        name.starts_with('-') || name.find_first_not_of(kAllowed) != std::string_view::npos) {
        return std::unexpected(
            fmt::format("'{}' is no fabric name; use 1 to {} letters, digits, '.', '_' or '-', "
                        "starting with a letter, digit or '_'",
                        name, kFabricNameMax));
    }
    return {};
}

}  // namespace softib::spec
