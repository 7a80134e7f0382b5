// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace softib {

/// Returns a hash of `x` in which each bit depends on all bits of `x`: the last step of splitmix64.
/// A random draw made from a hash of its subject does not depend on the order of the draws.
constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

}  // namespace softib
