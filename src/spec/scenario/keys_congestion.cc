// SPDX-License-Identifier: BSD-2-Clause
// The keys of congestion control on Ethernet, from the table of algorithms
// (core/link/congestion_algorithms.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <variant>

#include "core/link/congestion_algorithms.h"
#include "plan/units.h"
#include "spec/scenario/keys.h"

namespace softib::spec {

namespace {

using link::CongestionParameter;

std::vector<std::string_view> ethernet_algorithms() {
    std::vector<std::string_view> names;
    for (const link::CongestionAlgorithm& each : link::congestion_algorithms()) {
        if (!each.infiniband) {
            names.push_back(each.name);
        }
    }
    return names;
}

Result set_algorithm(Scenario& scenario, const std::string& text) {
    const link::CongestionAlgorithm* const found = link::find_congestion_algorithm(text);
    if (text != "off" && text != "false" && (found == nullptr || found->infiniband)) {
        return std::unexpected(fmt::format("must be one of {} or off, not \"{}\"",
                                           fmt::join(ethernet_algorithms(), ", "), text));
    }
    scenario.roce.hosts.algorithm = found;
    return {};
}

std::expected<double, std::string> parse_above_zero(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(number) || number <= 0) {
        return std::unexpected(fmt::format("must be a number above 0, not \"{}\"", text));
    }
    return number;
}

std::expected<double, std::string> parse_part_above_zero(const std::string& text) {
    const auto parsed = plan::parse_part(text);
    if (!parsed || *parsed <= 0) {
        return std::unexpected(
            fmt::format("must be a part above 0 as 0.001 or 0.1%, not \"{}\"", text));
    }
    return *parsed;
}

std::expected<std::uint64_t, std::string> parse_period(const std::string& text) {
    constexpr plan::TimePs kShortest = 100'000;
    constexpr plan::TimePs kLongest = 1'000'000'000'000;
    const auto parsed = plan::parse_time(text);
    if (!parsed || *parsed < kShortest || *parsed > kLongest) {
        return std::unexpected(
            fmt::format("must be a time from 100ns to 1s, as 55us, not \"{}\"", text));
    }
    return *parsed;
}

std::expected<std::uint64_t, std::string> parse_bytes(const std::string& text) {
    auto parsed = plan::parse_size(text);
    if (parsed && *parsed == 0) {
        return std::unexpected("must be at least one byte");
    }
    return parsed;
}

Result set_parameter(const CongestionParameter& parameter, link::CongestionRules& rules,
                     const std::string& text) {
    using Kind = CongestionParameter::Kind;
    const auto store = [&](auto& field, const auto& parsed) -> Result {
        if (!parsed) {
            return std::unexpected(parsed.error());
        }
        field = *parsed;
        return {};
    };
    if (const auto* const number =
            std::get_if<double& (*)(link::CongestionRules&)>(&parameter.field)) {
        return store((*number)(rules), parameter.kind == Kind::kPart ? parse_part_above_zero(text)
                                                                     : parse_above_zero(text));
    }
    return store(std::get<std::uint64_t& (*)(link::CongestionRules&)>(parameter.field)(rules),
                 parameter.kind == Kind::kTime ? parse_period(text) : parse_bytes(text));
}

/// Returns whether the parameters of an algorithm act: it is the one chosen, and hears of marks if
/// it needs them.
template <std::size_t kAt>
bool is_chosen(const Scenario& scenario, const TrafficWish*) {
    const link::CongestionAlgorithm& algorithm = link::congestion_algorithms()[kAt];
    return scenario.roce.hosts.algorithm == &algorithm &&
           (algorithm.notification_gap == nullptr || scenario.roce.links.ecn.high_blocks != 0);
}

/// is_chosen() by the number of the algorithm.
constexpr std::size_t kAlgorithmsMax = 16;
constexpr auto kIsChosen = []<std::size_t... kAt>(std::index_sequence<kAt...>) {
    return std::array{&is_chosen<kAt>...};
}(std::make_index_sequence<kAlgorithmsMax>{});

std::string_view operand_of(CongestionParameter::Kind kind) {
    using Kind = CongestionParameter::Kind;
    return kind == Kind::kTime   ? "TIME"
           : kind == Kind::kSize ? "SIZE"
           : kind == Kind::kPart ? "PART"
                                 : "N";
}

/// Returns a text that lives as long as the program, as those of keys do.
std::string_view keep(std::string text) {
    static std::vector<std::unique_ptr<const std::string>> texts;
    return *texts.emplace_back(std::make_unique<const std::string>(std::move(text)));
}

}  // namespace

std::vector<ScenarioRule> congestion_rules() {
    constexpr auto kHosts = ScenarioKey::Section::kHosts;
    std::vector<ScenarioRule> rules{
        {{kHosts, "cc", keep(fmt::format("{}|off", fmt::join(ethernet_algorithms(), "|"))),
          "ethernet: by which algorithm senders slow down", "dcqcn"},
         set_algorithm,
         kEthernet}};
    const std::span<const link::CongestionAlgorithm> algorithms = link::congestion_algorithms();
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
        Serves serves = kEthernet;
        serves.acts = kIsChosen[i];
        serves.acts_with = keep(fmt::format(
            "cc = {}{}", algorithms[i].name,
            algorithms[i].notification_gap == nullptr ? "" : " and ecn that is not off"));
        for (const CongestionParameter& parameter : algorithms[i].parameters) {
            rules.push_back(
                {{kHosts, parameter.key, operand_of(parameter.kind),
                  keep(fmt::format("ethernet, {}: {}", algorithms[i].name, parameter.help)),
                  parameter.initial},
                 [&parameter](Scenario& scenario, const std::string& text) {
                     return set_parameter(parameter, scenario.roce.hosts.congestion, text);
                 },
                 serves});
        }
    }
    return rules;
}

}  // namespace softib::spec
