// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An incast for tests: 32 hosts of a tree of 128, with switches of 16 ports, send to one.

#include <cstdint>

#include "net/test_fabrics.h"

namespace softib::net {

inline constexpr std::uint32_t kTarget = 0;
inline constexpr std::uint32_t kVictim = 16;   ///< On the third leaf, with seven that send there.
inline constexpr std::uint32_t kVictimTo = 8;  ///< On the second; its routes pass the same spine.
inline constexpr TimePs kBegin = 500'000'000;  ///< Measured from here.
/// What no flow is slowed by for another's sake: the seven need 7/32 of the cable to the spine.
inline constexpr double kFairShare = 1 - 7.0 / 32;

}  // namespace softib::net
