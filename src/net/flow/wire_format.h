// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a message is on the wire: packets with headers.

#include <cstdint>

namespace softib::net::flow {

struct WireFormat {
    std::uint16_t mtu = 4096;
    std::uint16_t header_bytes = 26;        ///< Of each packet: LRH, BTH, ICRC, VCRC.
    std::uint16_t first_header_bytes = 16;  ///< Of the first one besides: RETH of an RDMA WRITE.
    bool pads_last = false;                 ///< The last packet is as long as the others.

    /// Packets without headers, all of one length: the format of hosts that tests of packets have.
    static WireFormat bare(std::uint16_t packet_bytes = 4096) {
        return {.mtu = packet_bytes, .header_bytes = 0, .first_header_bytes = 0, .pads_last = true};
    }
    /// A message without bytes is one packet. `extra_bytes`: that each packet has besides, of a
    /// GRH for example.
    std::uint64_t bytes_of(std::uint64_t message_bytes, std::uint32_t extra_bytes = 0) const {
        const std::uint64_t packets = message_bytes == 0 ? 1 : (message_bytes + mtu - 1) / mtu;
        return (pads_last ? packets * mtu : message_bytes) +
               packets * (std::uint64_t{header_bytes} + extra_bytes) + first_header_bytes;
    }
};

}  // namespace softib::net::flow
