// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The rules by which the keys of a scenario are set. A setter takes the value as text. Its error is
// the rest of a sentence that begins with the key: "must be ...".

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/scenario/scenario.h"
#include "spec/scenario/serves.h"

namespace softib::spec {

struct ScenarioRule {
    ScenarioKey key;
    std::function<Result(Scenario&, const std::string&)> set;
    Serves serves;
};
struct TrafficRule {
    ScenarioKey key;
    Result (*set)(TrafficWish&, const std::string&);
    Serves serves;
};
struct FailRule {
    ScenarioKey key;  ///< Without an operand if it is no flag.
    Serves serves;
};

/// Where keys of Ethernet's switches and of adapters that speak RoCE act.
inline constexpr Serves kEthernet{
    .kinds = kOfMessages,
    .models = kPackets,
    .layers = {hca::LinkLayer::kEthernet},
    .instead =
        "add --link-layer ethernet (in a file: link_layer = \"ethernet\" in [fabric]), or "
        "--compare ib,roce"};

/// Returns the rule of this name, or nullptr.
template <typename Rule>
const Rule* find_in(const std::vector<Rule>& rules, std::string_view name) {
    const auto found =
        std::ranges::find_if(rules, [&](const Rule& rule) { return rule.key.name == name; });
    return found == rules.end() ? nullptr : &*found;
}

/// Returns the rules of all keys of the top, of [network] and of [hosts].
const std::vector<ScenarioRule>& scenario_rules();
/// Returns the scenario rules of Ethernet switches and of adapters that speak RoCE.
const std::vector<ScenarioRule>& roce_rules();
/// Returns the scenario rules of congestion control on Ethernet: the choice of the algorithm, and
/// the parameters of all algorithms.
std::vector<ScenarioRule> congestion_rules();
/// Sets the variants of a scenario from a text such as "ib,roce+ecmp=spray".
Result set_compare(Scenario& scenario, const std::string& text);
const std::vector<TrafficRule>& traffic_rules();

}  // namespace softib::spec
