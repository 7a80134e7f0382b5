// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/border.h"

#include <gtest/gtest.h>

namespace softib::net {
namespace {

TEST(Border, RecordsGoToThePartAtTheOtherEndOfBothDirections) {
    Border border(6);
    EXPECT_FALSE(border.any());
    EXPECT_FALSE(border.crosses(4));
    border.cut(4, 2, 3);
    EXPECT_TRUE(border.crosses(4) && border.crosses(2));
    EXPECT_FALSE(border.crosses(3));
    border.put(4, {.at = 7});
    border.put(2, {.at = 8});
    ASSERT_EQ(border.crossings().size(), 4U);
    EXPECT_EQ(border.crossings()[3].size(), 2U);
    EXPECT_TRUE(border.crossings()[0].empty());
}

}  // namespace
}  // namespace softib::net
