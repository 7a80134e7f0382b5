// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trace/json_reader.h"

#include <fmt/format.h>

#include <charconv>

namespace softib::spec {

std::expected<TraceJson, std::string> parse_trace_json(const TraceText& file) {
    // Traces are not nested deeply, and each level takes stack when a value is destroyed.
    constexpr int kDepthMost = 100;
    bool deep = false;
    const TraceJson::parser_callback_t watch = [&deep](int depth, TraceJson::parse_event_t,
                                                       TraceJson&) {
        deep = deep || depth > kDepthMost;
        return !deep;
    };
    try {
        TraceJson json = TraceJson::parse(file.text, watch);
        if (deep) {
            return std::unexpected(
                fmt::format("{}: values are nested more than {} deep", file.file, kDepthMost));
        }
        return json;
    } catch (const TraceJson::parse_error& error) {
        return std::unexpected(fmt::format("{}: byte {}: this is no JSON", file.file, error.byte));
    } catch (const TraceJson::exception&) {
        return std::unexpected(
            fmt::format("{}: a number does not fit 64 bits or a double", file.file));
    }
}

const TraceJson& member(const TraceJson& object, std::initializer_list<const char*> names) {
    static const TraceJson kNull;
    if (!object.is_object()) {
        return kNull;
    }
    for (const char* const name : names) {
        if (const auto found = object.find(name); found != object.end()) {
            return *found;
        }
    }
    return kNull;
}

std::optional<double> number_in(const TraceJson& value) {
    if (value.is_boolean()) {
        return value.get<bool>() ? 1 : 0;
    }
    double number = -1;
    if (value.is_number()) {
        number = value.get<double>();
    } else if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (bad != std::errc() || end != text.data() + text.size()) {
            return std::nullopt;
        }
    }
    return number >= 0 && number < 1e300 ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> whole_in(const TraceJson& value) {
    if (value.is_number_unsigned()) {
        return value.get<std::uint64_t>();
    }
    const auto number = number_in(value);
    constexpr double kMost = 9e18;
    return number && *number < kMost ? std::optional(static_cast<std::uint64_t>(*number))
                                     : std::nullopt;
}

std::string text_in(const TraceJson& value) {
    return value.is_string()            ? value.get<std::string>()
           : value.is_number_unsigned() ? std::to_string(value.get<std::uint64_t>())
                                        : "";
}

std::vector<std::uint64_t> wholes_in(const TraceJson& value) {
    std::vector<std::uint64_t> numbers;
    if (value.is_array()) {
        for (const TraceJson& each : value) {
            const auto number = whole_in(each);
            if (!number) {
                break;
            }
            numbers.push_back(*number);
        }
    } else if (value.is_string()) {
        std::string_view text = value.get_ref<const std::string&>();
        for (;;) {
            text.remove_prefix(std::min(text.find_first_not_of("[, "), text.size()));
            std::uint64_t number = 0;
            const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
            if (bad != std::errc()) {
                break;
            }
            numbers.push_back(number);
            text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        }
    }
    return numbers;
}

}  // namespace softib::spec
