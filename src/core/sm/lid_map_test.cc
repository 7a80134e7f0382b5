// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/lid_map.h"

#include <gtest/gtest.h>

namespace softib::sm {
namespace {

TEST(LidMap, ReadsWhatItWrites) {
    const std::vector<LidRange> ranges{{Guid{0x0250F71B10000000}, Lid{1}, Lid{1}},
                                       {Guid{0xFFFFFFFFFFFFFFFF}, Lid{0xBFFC}, Lid{0xBFFF}}};
    const std::string text = print_lid_map(ranges);
    EXPECT_EQ(text,
              "0x0250f71b10000000 0x0001 0x0001\n"
              "0xffffffffffffffff 0xbffc 0xbfff\n");
    const ParsedLidMap parsed = parse_lid_map(text);
    EXPECT_EQ(parsed.ranges, ranges);
    EXPECT_TRUE(parsed.problems.empty());
}

TEST(LidMap, BlankLinesAndCommentsAreFine) {
    const ParsedLidMap parsed =
        parse_lid_map("\n# LIDs\r\n  0x1\t0x2  0x3 # here\n\n0x2 0x0008 0x0008");
    EXPECT_EQ(parsed.ranges,
              (std::vector<LidRange>{{Guid{1}, Lid{2}, Lid{3}}, {Guid{2}, Lid{8}, Lid{8}}}));
    EXPECT_TRUE(parsed.problems.empty());
}

TEST(LidMap, BadLinesAreReportedAndLeftOut) {
    const ParsedLidMap parsed = parse_lid_map(
        "0x1 0x1 0x4\n"        // Good.
        "0x2 0x5\n"            // 2: one LID only.
        "0x3 6 6\n"            // 3: not hexadecimal.
        "0x4 0x7 0x6\n"        // 4: backwards.
        "0x5 0x0 0x0\n"        // 5: no LID.
        "0x6 0xc000 0xc000\n"  // 6: multicast.
        "0x7 0x4 0x5\n"        // 7: overlaps.
        "0x1 0x9 0x9\n"        // 8: twice.
        "0x8 0x6 0x6 0x6\n"    // 9: too many words.
        "0x9 0x5 0x5\n");
    EXPECT_EQ(parsed.ranges,
              (std::vector<LidRange>{{Guid{1}, Lid{1}, Lid{4}}, {Guid{9}, Lid{5}, Lid{5}}}));
    ASSERT_EQ(parsed.problems.size(), 8U);
    EXPECT_EQ(parsed.problems[0].substr(0, 20), "line 2: not a GUID a");
    EXPECT_EQ(parsed.problems[2], "line 4: no range of unicast LIDs");
    EXPECT_EQ(parsed.problems[5], "line 7: another port has the LID already");
    EXPECT_EQ(parsed.problems[6], "line 8: the GUID has LIDs already");
}

}  // namespace
}  // namespace softib::sm
