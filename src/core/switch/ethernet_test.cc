// SPDX-License-Identifier: BSD-2-Clause
#include "core/switch/ethernet.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace softib::sw {
namespace {

TEST(Ecn, MarksNeverBelowAlwaysAboveAndByChanceBetween) {
    constexpr EcnRule kRule{.low_blocks = 100, .high_blocks = 300, .most = 0.5};
    int marked = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        EXPECT_FALSE(kRule.marks(100, mix(i)));
        EXPECT_TRUE(kRule.marks(300, mix(i)));
        marked += kRule.marks(200, mix(i)) ? 1 : 0;
    }
    EXPECT_NEAR(marked, 2'500, 200) << "half way the chance is half of the most";
    EXPECT_FALSE(EcnRule{}.marks(1'000'000, 0));
}

constexpr std::array<std::uint8_t, 4> kPorts{3, 5, 8, 9};

TEST(Ecmp, AFlowKeepsItsPort) {
    const FlowKey flow{.source = 1, .destination = 2, .entropy = 7};
    EXPECT_EQ(hashed_port(kPorts, flow, 1), hashed_port(kPorts, flow, 1));
}

TEST(Ecmp, FlowsSpreadByEachPartOfTheirKey) {
    std::map<std::uint8_t, int> by_source;
    std::map<std::uint8_t, int> by_entropy;
    for (std::uint16_t i = 0; i < 200; ++i) {
        ++by_source[hashed_port(kPorts, {.source = i, .destination = 2}, 1)];
        ++by_entropy[hashed_port(
            kPorts, {.source = 1, .destination = 2, .entropy = static_cast<std::uint8_t>(i)}, 1)];
    }
    for (const auto& counts : {by_source, by_entropy}) {
        ASSERT_EQ(counts.size(), kPorts.size());
        for (const auto& [port, count] : counts) {
            EXPECT_GT(count, 25) << int{port};
        }
    }
}

TEST(Ecmp, SwitchesChooseIndependently) {
    int same = 0;
    for (std::uint16_t i = 0; i < 400; ++i) {
        const FlowKey flow{.source = i, .destination = 9};
        same += hashed_port(kPorts, flow, 1) == hashed_port(kPorts, flow, 2) ? 1 : 0;
    }
    EXPECT_NEAR(same, 100, 40);
}

}  // namespace
}  // namespace softib::sw
