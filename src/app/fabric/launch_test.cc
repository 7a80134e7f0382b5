// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/launch.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace softib::app {
namespace {

TEST(WhyNot, ADaemonThatIsBusyHasNotRefused) {
    EXPECT_EQ(why_not(EAGAIN),
              "softibd has not answered for 5 s: it may be routing a large fabric, and do this "
              "when it is done; see: softib log");
    EXPECT_EQ(why_not(ENODEV), "softibd refused the request: No such device");
}

}  // namespace
}  // namespace softib::app
