// SPDX-License-Identifier: BSD-2-Clause
// The table of all keys: finds them by name, suggests a name for an unknown one, and sets them from
// flags.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "core/base/nearest.h"
#include "spec/key_rule.h"

namespace softib::spec {

const std::vector<KeyRule>& key_rules() {
    static const std::vector<KeyRule> all = [] {
        std::vector<KeyRule> rules;
        for (const auto group : {name_keys(), shape_keys(), runtime_keys(), manager_keys()}) {
            rules.insert(rules.end(), group.begin(), group.end());
        }
        return rules;
    }();
    return all;
}

const KeyRule* find_rule(std::string_view name) {
    std::string wanted(name);
    std::ranges::replace(wanted, '-', '_');
    const auto found = std::ranges::find_if(
        key_rules(), [&](const KeyRule& rule) { return rule.key.name == wanted; });
    return found == key_rules().end() ? nullptr : &*found;
}

std::string unknown_among(std::string_view name, const std::vector<std::string_view>& names) {
    return unknown_name("key", name, names);
}

std::string unknown_key(std::string_view name) {
    std::vector<std::string_view> names;
    std::ranges::transform(key_rules(), std::back_inserter(names),
                           [](const KeyRule& rule) { return rule.key.name; });
    return unknown_name("key", name, names);
}

std::string unknown_manager_key(std::string_view name) {
    std::vector<std::string_view> names;
    for (const KeyRule& rule : key_rules()) {
        if (rule.about == About::kManager) {
            names.push_back(rule.key.name);
        }
    }
    return fmt::format("'{}' is no key of the subnet manager; they are {}", name,
                       fmt::join(names, ", "));
}

const std::vector<ConfigKey>& config_keys() {
    static const std::vector<ConfigKey> keys = [] {
        std::vector<ConfigKey> all;
        for (const KeyRule& rule : key_rules()) {
            all.push_back(rule.key);
        }
        return all;
    }();
    return keys;
}

std::string flag_name(std::string_view key) {
    std::string flag = fmt::format("--{}", key);
    std::ranges::replace(flag, '_', '-');
    return flag;
}

Result apply_flag(std::string_view key, const std::string& text, Description& description) {
    const KeyRule* const rule = find_rule(key);
    if (rule == nullptr) {
        return std::unexpected(unknown_key(key));
    }
    Value value = text;
    if (rule->form == Form::kNumber) {
        if (const auto number = parse_number(text)) {
            value = *number;
        }
    } else if (rule->form == Form::kSwitch && (text == "true" || text == "false")) {
        value = text == "true";
    }
    if (const auto set = rule->set(description, value); !set) {
        return std::unexpected(fmt::format("{} {}", flag_name(rule->key.name), set.error()));
    }
    description.origins.insert_or_assign(std::string(rule->key.name), flag_name(rule->key.name));
    return {};
}

}  // namespace softib::spec
