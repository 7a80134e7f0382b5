// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/partition_groups.h"

#include <gtest/gtest.h>

#include "core/sm/sa/multicast.h"

namespace softib::sm {
namespace {

TEST(PartitionGroups, WithoutPartitionsTheDefaultOneHasABroadcastGroup) {
    EXPECT_EQ(partition_groups(std::nullopt),
              (std::vector{ipoib_broadcast_group(kPKeyDefaultFull)}));
    EXPECT_TRUE(partition_groups(parse_partitions("a=1 : ALL;").value()).empty());
}

TEST(PartitionGroups, BroadcastGroupInEveryScope) {
    const auto groups = partition_groups(
        parse_partitions("a=0x10,ipoib,rate=7,mtu=5,sl=3,scope=2,scope=5:;").value());
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].pkey, PKey{0x8010});
    EXPECT_EQ(groups[0].rate, 7);
    EXPECT_EQ(groups[0].mtu, 5);
    EXPECT_EQ(groups[0].sl, 3);
    EXPECT_EQ(groups[0].qkey, QKey{0x0B1B});
    EXPECT_EQ(groups[0].mgid.bytes,
              (std::array<std::uint8_t, 16>{0xFF, 0x12, 0x40, 0x1B, 0x80, 0x10, 0, 0, 0, 0, 0, 0,
                                            0xFF, 0xFF, 0xFF, 0xFF}));
    EXPECT_EQ(groups[1].mgid.bytes[1], 0x15);
    EXPECT_EQ(groups[1].scope, 5);
}

TEST(PartitionGroups, NamedGroupOfIpIsInThePartition) {
    const auto groups = partition_groups(
        parse_partitions("a=0x10: mgid=ff12:601b::16\n mgid=ff15::1,Q_Key=7,TClass=1,FlowLabel=2;")
            .value());
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].mgid.bytes[4], 0x80);
    EXPECT_EQ(groups[0].mgid.bytes[5], 0x10);
    EXPECT_EQ(groups[0].qkey, QKey{0x0B1B});
    EXPECT_EQ(groups[1].mgid.bytes[4], 0);
    EXPECT_EQ(groups[1].scope, 5);
    EXPECT_EQ(groups[1].qkey, QKey{7});
    EXPECT_EQ(groups[1].tclass, 1);
    EXPECT_EQ(groups[1].flow_label, 2U);
}

}  // namespace
}  // namespace softib::sm
