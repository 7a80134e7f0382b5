// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/partitions.h"

#include <gtest/gtest.h>

namespace softib::sm {
namespace {

using std::string_view_literals::operator""sv;
using Keys = std::vector<PKey>;

std::vector<Partition> parsed(std::string_view text) {
    auto result = parse_partitions(text);
    EXPECT_TRUE(result) << result.error().line << ": " << result.error().message;
    return result ? *result : std::vector<Partition>{};
}

/// Returns "line: message" of the error in a text.
std::string refusal(std::string_view text) {
    const auto result = parse_partitions(text);
    return result ? "accepted"
                  : std::to_string(result.error().line) + ": " + result.error().message;
}

PartitionPort adapter(std::uint64_t guid) {
    return {Guid{guid}, wire::NodeType::kChannelAdapter, false};
}

TEST(Partitions, DefinitionHasNameKeyAndFlags) {
    const auto all = parsed("blue = 0x8010 , indx0, ipoib,rate=7,mtu=5,sl=2,scope=2,scope=5 : ;");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name, "blue");
    EXPECT_EQ(all[0].pkey, PKey{0x10});
    EXPECT_TRUE(all[0].at_index0);
    EXPECT_TRUE(all[0].ipoib);
    EXPECT_EQ(all[0].broadcast.rate, 7);
    EXPECT_EQ(all[0].broadcast.mtu, 5);
    EXPECT_EQ(all[0].broadcast.sl, 2);
    EXPECT_EQ(all[0].broadcast.scopes, (std::vector<std::uint8_t>{2, 5}));
    EXPECT_TRUE(all[0].members.empty());
}

TEST(Partitions, CommentsAndLinesDoNotMatter) {
    const auto all = parsed(
        "# nothing; here: at all\n"
        "a=1 :   # the first\n"
        "  0x1=full, # one; two\n"
        "\n"
        "  2=limited,\n"
        "  0x3 ;b=2:0x1;\n");
    ASSERT_EQ(all.size(), 2U);
    ASSERT_EQ(all[0].members.size(), 3U);
    EXPECT_EQ(all[0].members[0].membership, Membership::kFull);
    EXPECT_EQ(all[0].members[1].guid, Guid{2});
    EXPECT_EQ(all[0].members[2].membership, Membership::kLimited);
    EXPECT_EQ(all[1].pkey, PKey{2});
}

TEST(Partitions, DefaultMembershipIsOfOneDefinition) {
    const auto all = parsed(
        "io=0x80, defmember=full : 0x1, 0x2=limited, 0x3=;\n"
        "io=0x80 : 0x4;\n"
        "io=0x80 : defmember=full : 0x5;\n"
        "io=0x80 : 0x6=both, 0x7=limi;\n");
    ASSERT_EQ(all.size(), 1U);
    std::vector<Membership> got;
    for (const PartitionMember& member : all[0].members) {
        got.push_back(member.membership);
    }
    using enum Membership;
    EXPECT_EQ(got, (std::vector{kFull, kLimited, kFull, kLimited, kFull, kBoth, kLimited}));
}

TEST(Partitions, WithoutAKeyTheLowestFreeOne) {
    const auto all =
        parsed("a : ALL;\n, ipoib : ALL;\nb=1 : ALL;\n3 : ALL;\nDefault : ALL;\nc : ;");
    std::vector<std::uint16_t> keys;
    for (const Partition& partition : all) {
        keys.push_back(partition.pkey.value);
    }
    EXPECT_EQ(keys, (std::vector<std::uint16_t>{2, 4, 1, 3, 0x7FFF, 5}));
    EXPECT_EQ(all[1].name, "");
    EXPECT_EQ(all[3].name, "");
}

TEST(Partitions, MulticastGroupsEndWithTheirLine) {
    const auto all = parsed(
        "Default=0x7fff,ipoib:\n"
        "  mgid=ff12:401b::0707,sl=1 # a group\n"
        "  mgid=ff12::1,sl=3,Q_Key=0xDEADBEEF,rate=3,mtu=2,TClass=4,FlowLabel=5,scope=8\n"
        "  ALL=full;");
    ASSERT_EQ(all.size(), 1U);
    ASSERT_EQ(all[0].groups.size(), 2U);
    EXPECT_EQ(
        all[0].groups[0].mgid.bytes,
        (std::array<std::uint8_t, 16>{0xFF, 0x12, 0x40, 0x1B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7}));
    EXPECT_EQ(all[0].groups[0].traits.sl, 1);
    EXPECT_EQ(all[0].groups[1].traits.qkey, QKey{0xDEADBEEF});
    EXPECT_EQ(all[0].groups[1].traits.flow_label, 5U);
    ASSERT_EQ(all[0].members.size(), 1U);
    EXPECT_EQ(all[0].members[0].who, PartitionMember::kAll);
    EXPECT_FALSE(all[0].broadcast.sl);
}

TEST(Partitions, BadTextIsNamedWithItsLine) {
    EXPECT_EQ(refusal("\n\nblue=0x10 ALL;"),
              "3: this partition has no ':' between its name and its ports");
    EXPECT_EQ(refusal("\na=1:ALL"), "2: this partition has no ';' at its end");
    EXPECT_EQ(refusal("a=1:ALL;\nb=0x8000:ALL;"),
              "2: '0x8000' is no P_Key: write 0x0001 to 0x7fff");
    EXPECT_EQ(refusal("a=blue:ALL;"), "1: 'blue' is no P_Key: write 0x0001 to 0x7fff");
    EXPECT_EQ(refusal("a=0x10000:ALL;").substr(0, 23), "1: '0x10000' is no P_Ke");
    EXPECT_EQ(refusal("a=1,\nindex0:ALL;").substr(0, 35), "2: 'index0' is no flag of a partiti");
    EXPECT_EQ(refusal("a=1:\n\n0x1,\n0xg;").substr(0, 21), "4: '0xg' is no port: ");
    EXPECT_EQ(refusal("a=1:all;").substr(0, 21), "1: 'all' is no port: ");
    EXPECT_EQ(refusal("a=1:0;").substr(0, 19), "1: '0' is no port: ");
    EXPECT_EQ(refusal("a=1:\nALL=most;"), "2: membership is full, limited or both, not 'most'");
    EXPECT_EQ(refusal("a=1,defmember:ALL;"), "1: membership is full, limited or both, not ''");
    EXPECT_EQ(refusal("a=1,sl=16:ALL;"), "1: 'sl' must be a number up to 15, not '16'");
    EXPECT_EQ(refusal("a=1,ipoib,mtu:ALL;"), "1: 'mtu' must be a number up to 5, not ''");
    EXPECT_EQ(refusal("a=1:mgid=fe80::1;"), "1: 'fe80::1' is no multicast GID");
    EXPECT_EQ(refusal("a=1:mgid=ff12::1::2;"), "1: 'ff12::1::2' is no multicast GID");
    EXPECT_EQ(refusal("a=1:sl=3;").substr(0, 20), "1: 'sl' is no port: ");
    EXPECT_EQ(refusal(std::string_view("a=1:ALL\0;", 9)).substr(0, 9), "1: 'ALL\0'"sv);
}

TEST(Partitions, LastRuleCounts) {
    const auto all = parsed("a=1 : ALL=full, 0x5=limited; b=2 : 0x5=full; b=2 : ALL_CAS;");
    EXPECT_EQ(keys_of(all, adapter(5)), (Keys{PKey{0x7FFF}, PKey{1}, PKey{2}}));
    EXPECT_EQ(keys_of(all, adapter(6)), (Keys{PKey{0x7FFF}, PKey{0x8001}, PKey{2}}));
}

TEST(Partitions, KeywordsNamePortsByTheirKind) {
    const auto all = parsed(
        "Default=0x7fff : SELF=limited, ALL, ALL_SWITCHES=full ;"
        "a=1 : ALL=full; b=2 : 0x5=both; c=3: SELF; d=4: ALL_ROUTERS; e=5: ALL_CAS;");
    EXPECT_EQ(keys_of(all, adapter(5)),
              (Keys{PKey{0x7FFF}, PKey{0x8001}, PKey{0x8002}, PKey{2}, PKey{5}}));
    EXPECT_EQ(keys_of(all, adapter(6)), (Keys{PKey{0x7FFF}, PKey{0x8001}, PKey{5}}));
    EXPECT_EQ(keys_of(all, {Guid{7}, wire::NodeType::kSwitch, false}),
              (Keys{PKey{0xFFFF}, PKey{0x8001}}));
    EXPECT_EQ(keys_of(all, {Guid{8}, wire::NodeType::kChannelAdapter, true}),
              (Keys{PKey{0xFFFF}, PKey{0x8001}, PKey{3}, PKey{5}}));
    EXPECT_EQ(keys_of(all, {Guid{9}, wire::NodeType::kRouter, false}),
              (Keys{PKey{0x7FFF}, PKey{0x8001}, PKey{4}}));
}

TEST(Partitions, DefaultPartitionIsThereWhereTheTextIsSilent) {
    const auto all = parsed("a=1 : 0x5=full;");
    EXPECT_EQ(keys_of(all, adapter(5)), (Keys{PKey{0x7FFF}, PKey{0x8001}}));
    EXPECT_EQ(keys_of(all, {Guid{6}, wire::NodeType::kSwitch, true}), (Keys{PKey{0xFFFF}}));
    // If the default partition is defined, only the manager's port is in it without being named.
    const auto some = parsed("a=1 : 0x5=full; Default=0x7fff : 0x6;");
    EXPECT_EQ(keys_of(some, adapter(5)), (Keys{PKey{0x8001}}));
    EXPECT_EQ(keys_of(some, {Guid{7}, wire::NodeType::kSwitch, true}), (Keys{PKey{0xFFFF}}));
}

TEST(Partitions, Index0IsTheDefaultUnlessAPartitionAsksForIt) {
    const auto all = parsed("a=1 : ALL=full; b=2,indx0 : 0x5; c=3,indx0 : ALL;");
    EXPECT_EQ(keys_of(all, adapter(5)), (Keys{PKey{2}, PKey{0x8001}, PKey{3}, PKey{0x7FFF}}));
    EXPECT_EQ(keys_of(all, adapter(6)), (Keys{PKey{3}, PKey{0x8001}, PKey{0x7FFF}}));
    EXPECT_EQ(keys_of(parsed("a=1 : ALL=full;"), adapter(6)), (Keys{PKey{0x7FFF}, PKey{0x8001}}));
}

TEST(Partitions, KeyKeepsItsIndex) {
    const Keys before{PKey{0xFFFF}, PKey{7}, PKey{0}, PKey{0x8003}, PKey{4}};
    EXPECT_EQ(place_keys(before, Keys{PKey{0x7FFF}, PKey{9}, PKey{3}, PKey{4}}, 5),
              (Keys{PKey{0x7FFF}, PKey{9}, PKey{0}, PKey{3}, PKey{4}}));
    EXPECT_EQ(place_keys({}, Keys{PKey{1}, PKey{2}}, 3), (Keys{PKey{1}, PKey{2}, PKey{0}}));
    EXPECT_EQ(place_keys(before, Keys{PKey{1}, PKey{2}, PKey{3}}, 2), (Keys{PKey{1}, PKey{2}}));
    EXPECT_EQ(place_keys(before, Keys{}, 2), (Keys{PKey{0}, PKey{0}}));
    EXPECT_TRUE(place_keys(before, Keys{PKey{1}}, 0).empty());
    // The port is in the partition as full and as limited member.
    EXPECT_EQ(place_keys(Keys{PKey{1}, PKey{2}}, Keys{PKey{1}, PKey{0x8002}, PKey{2}}, 3),
              (Keys{PKey{1}, PKey{2}, PKey{0x8002}}));
}

}  // namespace
}  // namespace softib::sm
