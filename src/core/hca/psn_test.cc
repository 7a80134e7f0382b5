// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/psn.h"

#include <gtest/gtest.h>

namespace softib::hca {
namespace {

TEST(Psn, CountsModulo24Bits) {
    EXPECT_EQ(Psn{0xFFFFFF} + 1, Psn{0});
    EXPECT_EQ(Psn{0xFFFFF0} + 0x20, Psn{0x10});
    EXPECT_EQ(Psn{5} + kPsnMask, Psn{4});
}

TEST(Psn, HalfOfAllPsnsAreBeforeAGivenOne) {
    EXPECT_EQ(diff(Psn{5}, Psn{5}), 0);
    EXPECT_EQ(diff(Psn{0}, Psn{0xFFFFFF}), 1);
    EXPECT_EQ(diff(Psn{0xFFFFFF}, Psn{0}), -1);
    EXPECT_EQ(diff(Psn{0x7FFFFF}, Psn{0}), 0x7FFFFF);
    EXPECT_EQ(diff(Psn{0x800000}, Psn{0}), -0x800000);
}

TEST(Psn, BeforeIsNotReflexive) {
    EXPECT_FALSE(before(Psn{1}, Psn{1}));
    EXPECT_TRUE(before(Psn{0xFFFFFF}, Psn{3}));
    EXPECT_FALSE(before(Psn{3}, Psn{0xFFFFFF}));
}

TEST(Psn, DistanceGoesForward) {
    EXPECT_EQ(distance(Psn{0xFFFFFE}, Psn{2}), 4U);
    EXPECT_EQ(distance(Psn{2}, Psn{0xFFFFFE}), 0xFFFFFCU);
}

}  // namespace
}  // namespace softib::hca
