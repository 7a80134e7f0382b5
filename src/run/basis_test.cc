// SPDX-License-Identifier: BSD-2-Clause
#include "run/basis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "plan/validation.h"
#include "run/comparison.h"
#include "run/points.h"

namespace softib::run {
namespace {

/// Returns the basis of a scenario that is given as a file's text.
std::vector<std::string> basis_of_text(const std::string& text) {
    spec::Scenario scenario;
    spec::RunWish wish;
    const auto read = spec::parse_scenario(text, "a.toml", ".", scenario, wish);
    EXPECT_TRUE(read) << (read ? "" : read.error());
    const auto experiment = spec::prepare(scenario);
    EXPECT_TRUE(experiment) << (experiment ? "" : experiment.error());
    return basis_of(scenario, *experiment);
}

std::string scenario_text(const std::string& pattern, const std::string& more = {}) {
    const std::string shape = pattern == "group-shift" ? "dragonfly" : "single-switch";
    return more + "\n[fabric]\nhosts = 32\ntopology = \"" + shape + "\"\ngeneration = \"HDR\"\n" +
           "[[traffic]]\npattern = \"" + pattern + "\"\nsize = \"2MiB\"\n";
}

bool any_has(const std::vector<std::string>& sentences, std::string_view part) {
    return std::ranges::any_of(sentences,
                               [&](const std::string& each) { return each.contains(part); });
}

TEST(Basis, EveryRowThatItNamesIsOnTheValidationPage) {
    const std::vector<plan::ValidationRow> rows = plan::fabric_rows();
    for (const Measured& each : all_measured()) {
        std::istringstream ids(each.rows);
        for (std::string id; std::getline(ids >> std::ws, id, ',');) {
            EXPECT_NE(std::ranges::find(rows, id, &plan::ValidationRow::id), rows.end()) << id;
        }
    }
}

TEST(Basis, EveryPatternNamesItsNearestRowsOrSaysThatNoneValidatesIt) {
    for (const plan::Pattern pattern : plan::kAllPatterns) {
        if (pattern == plan::Pattern::kSharpAllReduce || pattern == plan::Pattern::kPairs) {
            continue;  // Below.
        }
        const std::string name = plan::to_string(pattern);
        const auto basis = basis_of_text(scenario_text(name));
        ASSERT_GE(basis.size(), 3U) << name;
        EXPECT_TRUE(basis[0].starts_with("model packet: ")) << basis[0];
        EXPECT_EQ(basis[1],
                  "assumed: 130 ns in a switch, 25 ns in a cable, 0 ps in an adapter, 0 ps of "
                  "software a message; nothing else uses the fabric");
        EXPECT_TRUE(basis[2].starts_with(name + ": ")) << basis[2];
        EXPECT_TRUE(basis[2].contains("nearest rows of docs/validation.md")) << basis[2];
    }
}

TEST(Basis, BeyondWhatWasMeasuredNothingIsValidated) {
    const auto within = basis_of_text(scenario_text("all-to-all"));
    EXPECT_EQ(within[2],
              "all-to-all: nearest rows of docs/validation.md: B20 (32 hosts of Leonardo, 2 MiB to "
              "each other, HDR)");
    std::string faster = scenario_text("all-to-all");
    faster.replace(faster.find("HDR"), 3, "XDR");
    EXPECT_TRUE(any_has(basis_of_text(faster), "beyond these are not validated"));
    EXPECT_TRUE(any_has(basis_of_text(scenario_text("permutation")),
                        "no published measurement validates it"));
    std::string ethernet = scenario_text("all-to-all");
    ethernet.insert(ethernet.find("hosts"), "link_layer = \"ethernet\"\n");
    const auto roce = basis_of_text(ethernet);
    EXPECT_TRUE(any_has(roce, "no published measurement validates RoCE"));
    EXPECT_FALSE(any_has(roce, "B20"));
    EXPECT_TRUE(any_has(basis_of_text(scenario_text("incast", "model = \"flow\"")),
                        "docs/flow-model.md has its errors"));
    EXPECT_TRUE(
        any_has(basis_of_text(scenario_text("incast", "[network]\ncongestion_control = true")),
                "no row of docs/validation.md has congestion control"));
}

TEST(Basis, AnAllReduceOfSwitchesHasRowsOfItsOwn) {
    const spec::Experiment experiment;
    const auto basis = basis_of(experiment, net::SharpTask{.members = 128, .bytes = 1 << 20});
    EXPECT_TRUE(basis[1].contains("100 ns of software a message")) << basis[1];
    EXPECT_TRUE(basis[2].starts_with("sharp-allreduce: nearest rows of docs/validation.md: C5 ("))
        << basis[2];
    EXPECT_TRUE(basis[2].ends_with("beyond these are not validated")) << basis[2];
}

TEST(Basis, AComparisonSaysWhichNetworksASentenceIsAbout) {
    Comparison comparison;
    comparison.variants = {{"ib", {.basis = {"one", "both"}}}, {"roce", {.basis = {"both"}}}};
    EXPECT_EQ(basis_of(comparison), (std::vector<std::string>{"ib: one", "both"}));
}

TEST(Basis, ASweepHasTheSentencesOfAllItsPointsOnce) {
    SweepReport report;
    for (const char* const text : {R"({"basis": ["one", "both"]})", R"({"basis": ["both"]})", ""}) {
        report.rows.emplace_back().outcome = PointOutcome{.report = text};
    }
    EXPECT_EQ(basis_of(report), (std::vector<std::string>{"one", "both"}));
}

}  // namespace
}  // namespace softib::run
