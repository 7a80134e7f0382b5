// SPDX-License-Identifier: BSD-2-Clause
// Rules for all formats, checked with random bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "core/base/prng.h"
#include "core/wire/any_format.h"
#include "core/wire/format/test_bytes.h"

namespace softib::wire {

namespace {

constexpr int kRounds = 200;

/// Expects that `rule(format, prng)` returns true for each format.
void expect_of_each_format(bool (*rule)(const AnyFormat&, Prng&)) {
    for (const AnyFormat& format : all_formats()) {
        Prng prng(1);
        for (int round = 0; round < kRounds; ++round) {
            ASSERT_TRUE(rule(format, prng)) << format.name << ", round " << round;
        }
    }
}

}  // namespace

TEST(Formats, EmittedValueParsesToTheSame) {
    expect_of_each_format([](const AnyFormat& format, Prng& prng) {
        const Bytes bytes = random_bytes(prng, format.bytes);
        Bytes emitted = random_bytes(prng, format.bytes);
        format.copy(bytes, emitted);
        return format.same(bytes, emitted);
    });
}

TEST(Formats, ParsedBytesAreEmittedAgainWithoutTheReservedBits) {
    expect_of_each_format([](const AnyFormat& format, Prng& prng) {
        Bytes bytes = random_bytes(prng, format.bytes);
        Bytes emitted = random_bytes(prng, format.bytes);
        format.copy(bytes, emitted);
        std::ranges::transform(bytes, format.mask, bytes.begin(), std::bit_and<std::uint8_t>{});
        return emitted == bytes;
    });
}

// Without this, a parser that reads nothing would pass where two values are compared.
TEST(Formats, EveryBitOfAFieldMakesAnotherValue) {
    expect_of_each_format([](const AnyFormat& format, Prng& prng) {
        const Bytes bytes = random_bytes(prng, format.bytes);
        Bytes other = bytes;
        const std::size_t bit = prng.below(format.bytes * 8);
        const auto flipped = static_cast<std::uint8_t>(1U << bit % 8);
        other[bit / 8] ^= flipped;
        return format.same(bytes, other) == ((format.mask[bit / 8] & flipped) == 0);
    });
}

TEST(Formats, ShortSpansAreRefused) {
    expect_of_each_format([](const AnyFormat& format, Prng& prng) {
        const Bytes bytes = random_bytes(prng, format.bytes);
        const AnyFormat::Input whole(bytes);
        return !format.parses(whole.first(prng.below(format.bytes))) &&
               !format.parses(whole.first(format.bytes - 1)) && format.parses(whole);
    });
}

TEST(Formats, OnlyTheirOwnBytesAreWritten) {
    expect_of_each_format([](const AnyFormat& format, Prng& prng) {
        Bytes bytes(format.bytes + 8, 0xA5);
        format.copy(random_bytes(prng, format.bytes), bytes);
        return std::ranges::count(bytes.end() - 8, bytes.end(), 0xA5) == 8;
    });
}

TEST(Formats, PrintEveryNameOnOneLine) {
    expect_of_each_format([](const AnyFormat& format, Prng& prng) {
        const std::string line = format.text(random_bytes(prng, format.bytes));
        const auto has = [&](std::string_view name) {
            return line.find(std::string(name) + " ") != std::string::npos;
        };
        return std::ranges::all_of(format.field_names, has) && line.find('\n') == std::string::npos;
    });
}

TEST(Formats, MatchThemselvesUnderEveryMask) {
    expect_of_each_format([](const AnyFormat& format, Prng& prng) {
        const Bytes bytes = random_bytes(prng, format.bytes);
        return format.matches(bytes, bytes, prng.next()) &&
               format.matches(bytes, random_bytes(prng, format.bytes), 0);
    });
}

}  // namespace softib::wire
