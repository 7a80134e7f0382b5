// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Gives MADs of class 0x0B (SHARP) and data packets to an aggregation node. Returns whether a MAD
/// that the node refused changed nothing, and all packets that the node sent are well-formed.
bool sharp_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
