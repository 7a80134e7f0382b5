// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The size of a message on the wire, as packets with headers.

#include <cstdint>

namespace softib::net::flow {

struct WireFormat {
    std::uint16_t mtu = 4096;
    std::uint16_t header_bytes = 26;  ///< Headers of each packet: LRH, BTH, ICRC, VCRC.
    /// Further header of the first packet: RETH of an RDMA WRITE.
    std::uint16_t first_header_bytes = 16;
    bool pads_last = false;  ///< The last packet is as long as the others.

    /// Returns the format of packets without headers, all of one length, as tests of the packet
    /// engine have them.
    static WireFormat bare(std::uint16_t packet_bytes = 4096) {
        return {.mtu = packet_bytes, .header_bytes = 0, .first_header_bytes = 0, .pads_last = true};
    }
    /// Returns the bytes of a message on the wire. A message without bytes is one packet.
    /// `extra_bytes`: further bytes of each packet, those of a GRH for example.
    std::uint64_t bytes_of(std::uint64_t message_bytes, std::uint32_t extra_bytes = 0) const {
        const std::uint64_t packets = message_bytes == 0 ? 1 : (message_bytes + mtu - 1) / mtu;
        return (pads_last ? packets * mtu : message_bytes) +
               packets * (std::uint64_t{header_bytes} + extra_bytes) + first_header_bytes;
    }
};

}  // namespace softib::net::flow
