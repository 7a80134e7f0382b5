// SPDX-License-Identifier: BSD-2-Clause
#include "spec/scenario/toml_file.h"

#include <fmt/format.h>

#include "spec/text_file.h"

namespace softib::spec {

std::expected<std::string, std::string> read_text(const std::string& file) {
    return read_file(file);
}

std::expected<toml::table, std::string> parse_toml(std::string_view text, const std::string& file) {
    try {
        return toml::parse(text, file);
    } catch (const toml::parse_error& error) {
        return std::unexpected(
            fmt::format("{}: {}", place(file, error.source()), error.description()));
    }
}

std::string place(const std::string& file, const toml::source_region& region) {
    return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

std::optional<std::string> text_of(const toml::node& node) {
    if (const auto* text = node.as_string()) {
        return text->get();
    }
    if (const auto* number = node.as_integer()) {
        return std::to_string(number->get());
    }
    if (const auto* number = node.as_floating_point()) {
        return fmt::format("{}", number->get());
    }
    if (const auto* on = node.as_boolean()) {
        return on->get() ? "true" : "false";
    }
    if (const auto* list = node.as_array()) {
        std::string text;
        for (const toml::node& each : *list) {
            const auto item = text_of(each);
            if (!item) {
                return std::nullopt;
            }
            text += (text.empty() ? "" : ",") + *item;
        }
        return text;
    }
    return std::nullopt;
}

}  // namespace softib::spec
