// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// MADs of class 0x0B and data packets to an aggregation node at work: what it refuses changes
/// nothing, and what it sends are packets of the format.
bool sharp_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
