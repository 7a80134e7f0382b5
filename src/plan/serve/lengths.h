// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How many tokens prompts and answers have: a number, or a distribution.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "core/base/prng.h"

namespace softib::plan {

struct Lengths {
    enum class Kind : std::uint8_t { kFixed, kUniform, kExponential, kLognormal };
    Kind kind = Kind::kFixed;
    double mean = 0;                      ///< Mean, before limits; of kUniform that of both ends.
    double low = 0, high = 0;             ///< Ends of kUniform.
    double sigma = 0;                     ///< Standard deviation of the logarithm of kLognormal.
    static constexpr double kMost = 2e6;  ///< The most tokens of a prompt or answer.

    /// Returns a number of tokens, at least 1.
    std::uint32_t draw(Prng& random) const;
};

/// Parses "4096", "uniform:LOW:HIGH", "exp:MEAN" or "lognormal:MEAN:SIGMA". The error continues the
/// name of what is parsed: "must be ...".
std::expected<Lengths, std::string> parse_lengths(std::string_view text);

/// Returns a number between 0 and 1, neither of them.
double draw_part(Prng& random);
/// Returns a number with an exponential distribution.
double draw_exponential(Prng& random, double mean);

}  // namespace softib::plan
