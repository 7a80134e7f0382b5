// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace softib::wire {

/// How a query compares the MTU, Rate or PacketLifeTime of a path or multicast group.
enum class Selector : std::uint8_t { kGreaterThan = 0, kLessThan = 1, kExactly = 2, kBest = 3 };

}  // namespace softib::wire
