// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How each key of a scenario is set. A setter takes the value as text and refuses what it cannot
// use with the rest of a sentence: "must be ...".

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "spec/scenario/scenario.h"

namespace softib::spec {

struct ScenarioRule {
    ScenarioKey key;
    Result (*set)(Scenario&, const std::string&);
};
struct TrafficRule {
    ScenarioKey key;
    Result (*set)(TrafficWish&, const std::string&);
};

/// The rule of this name, or nullptr.
template <typename Rule>
const Rule* find_in(const std::vector<Rule>& rules, std::string_view name) {
    const auto found =
        std::ranges::find_if(rules, [&](const Rule& rule) { return rule.key.name == name; });
    return found == rules.end() ? nullptr : &*found;
}

const std::vector<ScenarioRule>& scenario_rules();
const std::vector<TrafficRule>& traffic_rules();

}  // namespace softib::spec
