// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/qos.h"

#include <gtest/gtest.h>

namespace softib::sm {
namespace {

TEST(Qos, ArbitrationIsPairsOfLaneAndWeight) {
    const auto list = parse_vlarb("0:4, 1:255,0:1");
    ASSERT_TRUE(list);
    EXPECT_EQ(*list, (ArbitrationList{{0, 4}, {1, 255}, {0, 1}}));
    EXPECT_EQ(to_string(*list), "0:4,1:255,0:1");
    for (const char* const bad : {"", "0", "0:", ":1", "15:1", "0:256", "0:1,", "0:1;1:1", "a:b"}) {
        EXPECT_FALSE(parse_vlarb(bad)) << bad;
    }
    std::string many = "0:1";
    for (std::size_t i = 1; i < kArbitrationMax; ++i) {
        many += ",1:1";
    }
    EXPECT_TRUE(parse_vlarb(many));
    EXPECT_FALSE(parse_vlarb(many + ",1:1"));
}

TEST(Qos, LaneOfEveryServiceLevel) {
    const auto table = parse_sl2vl("0,1,2,15,14");
    ASSERT_TRUE(table);
    EXPECT_EQ(to_string(*table), "0,1,2,15,14,14,14,14,14,14,14,14,14,14,14,14");
    EXPECT_EQ(*parse_sl2vl(to_string(*table)), *table);
    EXPECT_EQ(to_string(fold(*table, 4)), "0,1,2,15,2,2,2,2,2,2,2,2,2,2,2,2");
    EXPECT_EQ(to_string(spread(15)), "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,0");
    EXPECT_EQ(to_string(spread(1)), "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0");
    for (const char* const bad :
         {"", "16", "0,,1", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0", "x"}) {
        EXPECT_FALSE(parse_sl2vl(bad)) << bad;
    }
}

TEST(Qos, ArbitrationHasOnlyLanesOfThePort) {
    QosConfig config;
    auto blocks = arbitration_blocks(config, 2, 64, 64);
    EXPECT_EQ(blocks[0].entry[0], (wire::VlArbitrationEntry{0, 0}));
    EXPECT_EQ(blocks[0].entry[1], (wire::VlArbitrationEntry{1, 4}));
    EXPECT_EQ(blocks[0].entry[2], wire::VlArbitrationEntry{});
    EXPECT_EQ(blocks[2].entry[0], (wire::VlArbitrationEntry{0, 4}));
    EXPECT_EQ(blocks[1], wire::VlArbitrationTable{});
    config.vlarb_low.assign(40, {1, 7});
    blocks = arbitration_blocks(config, 2, 34, 0);
    EXPECT_EQ(blocks[0].entry[31], (wire::VlArbitrationEntry{1, 7}));
    EXPECT_EQ(blocks[1].entry[1], (wire::VlArbitrationEntry{1, 7}));
    EXPECT_EQ(blocks[1].entry[2], wire::VlArbitrationEntry{});
    EXPECT_EQ(blocks[2], wire::VlArbitrationTable{});
}

}  // namespace
}  // namespace softib::sm
