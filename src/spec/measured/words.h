// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Words and numbers of lines of logs.

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace softib::spec {

constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t';
}
constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

inline std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < line.size();) {
        if (is_blank(line[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < line.size() && !is_blank(line[end])) {
            ++end;
        }
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

/// Returns the whole number that a word is; std::nullopt if it is none.
inline std::optional<std::uint64_t> whole_number(std::string_view word) {
    std::uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [at, fault] = std::from_chars(word.data(), end, value);
    return fault == std::errc() && at == end && !word.empty() ? std::optional(value) : std::nullopt;
}

/// Returns the number, finite and not negative, that a word is; std::nullopt if it is none.
inline std::optional<double> decimal(std::string_view word) {
    double value = 0;
    const char* const end = word.data() + word.size();
    const auto [at, fault] = std::from_chars(word.data(), end, value);
    const bool good =
        fault == std::errc() && at == end && !word.empty() && std::isfinite(value) && value >= 0;
    return good ? std::optional(value) : std::nullopt;
}

/// Returns the first whole number in a text; std::nullopt if there is none.
inline std::optional<std::uint64_t> number_after(std::string_view text, std::string_view words) {
    const std::size_t at = text.find(words);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(at + words.size());
    while (!text.empty() && !is_digit(text.front())) {
        text.remove_prefix(1);
    }
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length])) {
        ++length;
    }
    return whole_number(text.substr(0, length));
}

}  // namespace softib::spec
