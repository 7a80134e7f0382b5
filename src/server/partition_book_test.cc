// SPDX-License-Identifier: BSD-2-Clause
#include "server/partition_book.h"

#include <gtest/gtest.h>

namespace softib::server {
namespace {

constexpr char kOperators[] = "Default=0x7fff : ALL=full ;\nblue=0x10 : 0x11=full ;\n";

TEST(PartitionBook, WhatClientsAskForStandsBehindTheOperatorsText) {
    auto book = PartitionBook::parse(kOperators);
    ASSERT_TRUE(book);
    book->booked()[0x20] = {
        .ipoib = true, .index0 = false, .members = {{0x21, true}, {0x11, false}}};
    const std::string text = book->text();
    EXPECT_TRUE(text.starts_with(kOperators));
    const auto again = PartitionBook::parse(text);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again->text(), text);
    EXPECT_EQ(again->all().size(), 3U);
}

TEST(PartitionBook, WithoutAFileEverybodyStaysInTheDefaultPartition) {
    auto book = PartitionBook::parse("");
    ASSERT_TRUE(book);
    book->booked()[0x20].members[0x21] = true;
    const auto rules = PartitionBook::parse(book->text());
    ASSERT_TRUE(rules);
    const auto keys = sm::keys_of(rules->all(), {.guid = Guid{0x21}});
    EXPECT_EQ(keys.size(), 2U);
    EXPECT_NE(std::ranges::find(keys, PKey{0xFFFF}), keys.end());
    EXPECT_NE(std::ranges::find(keys, PKey{0x8020}), keys.end());
}

TEST(PartitionBook, MembersByTheOperatorsTextAreKnown) {
    const auto book = PartitionBook::parse(kOperators);
    ASSERT_TRUE(book);
    EXPECT_TRUE(book->is_operators(PKey{0x10}, Guid{0x11}));
    EXPECT_FALSE(book->is_operators(PKey{0x10}, Guid{0x21}));
}

TEST(PartitionBook, AWrongTextIsRefusedWithItsLine) {
    const auto book = PartitionBook::parse("Default=0x7fff : ALL=full ;\nblue=0x99999 : ;\n");
    ASSERT_FALSE(book);
    EXPECT_TRUE(book.error().starts_with("partitions.conf:2:")) << book.error();
}

}  // namespace
}  // namespace softib::server
