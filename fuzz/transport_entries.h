// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Packets of any bytes into an HCA with a queue pair of every type, sending and receiving.
bool transport_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
