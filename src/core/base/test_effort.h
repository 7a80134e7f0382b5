// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How often a test repeats something. With a sanitizer each repetition takes ten to fifty times as
// long, and the first few repetitions find nearly all errors. make test is content with these few
// in all of its builds.

#include <cstddef>
#include <vector>

namespace softib {

#ifdef SOFTIB_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

#ifdef SOFTIB_SHORT_TESTS
inline constexpr bool kShortTests = true;
#else
inline constexpr bool kShortTests = kSanitized;
#endif

/// Returns how often a test repeats something: `full`, or `part` in a sanitizer build and in the
/// builds of make test.
template <typename Number>
consteval Number effort(Number full, Number part) {
    return kShortTests ? part : full;
}

/// Returns all cases; in a sanitizer build every n-th of them, beginning with the first.
template <typename Case>
std::vector<Case> sample(const std::vector<Case>& all, std::size_t n) {
    std::vector<Case> some;
    for (std::size_t i = 0; i < all.size(); i += kSanitized ? n : 1) {
        some.push_back(all[i]);
    }
    return some;
}

}  // namespace softib
