// SPDX-License-Identifier: BSD-2-Clause
// Rules for all formats, checked with random values and random bytes.
#include "core/wire/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/prng.h"

namespace softib::wire {

namespace {

constexpr int kRounds = 200;

template <typename M>
M random_value(Prng& prng, std::size_t width);

template <Attribute T>
T random_attribute(Prng& prng) {
    T value;
    kFields<T>.apply([&](const auto&... field) {
        ((value.*field.member =
              random_value<std::remove_cvref_t<decltype(value.*field.member)>>(prng, field.width)),
         ...);
    });
    return value;
}

/// Returns a random value that fits the field.
template <typename M>
M random_value(Prng& prng, std::size_t width) {
    if constexpr (Attribute<M>) {
        return random_attribute<M>(prng);
    } else if constexpr (detail::kIsArray<M>) {
        M values;
        for (auto& value : values) {
            value = random_value<typename M::value_type>(prng, width);
        }
        return values;
    } else if constexpr (std::is_same_v<M, Gid>) {
        return {random_value<decltype(Gid::bytes)>(prng, 8)};
    } else if constexpr (detail::kIsText<M>) {
        M text;
        std::ranges::generate(text.chars, [&] { return static_cast<char>(prng.next()); });
        return text;
    } else {
        return detail::from_number<M>(prng.next() >> (64 - width));
    }
}

template <Attribute T>
std::array<std::uint8_t, T::kBytes> random_image(Prng& prng) {
    return random_value<std::array<std::uint8_t, T::kBytes>>(prng, 8);
}

/// Expects that `rule.operator()<T>(prng)` returns true for each format T.
void expect_of_each_format(auto rule) {
    struct Case {
        const char* format;
        bool (*holds)(const decltype(rule)&, Prng&);
    };
    static constexpr Case kCases[] = {
#define SOFTIB_WIRE_FORMAT(name) \
    {#name, [](const decltype(rule)& r, Prng& prng) { return r.template operator()<name>(prng); }},
#include "core/wire/formats.inc"
#undef SOFTIB_WIRE_FORMAT
    };
    for (const Case& c : kCases) {
        Prng prng(1);
        for (int round = 0; round < kRounds; ++round) {
            ASSERT_TRUE(c.holds(rule, prng)) << c.format << ", round " << round;
        }
    }
}

}  // namespace

TEST(Formats, EmittedValueParsesToTheSame) {
    expect_of_each_format([]<Attribute T>(Prng& prng) {
        const auto value = random_attribute<T>(prng);
        auto bytes = random_image<T>(prng);
        emit(value, bytes);
        return parse<T>(bytes) == value;
    });
}

TEST(Formats, ParsedBytesAreEmittedAgainWithoutTheReservedBits) {
    expect_of_each_format([]<Attribute T>(Prng& prng) {
        constexpr auto kMask = layout_mask<T>();
        auto bytes = random_image<T>(prng);
        const auto value = parse<T>(bytes);
        auto emitted = random_image<T>(prng);
        emit(value, emitted);
        std::ranges::transform(bytes, kMask, bytes.begin(), std::bit_and<std::uint8_t>{});
        return emitted == bytes && parse<T>(emitted) == value;
    });
}

TEST(Formats, ShortSpansAreRefused) {
    expect_of_each_format([]<Attribute T>(Prng& prng) {
        const auto bytes = random_image<T>(prng);
        const std::span<const std::uint8_t> whole(bytes);
        return !parse<T>(whole.first(prng.below(T::kBytes))) &&
               !parse<T>(whole.first(T::kBytes - 1)) && parse<T>(whole) == parse<T>(bytes);
    });
}

TEST(Formats, OnlyTheirOwnBytesAreWritten) {
    expect_of_each_format([]<Attribute T>(Prng& prng) {
        std::vector<std::uint8_t> bytes(T::kBytes + 8, 0xA5);
        emit(random_attribute<T>(prng), std::span<std::uint8_t>(bytes));
        return std::ranges::count(bytes.end() - 8, bytes.end(), 0xA5) == 8;
    });
}

TEST(Formats, PrintEveryNameOnOneLine) {
    expect_of_each_format([]<Attribute T>(Prng& prng) {
        const std::string line = to_string(random_attribute<T>(prng));
        const auto has = [&](std::string_view name) {
            return line.find(std::string(name) + " ") != std::string::npos;
        };
        return kFields<T>.apply([&](const auto&... field) { return (has(field.name) && ...); }) &&
               line.find('\n') == std::string::npos;
    });
}

TEST(Formats, MatchThemselvesUnderEveryMask) {
    expect_of_each_format([]<Attribute T>(Prng& prng) {
        const auto value = random_attribute<T>(prng);
        return matches(value, value, prng.next()) && matches(value, random_attribute<T>(prng), 0);
    });
}

}  // namespace softib::wire
