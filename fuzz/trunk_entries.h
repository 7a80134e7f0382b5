// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Datagrams to one end of a trunk, some by a holder of the key: what nobody has sealed is refused,
/// nothing is taken twice, and what is taken ends where its bytes end.
bool trunk_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
