// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What readers of TOML share. For the files that include toml++: it is slow to compile.

#include <fmt/format.h>
#include <toml++/toml.h>

#include <optional>
#include <string>

namespace softib::spec {

/// "lab.toml:3:1".
inline std::string place(const std::string& file, const toml::source_region& region) {
    return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

/// A value as a flag would give it; std::nullopt if no flag could.
inline std::optional<std::string> text_of(const toml::node& node) {
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
