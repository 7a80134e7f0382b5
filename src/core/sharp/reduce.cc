// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/reduce.h"

#include <cstring>
#include <type_traits>

#include "core/base/check.h"
#include "core/sharp/small_float.h"

namespace softib::sharp {

namespace {

struct HalfBits {
    std::uint16_t bits;
};
struct BrainBits {
    std::uint16_t bits;
};

template <typename T>
T load_element(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <typename T>
void store_element(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

/// Converts an element to the type in which it is reduced: float for floats of 16 bits.
template <typename T>
auto widen(T value) {
    if constexpr (std::is_same_v<T, HalfBits>) {
        return from_f16(value.bits);
    } else if constexpr (std::is_same_v<T, BrainBits>) {
        return from_bf16(value.bits);
    } else {
        return value;
    }
}

template <typename T, typename Wide>
T narrow(Wide value) {
    if constexpr (std::is_same_v<T, HalfBits>) {
        return {to_f16(value)};
    } else if constexpr (std::is_same_v<T, BrainBits>) {
        return {to_bf16(value)};
    } else {
        return static_cast<T>(value);
    }
}

/// Applies `fn` to two numbers so that integers wrap: they are computed as unsigned numbers of at
/// least 32 bits, since smaller ones would be promoted to a signed type.
template <typename T, typename Fn>
T wrapping(T a, T b, Fn&& fn) {
    if constexpr (std::is_integral_v<T>) {
        using Wide = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;
        return static_cast<T>(fn(static_cast<Wide>(a), static_cast<Wide>(b)));
    } else {
        return fn(a, b);
    }
}

template <ReduceOp Op, typename T>
T apply_op(T a, T b) {
    if constexpr (Op == ReduceOp::kMax) {
        return a < b ? b : a;
    } else if constexpr (Op == ReduceOp::kMin) {
        return b < a ? b : a;
    } else if constexpr (Op == ReduceOp::kSum) {
        return wrapping(a, b, [](auto x, auto y) { return x + y; });
    } else if constexpr (Op == ReduceOp::kProd) {
        return wrapping(a, b, [](auto x, auto y) { return x * y; });
    } else if constexpr (Op == ReduceOp::kLogicalAnd) {
        return static_cast<T>(a != 0 && b != 0);
    } else if constexpr (Op == ReduceOp::kBitAnd) {
        return static_cast<T>(a & b);
    } else if constexpr (Op == ReduceOp::kLogicalOr) {
        return static_cast<T>(a != 0 || b != 0);
    } else if constexpr (Op == ReduceOp::kBitOr) {
        return static_cast<T>(a | b);
    } else if constexpr (Op == ReduceOp::kLogicalXor) {
        return static_cast<T>((a != 0) != (b != 0));
    } else {
        return static_cast<T>(a ^ b);
    }
}

template <ReduceOp Op, typename T>
void reduce_elements(std::span<std::byte> accumulator, const std::byte* operand) {
    std::byte* const into = accumulator.data();
    for (std::size_t i = 0; i < accumulator.size(); i += sizeof(T)) {
        const auto a = widen(load_element<T>(into + i));
        const auto b = widen(load_element<T>(operand + i));
        store_element(into + i, narrow<T>(apply_op<Op>(a, b)));
    }
}

/// Reduces elements with tags. Among equal values the one with the lower tag wins, as in MPI.
template <bool Max, typename T, typename Tag>
void reduce_located(std::span<std::byte> accumulator, const std::byte* operand) {
    constexpr std::size_t kBytes = sizeof(T) + sizeof(Tag);
    for (std::size_t i = 0; i < accumulator.size(); i += kBytes) {
        std::byte* const here = accumulator.data() + i;
        const auto a = widen(load_element<T>(here));
        const auto b = widen(load_element<T>(operand + i));
        const bool better = Max ? a < b : b < a;
        const bool equal = !(a < b) && !(b < a);
        if (better || (equal && load_element<Tag>(operand + i + sizeof(T)) <
                                    load_element<Tag>(here + sizeof(T)))) {
            std::memcpy(here, operand + i, kBytes);
        }
    }
}

/// Returns what `fn` returns for a value of the type.
template <typename Fn>
Reducer with_integer(DataType type, Fn&& fn) {
    switch (type) {
        case DataType::kU32:
            return fn(std::uint32_t{});
        case DataType::kI32:
            return fn(std::int32_t{});
        case DataType::kU64:
            return fn(std::uint64_t{});
        case DataType::kI64:
            return fn(std::int64_t{});
        case DataType::kU16:
            return fn(std::uint16_t{});
        case DataType::kI16:
            return fn(std::int16_t{});
        case DataType::kU8:
            return fn(std::uint8_t{});
        case DataType::kI8:
            return fn(std::int8_t{});
        default:
            SOFTIB_CHECK(false);
    }
}

template <typename Fn>
Reducer with_number(DataType type, Fn&& fn) {
    switch (type) {
        case DataType::kF32:
            return fn(float{});
        case DataType::kF64:
            return fn(double{});
        case DataType::kF16:
            return fn(HalfBits{});
        case DataType::kBf16:
            return fn(BrainBits{});
        default:
            return with_integer(type, fn);
    }
}

template <ReduceOp Op>
Reducer number_reducer(DataType type) {
    return with_number(
        type, [](auto sample) -> Reducer { return reduce_elements<Op, decltype(sample)>; });
}

template <ReduceOp Op>
Reducer integer_reducer(DataType type) {
    return with_integer(
        type, [](auto sample) -> Reducer { return reduce_elements<Op, decltype(sample)>; });
}

template <bool Max>
Reducer located_reducer(DataType type, DataType tag_type) {
    return with_number(type, [&](auto sample) -> Reducer {
        return with_integer(tag_type, [](auto tag) -> Reducer {
            return reduce_located<Max, decltype(sample), decltype(tag)>;
        });
    });
}

}  // namespace

Reducer reducer_of(const Reduction& reduction) {
    SOFTIB_CHECK(is_supported(reduction));
    const DataType type = reduction.type;
    switch (reduction.op) {
        case ReduceOp::kMax:
            return number_reducer<ReduceOp::kMax>(type);
        case ReduceOp::kMin:
            return number_reducer<ReduceOp::kMin>(type);
        case ReduceOp::kSum:
            return number_reducer<ReduceOp::kSum>(type);
        case ReduceOp::kProd:
            return number_reducer<ReduceOp::kProd>(type);
        case ReduceOp::kLogicalAnd:
            return integer_reducer<ReduceOp::kLogicalAnd>(type);
        case ReduceOp::kBitAnd:
            return integer_reducer<ReduceOp::kBitAnd>(type);
        case ReduceOp::kLogicalOr:
            return integer_reducer<ReduceOp::kLogicalOr>(type);
        case ReduceOp::kBitOr:
            return integer_reducer<ReduceOp::kBitOr>(type);
        case ReduceOp::kLogicalXor:
            return integer_reducer<ReduceOp::kLogicalXor>(type);
        case ReduceOp::kBitXor:
            return integer_reducer<ReduceOp::kBitXor>(type);
        case ReduceOp::kMaxLoc:
            return located_reducer<true>(type, reduction.tag);
        case ReduceOp::kMinLoc:
            return located_reducer<false>(type, reduction.tag);
    }
    SOFTIB_CHECK(false);
}

void reduce_into(const Reduction& reduction, std::span<std::byte> accumulator,
                 const std::byte* operand) {
    SOFTIB_CHECK(accumulator.size() % reduction.element_bytes() == 0);
    reducer_of(reduction)(accumulator, operand);
}

}  // namespace softib::sharp
