// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Rules of Ethernet switches that InfiniBand's do not have: marking by chance (RED with ECN) and
// the choice among equal ports by a hash of the flow (ECMP).

#include <cstdint>
#include <span>

#include "core/base/mix.h"

namespace softib::sw {

/// When a queue marks packets: never below `low`, always above `high`, and between them with a
/// chance that grows from 0 to `most`.
struct EcnRule {
    std::uint32_t low_blocks = 0;   ///< K_min; 64 bytes each.
    std::uint32_t high_blocks = 0;  ///< K_max; 0: nothing is marked.
    double most = 0.01;             ///< P_max.

    /// `draw`: any 64 bits that differ from packet to packet.
    constexpr bool marks(std::uint32_t queued_blocks, std::uint64_t draw) const {
        if (high_blocks == 0 || queued_blocks <= low_blocks) {
            return false;
        }
        if (queued_blocks >= high_blocks) {
            return true;
        }
        const double part = static_cast<double>(queued_blocks - low_blocks) /
                            static_cast<double>(high_blocks - low_blocks);
        return static_cast<double>(draw >> 11) * 0x1p-53 < most * part;
    }
};

/// What switches' hash units see of a flow. RoCE has one destination port for all; senders put what
/// tells flows apart into the source port (`entropy`).
struct FlowKey {
    std::uint16_t source = 0;
    std::uint16_t destination = 0;
    std::uint8_t entropy = 0;
};

/// The port of a flow at a switch. Switches differ by `seed`, so that the choice of one says
/// nothing about that of the next.
constexpr std::uint8_t hashed_port(std::span<const std::uint8_t> ports, const FlowKey& flow,
                                   std::uint64_t seed) {
    const std::uint64_t key =
        std::uint64_t{flow.source} << 24 | std::uint64_t{flow.destination} << 8 | flow.entropy;
    return ports[mix(key ^ mix(seed)) % ports.size()];
}

}  // namespace softib::sw
