// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/siphash.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace softib {
namespace {

/// Returns the hash of `bytes` bytes with the key of the paper; both count up from 0.
std::uint64_t of_counting(std::size_t bytes) {
    SipKey key;
    std::iota(key.begin(), key.end(), std::uint8_t{0});
    std::vector<std::uint8_t> message(bytes);
    std::iota(message.begin(), message.end(), std::uint8_t{0});
    return siphash(key, message);
}

TEST(SipHash, GivesThePapersValues) {
    EXPECT_EQ(of_counting(0), 0x726FDB47DD0E0E31U);
    EXPECT_EQ(of_counting(15), 0xA129CA6149BE45E5U);
}

TEST(SipHash, EveryBitOfTheKeyCounts) {
    const std::vector<std::uint8_t> message{1, 2, 3};
    const std::uint64_t plain = siphash({}, message);
    for (std::size_t bit = 0; bit < 128; ++bit) {
        SipKey key{};
        key[bit / 8] = static_cast<std::uint8_t>(1U << bit % 8);
        EXPECT_NE(siphash(key, message), plain) << bit;
    }
}

}  // namespace
}  // namespace softib
