// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "net/plant/packet.h"

namespace softib::net {

/// What an engine has counted since it was made.
struct EngineStats {
    std::uint64_t events = 0;
    std::uint64_t hops = 0;  ///< Packets put on a cable, or passed from a switch to its agent.
    std::uint64_t injected = 0;
    std::uint64_t copied = 0;  ///< Copies that switches made of multicast packets.
    std::uint64_t delivered = 0;
    std::uint64_t discarded = 0;  ///< Packets that switches, routers and HCAs dropped.
    std::uint64_t lost = 0;       ///< Packets lost on cables.
    std::uint64_t routed = 0;     ///< Packets that routers sent on.
    /// A hash of every arrival: when, where, what. It is a sum, so that it does not depend on the
    /// order in which events of one moment are handled.
    std::uint64_t log_hash = 0;

    /// Adds the arrival of a packet over a link to the hash.
    void log(std::uint32_t link, const Packet& packet, TimePs now) {
        std::uint64_t x = now * 0x9E3779B97F4A7C15 + link;
        x ^= std::uint64_t{packet.dlid} << 48 | std::uint64_t{packet.slid} << 32 |
             std::uint64_t{packet.bytes} << 16 | std::uint64_t{packet.in_vl} << 8 |
             (packet.flags & ~std::uint64_t{packet_flag::kOnCable});
        x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
        log_hash += x ^ x >> 32;
    }
};

}  // namespace softib::net
