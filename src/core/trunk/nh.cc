// SPDX-License-Identifier: BSD-2-Clause
#include "core/trunk/nh.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace softib::trunk {

namespace {

constexpr std::size_t kPairBytes = 8;

std::uint64_t product(std::uint64_t pair, const std::uint32_t* secret) {
    return std::uint64_t{static_cast<std::uint32_t>(pair) + secret[0]} *
           (static_cast<std::uint32_t>(pair >> 32) + secret[1]);
}

#if defined(__SSE2__)

constexpr std::size_t kStepBytes = 64;

__m128i load(const void* at) {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

/// Returns the products of two pairs.
__m128i products(const std::uint8_t* at, const std::uint32_t* secret) {
    const __m128i sums = _mm_add_epi32(load(at), load(secret));
    return _mm_mul_epu32(sums, _mm_srli_epi64(sums, 32));
}

/// Returns the sum over the first `steps` steps of kStepBytes each.
std::uint64_t sum_of_steps(const std::uint8_t* at, const std::uint32_t* secret, std::size_t steps) {
    __m128i even = _mm_setzero_si128();
    __m128i odd = _mm_setzero_si128();
    for (; steps != 0; --steps, at += kStepBytes, secret += kStepBytes / 4) {
        even = _mm_add_epi64(even, products(at, secret));
        odd = _mm_add_epi64(odd, products(at + 16, secret + 4));
        even = _mm_add_epi64(even, products(at + 32, secret + 8));
        odd = _mm_add_epi64(odd, products(at + 48, secret + 12));
    }
    std::uint64_t halves[2];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves), _mm_add_epi64(even, odd));
    return halves[0] + halves[1];
}

#endif

}  // namespace

std::uint64_t nh(std::span<const std::uint8_t> block, std::span<const std::uint32_t> secret) {
    SOFTIB_CHECK((block.size() + kPairBytes - 1) / kPairBytes <= secret.size() / 2);
    std::uint64_t sum = 0;
    std::size_t done = 0;
#if defined(__SSE2__)
    sum = sum_of_steps(block.data(), secret.data(), block.size() / kStepBytes);
    done = block.size() / kStepBytes * kStepBytes;
#endif
    while (done < block.size()) {
        const std::size_t bytes = std::min(kPairBytes, block.size() - done);
        std::uint64_t pair = 0;
        std::memcpy(&pair, block.data() + done, bytes);
        sum += product(pair, &secret[done / 4]);
        done += bytes;
    }
    return sum;
}

}  // namespace softib::trunk
