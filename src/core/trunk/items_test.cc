// SPDX-License-Identifier: BSD-2-Clause
#include "core/trunk/items.h"

#include <gtest/gtest.h>

#include <vector>

namespace softib::trunk {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> items_of(const Bytes& body, bool& whole) {
    std::vector<Bytes> items;
    whole = for_each_item(body, [&](std::span<const std::uint8_t> item) {
        items.emplace_back(item.begin(), item.end());
    });
    return items;
}

TEST(TrunkItems, AreReadInTheirOrder) {
    bool whole = false;
    const auto items = items_of({0, 1, 7, 0, 2, 8, 9}, whole);
    EXPECT_TRUE(whole);
    EXPECT_EQ(items, (std::vector<Bytes>{{7}, {8, 9}}));
}

TEST(TrunkItems, ThatEndTooEarlyAreRefused) {
    for (const Bytes& body : {Bytes{0}, Bytes{0, 0}, Bytes{0, 1}, Bytes{0, 2, 1},
                              Bytes{0, 1, 5, 0xFF}, Bytes{0xFF, 0xFF, 1}}) {
        bool whole = true;
        items_of(body, whole);
        EXPECT_FALSE(whole);
    }
}

}  // namespace
}  // namespace softib::trunk
