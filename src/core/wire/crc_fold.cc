// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/crc_fold.h"

#include "core/base/check.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/wire/crc_shift.h"

namespace softib::wire {

namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kLaneBytes = 16;

/// What moves 16 bytes over a distance: their first half is 64 bits further away than the second.
/// Multiplying mirrored numbers gives x times the product, so that each power is one less.
struct Distance {
    std::uint64_t first_half;
    std::uint64_t second_half;
};
constexpr Distance distance(unsigned bits) {
    return {std::uint64_t{icrc_power(bits + 63)} << 32, std::uint64_t{icrc_power(bits - 1)} << 32};
}
constexpr Distance kFar = distance(kLanes * kLaneBytes * 8);
constexpr Distance kNext = distance(kLaneBytes * 8);

__attribute__((target("pclmul,sse4.1"))) __m128i constant(const Distance& by) {
    return _mm_set_epi64x(static_cast<long long>(by.second_half),
                          static_cast<long long>(by.first_half));
}

__attribute__((target("pclmul,sse4.1"))) __m128i moved(__m128i lane, __m128i by) {
    return _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00),
                         _mm_clmulepi64_si128(lane, by, 0x11));
}

__attribute__((target("pclmul,sse4.1"))) __m128i load(const std::uint8_t* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

}  // namespace

bool can_fold() {
    static const bool can =
        __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
    return can;
}

__attribute__((target("pclmul,sse4.1"))) std::array<std::uint8_t, 16> fold(
    std::uint32_t state, std::span<const std::uint8_t>& bytes) {
    SOFTIB_CHECK(bytes.size() >= kFoldBytesMin);
    const std::uint8_t* at = bytes.data();
    std::size_t left = bytes.size();
    const auto step = [&] {
        at += kLanes * kLaneBytes;
        left -= kLanes * kLaneBytes;
    };
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128(static_cast<int>(state)));
    __m128i b = load(at + kLaneBytes);
    __m128i c = load(at + 2 * kLaneBytes);
    __m128i d = load(at + 3 * kLaneBytes);
    const __m128i far = constant(kFar);
    for (step(); left >= kLanes * kLaneBytes; step()) {
        a = _mm_xor_si128(moved(a, far), load(at));
        b = _mm_xor_si128(moved(b, far), load(at + kLaneBytes));
        c = _mm_xor_si128(moved(c, far), load(at + 2 * kLaneBytes));
        d = _mm_xor_si128(moved(d, far), load(at + 3 * kLaneBytes));
    }
    const __m128i next = constant(kNext);
    a = _mm_xor_si128(moved(a, next), b);
    a = _mm_xor_si128(moved(a, next), c);
    a = _mm_xor_si128(moved(a, next), d);
    bytes = bytes.last(left);
    std::array<std::uint8_t, 16> out;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.data()), a);
    return out;
}

}  // namespace softib::wire

#else

namespace softib::wire {

bool can_fold() {
    return false;
}

std::array<std::uint8_t, 16> fold(std::uint32_t, std::span<const std::uint8_t>&) {
    SOFTIB_CHECK(can_fold());
    return {};
}

}  // namespace softib::wire

#endif
