// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Rules of Ethernet switches that InfiniBand switches do not have: random marking of packets (RED
// with ECN), and the choice among equally good ports by a hash of the flow (ECMP).

#include <cstdint>
#include <span>

#include "core/base/mix.h"

namespace softib::sw {

/// When a queue marks packets: never up to `low_blocks`, always from `high_blocks` on, and between
/// them with a probability that grows from 0 to `most`.
struct EcnRule {
    std::uint32_t low_blocks = 0;   ///< K_min, in blocks of 64 bytes.
    std::uint32_t high_blocks = 0;  ///< K_max, in blocks of 64 bytes; 0: nothing is marked.
    double most = 0.01;             ///< P_max.

    /// Returns whether to mark a packet; `draw` is a random number, a new one for each packet.
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

/// The fields of a flow that a switch hashes. All RoCE packets have the same UDP destination port;
/// senders put what tells flows apart into the UDP source port (`entropy`).
struct FlowKey {
    std::uint16_t source = 0;
    std::uint16_t destination = 0;
    std::uint8_t entropy = 0;
};

/// Returns the port of a flow at a switch. Each switch has its own `seed`, so that the choice at
/// one switch does not determine the choice at the next.
constexpr std::uint8_t hashed_port(std::span<const std::uint8_t> ports, const FlowKey& flow,
                                   std::uint64_t seed) {
    const std::uint64_t key =
        std::uint64_t{flow.source} << 24 | std::uint64_t{flow.destination} << 8 | flow.entropy;
    return ports[mix(key ^ mix(seed)) % ports.size()];
}

}  // namespace softib::sw
