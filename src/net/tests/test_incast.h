// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An incast for tests: 32 hosts of a tree of 128 hosts, with switches of 16 ports, send to one
// host. A victim sends elsewhere over cables that some of them use.

#include <cstdint>

#include "net/tests/test_fabrics.h"

namespace softib::net {

inline constexpr std::uint32_t kTarget = 0;
/// The victim is on the third leaf, with seven hosts that send to the target.
inline constexpr std::uint32_t kVictim = 16;
/// The victim's destination is on the second leaf; routes to it pass the same spine.
inline constexpr std::uint32_t kVictimTo = 8;
inline constexpr TimePs kBegin = 500'000'000;  ///< When measurements begin.
/// The part of a link that the victim gets if it does not wait for the incast: the seven need 7/32
/// of the cable to the spine.
inline constexpr double kFairShare = 1 - 7.0 / 32;

}  // namespace softib::net
