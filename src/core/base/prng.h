// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace softib {

/// A random number generator: xoshiro256** seeded by splitmix64. Unlike those of the standard
/// library, it gives the same numbers for a seed with every compiler and library.
class Prng {
  public:
    explicit Prng(std::uint64_t seed);

    std::uint64_t next();
    /// Returns a number that is uniform in [0, bound); `bound` must not be 0.
    std::uint64_t below(std::uint64_t bound);
    /// Returns true with probability numerator/denominator.
    bool chance(std::uint32_t numerator, std::uint32_t denominator);

  private:
    std::uint64_t state_[4];
};

}  // namespace softib
