// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The headers of IPv4 (RFC 791, without options) and UDP (RFC 768). An IPv6 header looks like a
// GRH (network.h).

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::uint8_t kIpProtocolUdp = 17;

struct Ipv4Header {
    static constexpr std::size_t kBytes = 20;

    std::uint8_t version = 4;
    std::uint8_t header_words = 5;
    std::uint8_t tos = 0;
    std::uint16_t total_bytes = 0;  ///< From this header to the end of the datagram.
    std::uint16_t id = 0;
    bool dont_fragment = false;
    bool more_fragments = false;
    std::uint16_t fragment_offset = 0;
    std::uint8_t ttl = 0;
    std::uint8_t protocol = kIpProtocolUdp;
    std::uint16_t checksum = 0;
    std::uint32_t source = 0;
    std::uint32_t destination = 0;

    static constexpr auto fields() {
        using T = Ipv4Header;
        return Fields{
            Field{&T::version, "Version", 0, 4},
            Field{&T::header_words, "IHL", 4, 4},
            Field{&T::tos, "TOS", 8, 8},
            Field{&T::total_bytes, "TotalLength", 16, 16},
            Field{&T::id, "Identification", 32, 16},
            Field{&T::dont_fragment, "DF", 49, 1},
            Field{&T::more_fragments, "MF", 50, 1},
            Field{&T::fragment_offset, "FragmentOffset", 51, 13},
            Field{&T::ttl, "TTL", 64, 8},
            Field{&T::protocol, "Protocol", 72, 8},
            Field{&T::checksum, "Checksum", 80, 16}.hex(),
            Field{&T::source, "Source", 96, 32}.hex(),
            Field{&T::destination, "Destination", 128, 32}.hex(),
        };
    }
    friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;
};
static_assert(layout_is_sound<Ipv4Header>());

struct UdpHeader {
    static constexpr std::size_t kBytes = 8;

    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint16_t bytes = 0;     ///< The length of this header and the payload.
    std::uint16_t checksum = 0;  ///< 0: there is no checksum.

    static constexpr auto fields() {
        using T = UdpHeader;
        return Fields{
            Field{&T::source_port, "SourcePort", 0, 16},
            Field{&T::destination_port, "DestinationPort", 16, 16},
            Field{&T::bytes, "Length", 32, 16},
            Field{&T::checksum, "Checksum", 48, 16}.hex(),
        };
    }
    friend bool operator==(const UdpHeader&, const UdpHeader&) = default;
};
static_assert(layout_is_sound<UdpHeader>());

}  // namespace softib::wire
