// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/base/ids.h"
#include "core/base/prng.h"

namespace softib {
namespace {

TEST(PKey, MatchNeedsOneFullMember) {
    EXPECT_TRUE(matches(PKey{0xFFFF}, PKey{0x7FFF}));
    EXPECT_TRUE(matches(PKey{0x8001}, PKey{0x8001}));
    EXPECT_FALSE(matches(PKey{0x7FFF}, PKey{0x7FFF}));
    EXPECT_FALSE(matches(PKey{0x8001}, PKey{0x8002}));
    EXPECT_FALSE(matches(PKey{0x8000}, PKey{0x8000}));
}

TEST(Gid, RoundTripsPrefixAndInterface) {
    const Gid gid = Gid::from(kSubnetPrefixDefault, Guid{0x0002C90300001234});
    EXPECT_EQ(gid.subnet_prefix(), kSubnetPrefixDefault);
    EXPECT_EQ(gid.interface_id(), Guid{0x0002C90300001234});
    EXPECT_EQ(to_string(gid), "fe80:0000:0000:0000:0002:c903:0000:1234");
}

TEST(Lid, MulticastRange) {
    EXPECT_FALSE(is_multicast(Lid{0xBFFF}));
    EXPECT_TRUE(is_multicast(Lid{0xC000}));
    EXPECT_FALSE(is_multicast(kLidPermissive));
}

TEST(Prng, SameSeedSameSequence) {
    Prng a(7);
    Prng b(7);
    Prng c(8);
    bool differs = false;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t v = a.next();
        EXPECT_EQ(v, b.next());
        differs |= v != c.next();
    }
    EXPECT_TRUE(differs);
}

TEST(Prng, BelowStaysBelow) {
    Prng prng(1);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_LT(prng.below(7), 7U);
    }
}

}  // namespace
}  // namespace softib
