// SPDX-License-Identifier: BSD-2-Clause
#include "core/router/router.h"

#include <gtest/gtest.h>

#include "core/router/address.h"

namespace softib::router {
namespace {

constexpr SubnetId kHome{0};
constexpr SubnetId kAway{1};
constexpr SubnetId kFar{2};
constexpr std::uint8_t kLevels = 4;

Router two_legs() {
    Router router;
    router.add_leg({subnet_prefix(kHome), Lid{70}});
    router.add_leg({subnet_prefix(kAway), Lid{80}});
    return router;
}

Addressed to(Gid dgid, std::uint8_t hop_lmt = 255) {
    return {.dgid = dgid, .hop_lmt = hop_lmt};
}

TEST(Router, MakesANewLrhAndTakesAHop) {
    const auto onward = two_legs().forward(0, to(alias_gid(kAway, Lid{5}), 64), kLevels);
    ASSERT_TRUE(onward);
    EXPECT_EQ(*onward, (Onward{.leg = 1, .slid = Lid{80}, .dlid = Lid{5}, .sl = 1, .hop_lmt = 63}));
}

TEST(Router, SendsWhatIsForSubnetsBehindOthersToTheNextRouter) {
    Router router = two_legs();
    router.add_route(subnet_prefix(kFar), 1, Lid{99});
    const auto onward = router.forward(0, to(alias_gid(kFar, Lid{5})), kLevels);
    ASSERT_TRUE(onward);
    EXPECT_EQ(onward->leg, 1U);
    EXPECT_EQ(onward->dlid, Lid{99}) << "the LID in the GID means nothing here";
}

TEST(Router, DropsAtTheLastHop) {
    EXPECT_EQ(two_legs().forward(0, to(alias_gid(kAway, Lid{5}), 1), kLevels).error(),
              Refusal::kHopLimit);
    EXPECT_EQ(two_legs().forward(0, to(alias_gid(kAway, Lid{5}), 0), kLevels).error(),
              Refusal::kHopLimit);
    EXPECT_TRUE(two_legs().forward(0, to(alias_gid(kAway, Lid{5}), 2), kLevels));
}

TEST(Router, KnowsWhereItsPortsLeadAndNoMore) {
    const Router router = two_legs();
    EXPECT_EQ(router.forward(0, to(alias_gid(kFar, Lid{5})), kLevels).error(), Refusal::kNoRoute);
    EXPECT_EQ(router.forward(0, to(alias_gid(kHome, Lid{5})), kLevels).error(),
              Refusal::kSameSubnet);
    EXPECT_EQ(router.forward(0, to(Gid::from(subnet_prefix(kAway), Guid{0x1234})), kLevels).error(),
              Refusal::kNoHost);
    EXPECT_EQ(router.forward(0, to(alias_gid(kAway, Lid{0xC001})), kLevels).error(),
              Refusal::kNoHost);
}

TEST(Router, ForwardsNothingWithoutAGrh) {
    Addressed packet = to(alias_gid(kAway, Lid{5}));
    packet.has_grh = false;
    EXPECT_EQ(two_legs().forward(0, packet, kLevels).error(), Refusal::kNoGrh);
}

TEST(Router, KeepsLinkLocalAddressesInTheirSubnet) {
    EXPECT_EQ(two_legs().forward(0, to(Gid::from(kSubnetPrefixDefault, Guid{5})), kLevels).error(),
              Refusal::kLinkLocal);
}

TEST(Router, TakesALevelForEachRouterOnTheWay) {
    Addressed packet = to(alias_gid(kAway, Lid{5}));
    packet.sl = 2;
    EXPECT_EQ(two_legs().forward(0, packet, kLevels)->sl, 3);
    packet.sl = 3;
    EXPECT_EQ(two_legs().forward(0, packet, kLevels).error(), Refusal::kLevels);
}

TEST(AliasGid, HasSubnetAndLid) {
    const Gid gid = alias_gid(SubnetId{7}, Lid{0x1234});
    EXPECT_EQ(gid.subnet_prefix(), 0xFEC0000000000007U);
    EXPECT_EQ(alias_lid(gid), Lid{0x1234});
    EXPECT_EQ(alias_lid(alias_gid(SubnetId{7}, Lid{0})), std::nullopt);
}

}  // namespace
}  // namespace softib::router
