// SPDX-License-Identifier: BSD-2-Clause
// Variants of a scenario: several networks that carry the same traffic.
#include <fmt/format.h>

#include <algorithm>

#include "spec/scenario/keys.h"
#include "spec/scenario/scenario.h"

namespace softib::spec {

namespace {

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
        if (c == at) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

/// Returns the texts of the variants in a list. A part that does not begin as a variant belongs to
/// the value before it, which is a list itself: "ib,ib+qos+vlarb-low=0:64,1:192" has two variants.
std::vector<std::string> split_variants(const std::string& text) {
    const auto begins = [](const std::string& part) {
        const std::string network = part.substr(0, part.find('+'));
        return network == "ib" || network == "roce";
    };
    std::vector<std::string> variants;
    for (std::string& part : split(text, ',')) {
        if (!begins(part) && !variants.empty() && variants.back().find('=') != std::string::npos) {
            variants.back() += "," + part;
        } else {
            variants.push_back(std::move(part));
        }
    }
    return variants;
}

std::expected<Variant, std::string> parse_variant(const std::string& text) {
    const std::vector<std::string> words = split(text, '+');
    if (words.front() != "ib" && words.front() != "roce") {
        return std::unexpected(
            fmt::format("must be a list of ib and roce, each with keys behind it as "
                        "ib+adaptive,roce+ecmp=spray, not \"{}\"",
                        text));
    }
    Variant variant{.name = text,
                    .link_layer = words.front() == "ib" ? hca::LinkLayer::kInfiniBand
                                                        : hca::LinkLayer::kEthernet};
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        std::string key = words[i].substr(0, equals);
        std::ranges::replace(key, '-', '_');
        if (std::ranges::find(variant.keys, key, &std::pair<std::string, std::string>::first) !=
            variant.keys.end()) {
            return std::unexpected(fmt::format("must not have '{}' twice in \"{}\"", key, text));
        }
        variant.keys.emplace_back(
            std::move(key), equals == std::string::npos ? "true" : words[i].substr(equals + 1));
    }
    return variant;
}

}  // namespace

Result set_compare(Scenario& scenario, const std::string& text) {
    std::vector<Variant> variants;
    for (const std::string& word : split_variants(text)) {
        auto variant = parse_variant(word);
        if (!variant) {
            return std::unexpected(variant.error());
        }
        const auto same = std::ranges::find(variants, word, &Variant::name);
        if (same != variants.end()) {
            return std::unexpected(fmt::format("must not have \"{}\" twice", word));
        }
        variants.push_back(*std::move(variant));
    }
    scenario.compare = std::move(variants);
    return {};
}

std::expected<Scenario, std::string> choose_variant(const Scenario& scenario,
                                                    const Variant& variant) {
    Scenario chosen = scenario;
    chosen.compare.clear();
    chosen.fabric.link_layer = variant.link_layer;
    for (const auto& [key, value] : variant.keys) {
        const bool own = find_in(scenario_rules(), key) != nullptr && key != "compare";
        const Result set =
            own ? apply_scenario_flag(key, value, chosen) : apply_flag(key, value, chosen.fabric);
        if (!set) {
            return std::unexpected(fmt::format("--compare {}: {}", variant.name, set.error()));
        }
        if (own) {
            chosen.given.back().origin = "--compare " + variant.name;
        }
    }
    return chosen;
}

}  // namespace softib::spec
