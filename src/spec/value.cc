// SPDX-License-Identifier: BSD-2-Clause
#include "spec/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

namespace softib::spec {

std::string shown(const Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return std::to_string(*number);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
        return fmt::format("\"{}\"", *text);
    }
    if (const auto* flag = std::get_if<bool>(&value)) {
        return *flag ? "true" : "false";
    }
    return fmt::format("[{}]", fmt::join(std::get<Numbers>(value), ", "));
}

std::unexpected<std::string> refuse(std::string_view wanted, const Value& value) {
    return std::unexpected(fmt::format("must be {}, not {}", wanted, shown(value)));
}

std::expected<std::int64_t, std::string> take_number(const Value& value, std::int64_t least,
                                                     std::int64_t most) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < least || *number > most) {
        return refuse(fmt::format("a whole number from {} to {}", least, most), value);
    }
    return *number;
}

std::expected<std::string, std::string> take_text(const Value& value, std::string_view wanted) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
        return refuse(wanted, value);
    }
    return *text;
}

std::expected<std::string, std::string> take_some_text(const Value& value,
                                                       std::string_view wanted) {
    auto text = take_text(value, wanted);
    if (text && text->empty()) {
        return refuse(wanted, value);
    }
    return text;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

std::optional<Numbers> parse_numbers(std::string_view text) {
    Numbers numbers;
    while (true) {
        const std::size_t cut = text.find('x');
        const auto number = parse_number(text.substr(0, cut));
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
        if (cut == std::string_view::npos) {
            return numbers;
        }
        text.remove_prefix(cut + 1);
    }
}

std::expected<std::uint64_t, std::string> parse_bytes(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    constexpr std::string_view kUnits = "KMGT";
    unsigned shift = 0;
    if (!unit.empty()) {
        const std::size_t at = kUnits.find(static_cast<char>(unit.front() & ~0x20));
        const std::string_view rest = unit.substr(1);
        if (at == std::string_view::npos || !(rest.empty() || rest == "iB" || rest == "B")) {
            return std::unexpected(fmt::format("'{}' is no size; write it as 512M or 4G", text));
        }
        shift = static_cast<unsigned>(10 * (at + 1));
    }
    if (error != std::errc{} || number > std::numeric_limits<std::uint64_t>::max() >> shift) {
        return std::unexpected(fmt::format("'{}' is no size; write it as 512M or 4G", text));
    }
    return number << shift;
}

}  // namespace softib::spec
