// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/prng.h"
#include "core/sharp/program.h"
#include "core/sharp/small_float.h"

namespace softib::sharp {
namespace {

std::vector<std::byte> random_bytes(Prng& prng, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(prng.next());
    }
    return bytes;
}

/// A number without the type in which it was stored.
struct Plain {
    bool is_float = false;
    bool is_signed = false;
    std::size_t bits = 0;
    double real = 0;
    std::uint64_t bits_value = 0;  ///< An integer, sign-extended.

    bool operator<(const Plain& other) const {
        if (is_float) {
            return real < other.real;
        }
        return is_signed ? static_cast<std::int64_t>(bits_value) <
                               static_cast<std::int64_t>(other.bits_value)
                         : bits_value < other.bits_value;
    }
};

Plain plain_of(DataType type, const std::byte* at) {
    Plain plain;
    plain.bits = size_of(type) * 8;
    std::uint64_t raw = 0;
    std::memcpy(&raw, at, size_of(type));  // Little-endian, as is every machine we run on.
    switch (type) {
        case DataType::kF16:
            return {true, true, 16, from_f16(static_cast<std::uint16_t>(raw)), 0};
        case DataType::kBf16:
            return {true, true, 16, from_bf16(static_cast<std::uint16_t>(raw)), 0};
        case DataType::kF32:
            return {true, true, 32, std::bit_cast<float>(static_cast<std::uint32_t>(raw)), 0};
        case DataType::kF64:
            return {true, true, 64, std::bit_cast<double>(raw), 0};
        case DataType::kI8:
        case DataType::kI16:
        case DataType::kI32:
        case DataType::kI64: {
            const unsigned shift = 64 - static_cast<unsigned>(plain.bits);
            const auto extended = static_cast<std::int64_t>(raw << shift) >> shift;
            return {false, true, plain.bits, 0, static_cast<std::uint64_t>(extended)};
        }
        default:
            return {false, false, plain.bits, 0, raw};
    }
}

void store_plain(DataType type, const Plain& plain, std::byte* at) {
    std::uint64_t raw = plain.bits_value;
    switch (type) {
        case DataType::kF16:
            raw = to_f16(static_cast<float>(plain.real));
            break;
        case DataType::kBf16:
            raw = to_bf16(static_cast<float>(plain.real));
            break;
        case DataType::kF32:
            raw = std::bit_cast<std::uint32_t>(static_cast<float>(plain.real));
            break;
        case DataType::kF64:
            raw = std::bit_cast<std::uint64_t>(plain.real);
            break;
        default:
            break;
    }
    std::memcpy(at, &raw, size_of(type));
}

/// Returns the reference result for one element, computed in the most obvious way.
Plain reduce_plainly(ReduceOp op, Plain a, Plain b) {
    const std::uint64_t x = a.bits_value;
    const std::uint64_t y = b.bits_value;
    switch (op) {
        case ReduceOp::kMax:
            return a < b ? b : a;
        case ReduceOp::kMin:
            return b < a ? b : a;
        case ReduceOp::kSum:
            a.real += b.real;
            a.bits_value = x + y;
            return a;
        case ReduceOp::kProd:
            a.real *= b.real;
            a.bits_value = x * y;
            return a;
        case ReduceOp::kLogicalAnd:
            a.bits_value = x != 0 && y != 0 ? 1 : 0;
            return a;
        case ReduceOp::kLogicalOr:
            a.bits_value = x != 0 || y != 0 ? 1 : 0;
            return a;
        case ReduceOp::kLogicalXor:
            a.bits_value = (x != 0) != (y != 0) ? 1 : 0;
            return a;
        case ReduceOp::kBitAnd:
            a.bits_value = x & y;
            return a;
        case ReduceOp::kBitOr:
            a.bits_value = x | y;
            return a;
        default:
            a.bits_value = x ^ y;
            return a;
    }
}

bool same_number(DataType type, const std::byte* a, const std::byte* b) {
    const Plain x = plain_of(type, a);
    const Plain y = plain_of(type, b);
    if (x.is_float && std::isnan(x.real)) {
        return std::isnan(y.real);
    }
    return std::memcmp(a, b, size_of(type)) == 0;
}

TEST(Reduce, IsWhatMathematicsSaysForEveryTypeAndOperation) {
    Prng prng(1);
    int tried = 0;
    for (std::uint8_t type = 0; type < kDataTypes; ++type) {
        for (std::uint8_t op = 0; op < kReduceOps; ++op) {
            const Reduction reduction{static_cast<DataType>(type), static_cast<ReduceOp>(op)};
            if (has_tag(reduction.op) || !is_supported(reduction)) {
                continue;
            }
            ++tried;
            const std::size_t size = size_of(reduction.type);
            const std::size_t count = 1 + prng.below(300);
            std::vector<std::byte> got = random_bytes(prng, size * count);
            if (prng.chance(1, 2)) {  // Logical operations need zeros.
                std::fill_n(got.begin(), size, std::byte{0});
            }
            const std::vector<std::byte> a = got;
            const std::vector<std::byte> b = random_bytes(prng, size * count);
            reduce_into(reduction, got, b.data());
            for (std::size_t i = 0; i < count; ++i) {
                std::byte wanted[8];
                store_plain(reduction.type,
                            reduce_plainly(reduction.op, plain_of(reduction.type, &a[i * size]),
                                           plain_of(reduction.type, &b[i * size])),
                            wanted);
                ASSERT_TRUE(same_number(reduction.type, &got[i * size], wanted))
                    << "type " << int{type} << " op " << int{op} << " element " << i;
            }
        }
    }
    EXPECT_EQ(tried, 8 * 10 + 4 * 4);
}

TEST(Reduce, NeedsNoAlignment) {
    const Reduction sum{DataType::kU64, ReduceOp::kSum};
    std::vector<std::byte> a(8 * 5 + 1);
    std::vector<std::byte> b(8 * 5 + 3);
    a[1] = std::byte{40};
    b[3] = std::byte{2};
    reduce_into(sum, std::span(a).subspan(1), b.data() + 3);
    EXPECT_EQ(a[1], std::byte{42});
}

TEST(Reduce, OfEqualValuesTheLowerTagCounts) {
    struct Located {
        std::int32_t value;
        std::int32_t tag;
    };
    for (const ReduceOp op : {ReduceOp::kMaxLoc, ReduceOp::kMinLoc}) {
        const Reduction reduction{DataType::kI32, op, DataType::kI32};
        ASSERT_TRUE(is_supported(reduction));
        const bool max = op == ReduceOp::kMaxLoc;
        Located a[3] = {{5, 9}, {7, 1}, {-3, 2}};
        const Located b[3] = {{5, 4}, {9, 3}, {-4, 1}};
        reduce_into(reduction, std::as_writable_bytes(std::span(a)),
                    reinterpret_cast<const std::byte*>(b));
        EXPECT_EQ(a[0].tag, 4);
        EXPECT_EQ(a[1].value, max ? 9 : 7);
        EXPECT_EQ(a[1].tag, max ? 3 : 1);
        EXPECT_EQ(a[2].value, max ? -3 : -4);
    }
}

TEST(Reduce, FloatsHaveNoBitsAndTagsAreIntegers) {
    EXPECT_FALSE(is_supported({DataType::kF32, ReduceOp::kBitAnd}));
    EXPECT_FALSE(is_supported({DataType::kBf16, ReduceOp::kLogicalOr}));
    EXPECT_FALSE(is_supported({DataType::kF32, ReduceOp::kMaxLoc, DataType::kF32}));
    EXPECT_FALSE(is_supported({DataType::kF32, ReduceOp::kMaxLoc, DataType::kU8}));
    EXPECT_FALSE(is_supported({static_cast<DataType>(12), ReduceOp::kSum}));
    EXPECT_FALSE(is_supported({DataType::kF32, static_cast<ReduceOp>(12)}));
}

TEST(Program, FoldsSubtreesBeforeTheyAreAdded) {
    // The sum (a + b) + (c + d), of floats whose rounding shows the order.
    const float values[] = {1e30F, 1.0F, -1e30F, 2.0F};
    std::vector<const std::byte*> in;
    for (const float& value : values) {
        in.push_back(reinterpret_cast<const std::byte*>(&value));
    }
    const std::vector<Step> steps{
        {Step::kPush, 0}, {Step::kAdd, 1}, {Step::kPush, 2}, {Step::kAdd, 3}, {Step::kFold, 0}};
    ASSERT_EQ(stack_depth(steps, 4), 2U);
    float result = 0;
    std::byte scratch[sizeof(float)];
    execute(steps, {DataType::kF32, ReduceOp::kSum}, in,
            std::as_writable_bytes(std::span(&result, 1)), scratch);
    EXPECT_EQ(result, (1e30F + 1.0F) + (-1e30F + 2.0F));
}

TEST(Program, WhatIsNoProgramHasNoDepth) {
    using Steps = std::vector<Step>;
    EXPECT_EQ(stack_depth(Steps{}, 1), 0U);
    EXPECT_EQ(stack_depth(Steps{{Step::kAdd, 0}}, 1), 0U);
    EXPECT_EQ(stack_depth(Steps{{Step::kPush, 1}}, 1), 0U);
    EXPECT_EQ(stack_depth(Steps{{Step::kPush, 0}, {Step::kPush, 0}}, 1), 0U);
    EXPECT_EQ(stack_depth(Steps{{Step::kPush, 0}, {Step::kFold, 0}}, 1), 0U);
    EXPECT_EQ(stack_depth(Steps{{static_cast<Step::Kind>(9), 0}}, 1), 0U);
}

}  // namespace
}  // namespace softib::sharp
