// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/run_control.h"

#include <gtest/gtest.h>

namespace softib::net {
namespace {

TEST(RunControl, WithoutChangesNothingIsDueHoweverLongARunLasts) {
    const RunControl control({}, 1);
    EXPECT_FALSE(control.has_changes());
    EXPECT_FALSE(control.change_due(kNever));
}

TEST(RunControl, AChangeIsDueFromItsTimeOn) {
    const RunControl control({{.at = 500, .repair = true, .what = {}}}, 1);
    EXPECT_TRUE(control.has_changes());
    EXPECT_FALSE(control.change_due(499));
    EXPECT_TRUE(control.change_due(500));
    EXPECT_TRUE(control.change_due(kNever));
    EXPECT_EQ(control.next_stop(400), 400U);
    EXPECT_EQ(control.next_stop(kNever), 500U);
}

}  // namespace
}  // namespace softib::net
