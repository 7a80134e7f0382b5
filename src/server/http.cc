// SPDX-License-Identifier: BSD-2-Clause
#include "server/http.h"

#include <charconv>

#include "server/json.h"

namespace softib::server {

Response Response::error(int status, std::string_view sentence) {
    return {
        .status = status, .type = "application/json", .body = to_text(Json{{"error", sentence}})};
}

std::vector<std::string_view> split_path(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (end != 0) {
            parts.push_back(path.substr(0, end));
        }
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t fallback,
                                       std::uint64_t most) {
    if (text.empty()) {
        return fallback;
    }
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || rest != text.data() + text.size() || number > most) {
        return std::nullopt;
    }
    return number;
}

}  // namespace softib::server
