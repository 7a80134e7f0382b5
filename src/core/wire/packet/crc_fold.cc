// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/crc_fold.h"

#include "core/base/check.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/wire/packet/crc_shift.h"

namespace softib::wire {

namespace {

#define SOFTIB_NARROW __attribute__((target("pclmul,sse4.1")))
#define SOFTIB_WIDE __attribute__((target("vpclmulqdq,avx512f,pclmul,sse4.1")))

constexpr std::size_t kNarrowBytes = 16;
constexpr std::size_t kWideBytes = 64;
constexpr std::size_t kLanes = 4;  ///< Independent sums, to hide the latency of multiplications.

/// The factors that move 16 bytes over a distance; the first half of the bytes is 64 bits further
/// away than the second. Multiplying mirrored numbers gives x times the product, so each exponent
/// is less by one.
struct Distance {
    std::uint64_t first_half;
    std::uint64_t second_half;
};
constexpr Distance distance(std::size_t bytes) {
    return {std::uint64_t{icrc_power(8 * bytes + 63)} << 32,
            std::uint64_t{icrc_power(8 * bytes - 1)} << 32};
}
constexpr Distance kOneNarrow = distance(kNarrowBytes);
constexpr Distance kAllNarrow = distance(kLanes * kNarrowBytes);
constexpr Distance kOneWide = distance(kWideBytes);
constexpr Distance kAllWide = distance(kLanes * kWideBytes);

SOFTIB_NARROW __m128i narrow(const Distance& by) {
    return _mm_set_epi64x(static_cast<long long>(by.second_half),
                          static_cast<long long>(by.first_half));
}
SOFTIB_NARROW __m128i load(const std::uint8_t* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
/// Moves a lane by a distance, and adds the bytes that are there.
SOFTIB_NARROW __m128i step(__m128i lane, __m128i by, __m128i there) {
    return _mm_xor_si128(there, _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00),
                                              _mm_clmulepi64_si128(lane, by, 0x11)));
}

SOFTIB_WIDE __m512i wide(const Distance& by) {
    const auto first = static_cast<long long>(by.first_half);
    const auto second = static_cast<long long>(by.second_half);
    return _mm512_set_epi64(second, first, second, first, second, first, second, first);
}
SOFTIB_WIDE __m512i load_wide(const std::uint8_t* at) {
    return _mm512_loadu_si512(at);
}
SOFTIB_WIDE __m512i step_wide(__m512i lane, __m512i by, __m512i there) {
    constexpr int kXorOfThree = 0x96;
    return _mm512_ternarylogic_epi64(there, _mm512_clmulepi64_epi128(lane, by, 0x00),
                                     _mm512_clmulepi64_epi128(lane, by, 0x11), kXorOfThree);
}

/// Folds the bytes from `at` on, in whole steps, of which there must be at least one. Moves `at`
/// behind them.
SOFTIB_NARROW __m128i fold_narrow(std::uint32_t state, const std::uint8_t*& at,
                                  const std::uint8_t* end) {
    constexpr std::ptrdiff_t kStep = kLanes * kNarrowBytes;
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128(static_cast<int>(state)));
    __m128i b = load(at + kNarrowBytes);
    __m128i c = load(at + 2 * kNarrowBytes);
    __m128i d = load(at + 3 * kNarrowBytes);
    const __m128i all = narrow(kAllNarrow);
    for (at += kStep; end - at >= kStep; at += kStep) {
        a = step(a, all, load(at));
        b = step(b, all, load(at + kNarrowBytes));
        c = step(c, all, load(at + 2 * kNarrowBytes));
        d = step(d, all, load(at + 3 * kNarrowBytes));
    }
    const __m128i one = narrow(kOneNarrow);
    return step(step(step(a, one, b), one, c), one, d);
}

SOFTIB_WIDE __m128i fold_wide(std::uint32_t state, const std::uint8_t*& at,
                              const std::uint8_t* end) {
    constexpr std::ptrdiff_t kStep = kLanes * kWideBytes;
    __m512i a = _mm512_xor_si512(
        load_wide(at), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
    __m512i b = load_wide(at + kWideBytes);
    __m512i c = load_wide(at + 2 * kWideBytes);
    __m512i d = load_wide(at + 3 * kWideBytes);
    const __m512i all = wide(kAllWide);
    for (at += kStep; end - at >= kStep; at += kStep) {
        a = step_wide(a, all, load_wide(at));
        b = step_wide(b, all, load_wide(at + kWideBytes));
        c = step_wide(c, all, load_wide(at + 2 * kWideBytes));
        d = step_wide(d, all, load_wide(at + 3 * kWideBytes));
    }
    const __m512i one = wide(kOneWide);
    a = step_wide(step_wide(step_wide(a, one, b), one, c), one, d);
    std::array<std::uint8_t, kWideBytes> rest;
    _mm512_storeu_si512(rest.data(), a);
    const __m128i next = narrow(kOneNarrow);
    __m128i folded = load(rest.data());
    for (std::size_t i = kNarrowBytes; i < kWideBytes; i += kNarrowBytes) {
        folded = step(folded, next, load(&rest[i]));
    }
    return folded;
}

bool can_fold_wide() {
    static const bool can =
        __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx512f") != 0;
    return can;
}

}  // namespace

bool can_fold() {
    static const bool can =
        __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
    return can;
}

SOFTIB_NARROW std::array<std::uint8_t, 16> fold(std::uint32_t state,
                                                std::span<const std::uint8_t>& bytes) {
    SOFTIB_CHECK(bytes.size() >= kFoldBytesMin);
    const std::uint8_t* at = bytes.data();
    const std::uint8_t* const end = at + bytes.size();
    __m128i folded = bytes.size() >= kLanes * kWideBytes && can_fold_wide()
                         ? fold_wide(state, at, end)
                         : fold_narrow(state, at, end);
    const __m128i one = narrow(kOneNarrow);
    for (; static_cast<std::size_t>(end - at) >= kNarrowBytes; at += kNarrowBytes) {
        folded = step(folded, one, load(at));
    }
    bytes = bytes.last(static_cast<std::size_t>(end - at));
    std::array<std::uint8_t, 16> out;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.data()), folded);
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
