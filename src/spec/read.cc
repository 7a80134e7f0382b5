// SPDX-License-Identifier: BSD-2-Clause
// Reads a description from TOML.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <functional>
#include <map>
#include <optional>

#include "spec/key_rule.h"

namespace softib::spec {

namespace {

std::string position(const std::string& file, const toml::source_region& region) {
    return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

std::optional<Value> to_value(const toml::node& node) {
    if (const auto number = node.value_exact<std::int64_t>()) {
        return *number;
    }
    if (const auto text = node.value_exact<std::string>()) {
        return *text;
    }
    if (const auto on = node.value_exact<bool>()) {
        return *on;
    }
    const toml::array* const array = node.as_array();
    if (array == nullptr) {
        return std::nullopt;
    }
    Numbers numbers;
    for (const toml::node& element : *array) {
        const auto number = element.value_exact<std::int64_t>();
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
    }
    return numbers;
}

const char* type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "an array";
        case toml::node_type::floating_point:
            return "a floating-point number";
        case toml::node_type::boolean:
            return "true or false";
        default:
            return "a date or time";
    }
}

/// Returns the error for a value of a type that no key takes. It says what this key takes, which is
/// found by giving it an empty list.
std::string wrong_type(const KeyRule& rule, const toml::node& node) {
    Description scratch;
    const auto result = rule.set(scratch, Numbers{});
    std::string wish = result ? "something else" : result.error();
    wish = wish.substr(0, wish.rfind(", not "));
    return fmt::format("'{}' {}, not {}", rule.key.name, wish, type_name(node));
}

/// The keys that a file has, with their places.
using Seen = std::map<std::string, std::string, std::less<>>;

/// Sets one key of a file; `in_section`: it stands below [sm].
Result take_entry(const toml::key& key, const toml::node& node, const std::string& file,
                  bool in_section, Seen& seen, Description& description) {
    const KeyRule* const rule = find_rule(key.str());
    const bool known = rule != nullptr && (!in_section || rule->about == About::kManager);
    if (!known) {
        return std::unexpected(
            fmt::format("{}: {}", position(file, key.source()),
                        in_section ? unknown_manager_key(key.str()) : unknown_key(key.str())));
    }
    const std::string where = position(file, node.source());
    if (const auto [before, is_new] = seen.emplace(rule->key.name, where); !is_new) {
        return std::unexpected(fmt::format("{}: '{}' is there twice, also at {}", where,
                                           rule->key.name, before->second));
    }
    const auto value = to_value(node);
    if (!value) {
        return std::unexpected(fmt::format("{}: {}", where, wrong_type(*rule, node)));
    }
    if (const auto set = rule->set(description, *value); !set) {
        return std::unexpected(fmt::format("{}: '{}' {}", where, rule->key.name, set.error()));
    }
    description.origins.insert_or_assign(std::string(rule->key.name), where);
    return {};
}

}  // namespace

Result parse_description(std::string_view text, const std::string& file, Description& description) {
    toml::table table;
    try {
        table = toml::parse(text, file);
    } catch (const toml::parse_error& error) {
        return std::unexpected(
            fmt::format("{}: {}", position(file, error.source()), error.description()));
    }
    Seen seen;
    for (auto&& [key, node] : table) {
        if (const toml::table* const section = key == "sm" ? node.as_table() : nullptr) {
            for (auto&& [inner, value] : *section) {
                if (auto taken = take_entry(inner, value, file, true, seen, description); !taken) {
                    return taken;
                }
            }
            continue;
        }
        if (auto taken = take_entry(key, node, file, false, seen, description); !taken) {
            return taken;
        }
    }
    return {};
}

}  // namespace softib::spec
