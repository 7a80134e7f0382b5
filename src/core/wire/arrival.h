// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a port checks in every packet that comes in, before it is forwarded (IBA vol. 1, 7.3: packet
// receiver and data packet check).

#include <cstdint>
#include <span>

namespace softib::wire {

enum class Arrival : std::uint8_t {
    kGood,
    kPhysical,   ///< Its VCRC is wrong. A switch has begun to send it on by then.
    kMalformed,  ///< LVer, length or lane: seen in its first bytes, and refused.
};

struct ArrivalRules {
    std::uint8_t data_vls = 1;    ///< That the port has, besides VL15.
    std::uint32_t bytes_max = 0;  ///< From the LRH to the VCRC.
};

Arrival check_arrival(std::span<const std::uint8_t> bytes, const ArrivalRules& rules);

}  // namespace softib::wire
