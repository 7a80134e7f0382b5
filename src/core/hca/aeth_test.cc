// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/aeth.h"

#include <gtest/gtest.h>

namespace softib::hca {
namespace {

TEST(Syndrome, SurvivesTheWire) {
    for (unsigned bits = 0; bits < 128; ++bits) {
        const auto syndrome = Syndrome::parse(static_cast<std::uint8_t>(bits));
        EXPECT_FALSE(syndrome.reserved_bit);
        EXPECT_EQ(syndrome.emit(), bits);
    }
    EXPECT_TRUE(Syndrome::parse(0x80).reserved_bit);
}

TEST(Syndrome, CodesOfTheSpecification) {
    EXPECT_EQ((Syndrome{.kind = AckKind::kAck, .value = 31}).emit(), 0x1F);
    EXPECT_EQ((Syndrome{.kind = AckKind::kRnrNak, .value = 12}).emit(), 0x2C);
    EXPECT_EQ(nak(NakCode::kSequenceError).emit(), 0x60);
    EXPECT_EQ(nak(NakCode::kInvalidRequest).emit(), 0x61);
    EXPECT_EQ(nak(NakCode::kRemoteAccessError).emit(), 0x62);
    EXPECT_EQ(nak(NakCode::kRemoteOperationalError).emit(), 0x63);
}

TEST(Credits, NeverPromiseMoreThanThereAre) {
    for (std::uint32_t count = 0; count < 70'000; ++count) {
        const std::uint8_t code = credit_code(count);
        ASSERT_LE(kCreditCounts[code], count);
        ASSERT_TRUE(code == 30 || kCreditCounts[code + 1U] > count);
    }
}

TEST(Credits, EverySecondCodeDoubles) {
    for (std::size_t code = 4; code < kCreditCounts.size(); ++code) {
        EXPECT_EQ(kCreditCounts[code], 2 * kCreditCounts[code - 2]);
    }
    EXPECT_EQ(kCreditCounts.back(), 32768);
}

}  // namespace
}  // namespace softib::hca
