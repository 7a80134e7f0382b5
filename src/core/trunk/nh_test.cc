// SPDX-License-Identifier: BSD-2-Clause
#include "core/trunk/nh.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/base/prng.h"

namespace softib::trunk {
namespace {

/// Returns the NH of a block by the definition in the paper, a byte at a time.
std::uint64_t by_definition(std::span<const std::uint8_t> block,
                            std::span<const std::uint32_t> secret) {
    const auto word = [&](std::size_t i) {
        std::uint32_t out = 0;
        for (std::size_t byte = 0; byte < 4; ++byte) {
            const std::size_t at = 4 * i + byte;
            out |= at < block.size() ? std::uint32_t{block[at]} << (8 * byte) : 0;
        }
        return out;
    };
    std::uint64_t sum = 0;
    for (std::size_t i = 0; 4 * i < block.size(); i += 2) {
        sum += std::uint64_t{word(i) + secret[i]} * (word(i + 1) + secret[i + 1]);
    }
    return sum;
}

TEST(Nh, IsTheSumOfProductsForEveryLengthAndPlace) {
    constexpr std::size_t kBytes = 1024;
    Prng random(7);
    std::vector<std::uint32_t> secret(kBytes / 4);
    std::vector<std::uint8_t> bytes(kBytes + 8);
    for (auto& word : secret) {
        word = static_cast<std::uint32_t>(random.next());
    }
    for (auto& byte : bytes) {
        byte = static_cast<std::uint8_t>(random.next());
    }
    for (std::size_t length = 0; length <= kBytes; ++length) {
        const auto block = std::span<const std::uint8_t>(bytes).subspan(length % 8, length);
        ASSERT_EQ(nh(block, secret), by_definition(block, secret)) << length << " bytes";
    }
}

TEST(Nh, ChangesWithEveryByte) {
    const std::vector<std::uint32_t> secret(64, 0x9E3779B9);
    std::vector<std::uint8_t> block(250, 0x5A);
    const std::uint64_t before = nh(block, secret);
    for (auto& byte : block) {
        byte ^= 0x10;
        EXPECT_NE(nh(block, secret), before);
        byte ^= 0x10;
    }
}

}  // namespace
}  // namespace softib::trunk
