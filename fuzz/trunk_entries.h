// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Gives datagrams to one end of a trunk, some of them sealed with its key. Returns whether every
/// datagram without a seal was refused, none was accepted twice, and the items in an accepted one
/// end within its bytes.
bool trunk_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
