// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Element types and operations of reductions, numbered as in libsharp_coll's interface. Data
// packets carry these numbers, so they never change.

#include <cstddef>
#include <cstdint>

namespace softib::sharp {

enum class DataType : std::uint8_t {
    kU32 = 0,
    kI32 = 1,
    kU64 = 2,
    kI64 = 3,
    kF32 = 4,
    kF64 = 5,
    kU16 = 6,
    kI16 = 7,
    kF16 = 8,
    kBf16 = 9,
    kU8 = 10,
    kI8 = 11,
};
inline constexpr std::uint8_t kDataTypes = 12;

enum class ReduceOp : std::uint8_t {
    kMax = 0,
    kMin = 1,
    kSum = 2,
    kProd = 3,
    kLogicalAnd = 4,
    kBitAnd = 5,
    kLogicalOr = 6,
    kBitOr = 7,
    kLogicalXor = 8,
    kBitXor = 9,
    kMaxLoc = 10,
    kMinLoc = 11,
};
inline constexpr std::uint8_t kReduceOps = 12;

/// Returns whether elements of the operation have a tag behind their value (MINLOC, MAXLOC).
constexpr bool has_tag(ReduceOp op) {
    return op == ReduceOp::kMaxLoc || op == ReduceOp::kMinLoc;
}
constexpr bool is_float(DataType type) {
    return type == DataType::kF16 || type == DataType::kBf16 || type == DataType::kF32 ||
           type == DataType::kF64;
}

constexpr std::size_t size_of(DataType type) {
    switch (type) {
        case DataType::kU64:
        case DataType::kI64:
        case DataType::kF64:
            return 8;
        case DataType::kU32:
        case DataType::kI32:
        case DataType::kF32:
            return 4;
        case DataType::kU16:
        case DataType::kI16:
        case DataType::kF16:
        case DataType::kBf16:
            return 2;
        case DataType::kU8:
        case DataType::kI8:
            return 1;
    }
    return 1;
}

/// The element type and the operation of a reduction. An element of MINLOC and MAXLOC is a value
/// followed by its tag.
struct Reduction {
    DataType type = DataType::kU8;
    ReduceOp op = ReduceOp::kBitOr;
    DataType tag = DataType::kU32;  ///< The tag's type; MINLOC and MAXLOC only.

    constexpr std::size_t element_bytes() const {
        return size_of(type) + (has_tag(op) ? size_of(tag) : 0);
    }
    friend constexpr bool operator==(const Reduction&, const Reduction&) = default;
};

/// Returns whether aggregation nodes can do a reduction: logical and bitwise operations need
/// integers, and a tag must be an integer of 16 bits or more.
constexpr bool is_supported(const Reduction& reduction) {
    const auto type = static_cast<std::uint8_t>(reduction.type);
    const auto op = static_cast<std::uint8_t>(reduction.op);
    if (type >= kDataTypes || op >= kReduceOps) {
        return false;
    }
    if (has_tag(reduction.op)) {
        return static_cast<std::uint8_t>(reduction.tag) < kDataTypes && !is_float(reduction.tag) &&
               size_of(reduction.tag) > 1;
    }
    return !is_float(reduction.type) || reduction.op <= ReduceOp::kProd;
}

}  // namespace softib::sharp
