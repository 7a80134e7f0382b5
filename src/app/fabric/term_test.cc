// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/term.h"

#include <gtest/gtest.h>

namespace softib::app {
namespace {

TEST(BarText, FillsAsWorkIsDone) {
    EXPECT_EQ(bar_text(0, 8), "[........................]");
    EXPECT_EQ(bar_text(2, 8), "[######..................]");
    EXPECT_EQ(bar_text(8, 8), "[########################]");
    EXPECT_EQ(bar_text(9, 8), bar_text(8, 8)) << "more than there was";
    EXPECT_EQ(bar_text(0, 0), bar_text(8, 8)) << "nothing to do";
}

}  // namespace
}  // namespace softib::app
