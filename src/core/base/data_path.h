// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace softib {

/// How bytes get from one program of a live fabric to another. kDirect: the sender's own thread
/// copies them. kPacket: the carrier, a process that is every HCA and every switch, sends them as
/// packets.
enum class DataPath : std::uint32_t { kDirect = 0, kPacket = 1 };

}  // namespace softib
