// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The checks that a port makes of every packet it receives, before the packet is forwarded (IBA
// vol. 1, 7.3: packet receiver and data packet check).

#include <cstdint>
#include <span>

namespace softib::wire {

enum class Arrival : std::uint8_t {
    kGood,
    kPhysical,   ///< The VCRC is wrong; a cut-through switch has begun to forward the packet.
    kMalformed,  ///< LVer, length or VL is wrong; the port refuses the packet by its first bytes.
};

struct ArrivalRules {
    std::uint8_t data_vls = 1;    ///< The data VLs that the port has, besides VL15.
    std::uint32_t bytes_max = 0;  ///< The longest packet, from the LRH to the VCRC.
};

Arrival check_arrival(std::span<const std::uint8_t> bytes, const ArrivalRules& rules);

}  // namespace softib::wire
