// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/rules.h"

#include <gtest/gtest.h>

namespace softib::telemetry {
namespace {

std::string refusal(std::string_view text) {
    const auto rules = parse_rules(text, "r.toml");
    return rules ? "none" : rules.error();
}

TEST(Rules, AFileOfRulesIsRead) {
    const auto rules = parse_rules(
        "[[rule]]\nname = 'hot'\nquantity = 'load'\nabove = 0.9\nfor = 5\nseverity = 'critical'\n"
        "[[rule]]\nname = 'slow'\nquantity = 'speed_share'\nbelow = 0.5\n",
        "r.toml");
    ASSERT_TRUE(rules) << rules.error();
    ASSERT_EQ(rules->size(), 2U);
    EXPECT_EQ((*rules)[0].seconds, 5U);
    EXPECT_EQ((*rules)[0].severity, Severity::kCritical);
    EXPECT_TRUE((*rules)[1].is_below);
}

TEST(Rules, ARefusalNamesPlaceAndRemedy) {
    EXPECT_EQ(refusal("[[rule]]\nname = 'a'\nquantity = 'x'\nabove = 1\n")
                  .find("r.toml:3:12: no quantity 'x'; there are load, errors"),
              0U);
    EXPECT_NE(refusal("[[rule]]\nname='a'\nquantity='load'\n").find("'above' or 'below'"),
              std::string::npos);
    EXPECT_NE(refusal("[[rule]]\nname='a'\nquantity='load'\nabove=-1\n").find("0 or more"),
              std::string::npos);
    EXPECT_NE(refusal("[[rule]]\nname='a'\nquantity='load'\nabove=1\nfor=0\n").find("1 to 86400"),
              std::string::npos);
    EXPECT_NE(refusal("[[rule]]\nname='a'\nquantity='load'\nabove=1\nfort=3\n").find("'fort'"),
              std::string::npos);
    EXPECT_NE(refusal("rule = 3\n").find("[[rule]]"), std::string::npos);
    const std::string rule = "[[rule]]\nname='a'\nquantity='load'\nabove=1\n";
    EXPECT_EQ(refusal(rule + rule).find("r.toml:5:1: there is a rule 'a' already"), 0U);
    EXPECT_EQ(refusal("[[rule\n").find("r.toml:1:"), 0U);
}

TEST(Rules, BuiltInRulesHaveQuantitiesThatExist) {
    for (const Rule& rule : built_in_rules()) {
        EXPECT_TRUE(rule.counter != SIZE_MAX ||
                    std::ranges::find(kOwnQuantities, rule.quantity) != kOwnQuantities.end())
            << rule.name;
    }
}

}  // namespace
}  // namespace softib::telemetry
