// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How much a test tries. A sanitizer takes ten to fifty times as long for each try, and finds what
// it looks for in the first few.

#include <cstddef>
#include <vector>

namespace softib {

#ifdef SOFTIB_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Returns how often a test tries something: `full`, or `sanitized` with a sanitizer.
template <typename Number>
consteval Number effort(Number full, Number sanitized) {
    return kSanitized ? sanitized : full;
}

/// Returns all cases; with a sanitizer every n-th of them, the first one included.
template <typename Case>
std::vector<Case> sample(const std::vector<Case>& all, std::size_t n) {
    std::vector<Case> some;
    for (std::size_t i = 0; i < all.size(); i += kSanitized ? n : 1) {
        some.push_back(all[i]);
    }
    return some;
}

}  // namespace softib
