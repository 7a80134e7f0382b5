// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace softib {

/// xoshiro256** seeded through splitmix64. Our own, so that one seed gives one run on every
/// compiler and library.
class Prng {
  public:
    explicit Prng(std::uint64_t seed);

    std::uint64_t next();
    /// Uniform in [0, bound); bound must not be 0.
    std::uint64_t below(std::uint64_t bound);
    /// True with probability numerator/denominator.
    bool chance(std::uint32_t numerator, std::uint32_t denominator);

  private:
    std::uint64_t state_[4];
};

}  // namespace softib
