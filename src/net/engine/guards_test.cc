// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/guards.h"

#include <gtest/gtest.h>

namespace softib::net {
namespace {

/// A packet's body is its P_Key.
struct BodyIsKey : KeyReader {
    PKey pkey_of(const Packet& packet) const override {
        return PKey{static_cast<std::uint16_t>(packet.body)};
    }
};

TEST(Guards, LetPassOnlyTheirKeysInTheDirectionThatTheyCheck) {
    Guards guards(2);
    const BodyIsKey reader;
    guards.set_reader(&reader);
    EXPECT_FALSE(guards.checks(1));
    guards.set(1, {.in = true, .out = false, .pkeys = {PKey{0x8001}}});
    EXPECT_TRUE(guards.checks(1));
    EXPECT_FALSE(guards.checks(0));
    EXPECT_TRUE(guards.lets_in(1, {.body = 0x8001}));
    EXPECT_FALSE(guards.lets_in(1, {.body = 0x8002}));
    EXPECT_TRUE(guards.lets_out(1, {.body = 0x8002}));
    EXPECT_TRUE(guards.lets_in(1, {.body = 0x8002, .in_vl = link::kVl15})) << "MADs have no key";
}

TEST(Guards, WithoutAReaderAllPacketsPass) {
    Guards guards(1);
    guards.set(0, {.in = true, .out = true, .pkeys = {}});
    EXPECT_TRUE(guards.lets_in(0, {.body = 1}));
}

}  // namespace
}  // namespace softib::net
