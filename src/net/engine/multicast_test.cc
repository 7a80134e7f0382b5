// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/multicast.h"

#include <gtest/gtest.h>

#include <vector>

namespace softib::net {
namespace {

constexpr auto kAll = [](std::uint8_t) { return true; };

std::vector<std::uint8_t> ports_of(const Multicast::Verdict& verdict) {
    return {verdict.ports.begin(), verdict.ports.end()};
}

TEST(Multicast, APacketLeavesByAllPortsOfItsGroupButThatByWhichItCame) {
    Multicast multicast;
    const Multicast::Group group{1U << 1 | 1U << 3, 1U << 2, 0, std::uint64_t{1} << 62};
    EXPECT_EQ(ports_of(multicast.choose(group, 3, kAll, kAll)),
              (std::vector<std::uint8_t>{1, 66, 254}));
    EXPECT_EQ(ports_of(multicast.choose(group, 9, kAll, kAll)),
              (std::vector<std::uint8_t>{1, 3, 66, 254}));
}

TEST(Multicast, APortWithoutALaneGetsNoCopyAndIsToldOf) {
    Multicast multicast;
    const Multicast::Group group{1U << 1 | 1U << 2};
    const auto verdict =
        multicast.choose(group, 5, kAll, [](std::uint8_t port) { return port != 2; });
    EXPECT_EQ(ports_of(verdict), std::vector<std::uint8_t>{1});
    EXPECT_TRUE(verdict.no_lane);
}

TEST(Multicast, APortThatSendsNothingIsNotAskedForALane) {
    Multicast multicast;
    const auto verdict = multicast.choose(
        Multicast::Group{1U << 1}, 5, [](std::uint8_t) { return false; },
        [](std::uint8_t) { return false; });
    EXPECT_TRUE(verdict.ports.empty());
    EXPECT_FALSE(verdict.no_lane);
}

TEST(Multicast, TheLastCopyThatLeavesFreesTheOriginal) {
    Packet original{.dlid = 0xC001, .bytes = 2048};
    Multicast::split(original, 2);
    const Packet copy = Multicast::copy_of(original, 7);
    EXPECT_EQ(copy.in_link, 7U);
    EXPECT_NE(copy.flags & packet_flag::kCopy, 0);
    EXPECT_EQ(copy.bytes, 2048);
    EXPECT_FALSE(Multicast::leave(original));
    EXPECT_TRUE(Multicast::leave(original));
}

}  // namespace
}  // namespace softib::net
