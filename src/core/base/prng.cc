// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/prng.h"

#include <bit>

#include "core/base/check.h"
#include "core/base/mix.h"

namespace softib {

Prng::Prng(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
        seed += 0x9E3779B97F4A7C15;
        word = mix(seed);
    }
}

std::uint64_t Prng::next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

std::uint64_t Prng::below(std::uint64_t bound) {
    SOFTIB_CHECK(bound != 0);
    // Rejection keeps the draw exactly uniform.
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t v = next();
    while (v >= limit) {
        v = next();
    }
    return v % bound;
}

bool Prng::chance(std::uint32_t numerator, std::uint32_t denominator) {
    return below(denominator) < numerator;
}

}  // namespace softib
