// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How many packets a message becomes, and how many 4-byte words they put on the link. The port
// counters count these: PortXmitData is the number of bytes from the LRH to the ICRC, without the
// VCRC, divided by four (IBA vol. 1, 16.1.3.5). All functions are inline and have no branches that
// a hot path would mispredict, since they run once per operation.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/hca/qp_state.h"

namespace softib::hca {

struct WireCost {
    std::uint64_t packets = 0;
    std::uint64_t words = 0;

    friend constexpr bool operator==(const WireCost&, const WireCost&) = default;
};

/// Operations that a requester puts on the wire, with the values of ibv_wr_opcode.
enum class WireOp : std::uint8_t {
    kWrite = 0,
    kWriteImm = 1,
    kSend = 2,
    kSendImm = 3,
    kRead = 4,
    kCmpSwap = 5,
    kFetchAdd = 6,
    kSendInv = 9,
};

/// Header sizes in words (IBA vol. 1, chapters 7 to 9; XRCETH: annex A14).
namespace header_words {
inline constexpr std::uint8_t kLrh = 2;
inline constexpr std::uint8_t kGrh = 10;
inline constexpr std::uint8_t kBth = 3;
inline constexpr std::uint8_t kDeth = 2;
inline constexpr std::uint8_t kXrceth = 1;
inline constexpr std::uint8_t kReth = 4;
inline constexpr std::uint8_t kAtomicEth = 7;
inline constexpr std::uint8_t kImmDt = 1;
inline constexpr std::uint8_t kIeth = 1;
inline constexpr std::uint8_t kAeth = 1;
inline constexpr std::uint8_t kAtomicAckEth = 2;
inline constexpr std::uint8_t kIcrc = 1;
}  // namespace header_words

/// The properties of a path that decide the cost of a message. Computed once per queue pair or, for
/// datagrams, once per address handle.
struct WireFormat {
    std::uint32_t mtu_bytes = 0;
    std::uint8_t mtu_log2 = 0;
    std::uint8_t request_words = 0;   ///< Words of headers and ICRC in every packet of a request.
    std::uint8_t response_words = 0;  ///< Words of headers and ICRC in every packet of a response.
};

/// Returns the format of a path; `mtu_bytes` is one of 256, 512, 1024, 2048, 4096.
WireFormat make_wire_format(QpType type, bool with_grh, std::uint32_t mtu_bytes);

namespace detail {

/// Words that a request carries once, in its first or last packet: RETH in the first of a WRITE,
/// immediate or invalidated key in the last (IBA vol. 1, 9.4).
inline constexpr std::array<std::uint8_t, 10> kWordsOnce{
    header_words::kReth,                         // WRITE
    header_words::kReth + header_words::kImmDt,  // WRITE with immediate
    0,                                           // SEND
    header_words::kImmDt,                        // SEND with immediate
    header_words::kReth,                         // READ request
    header_words::kAtomicEth,                    // compare and swap
    header_words::kAtomicEth,                    // fetch and add
    0,                                           // (local)
    0,                                           // (local)
    header_words::kIeth,                         // SEND with invalidate
};

/// Returns the number of packets of a message; one without payload is still one packet.
constexpr std::uint64_t packet_count(const WireFormat& format, std::uint64_t length_bytes) {
    const std::uint64_t full = (length_bytes + format.mtu_bytes - 1) >> format.mtu_log2;
    return full + (full == 0 ? 1 : 0);
}

/// Returns the words of payload in all packets. Only the last packet is padded, since a path MTU is
/// a multiple of four (IBA vol. 1, 9.2.4).
constexpr std::uint64_t payload_words(std::uint64_t length_bytes) {
    return (length_bytes + 3) / 4;
}

}  // namespace detail

/// Returns the cost of a request. READs and atomics are one packet whatever their length. The
/// caller has checked that the transport has the operation and that a datagram fits the MTU.
constexpr WireCost request_cost(const WireFormat& format, WireOp op, std::uint64_t length_bytes) {
    const bool no_payload =
        op == WireOp::kRead || op == WireOp::kCmpSwap || op == WireOp::kFetchAdd;
    const std::uint64_t carried_bytes = no_payload ? 0 : length_bytes;
    const std::uint64_t packets = detail::packet_count(format, carried_bytes);
    return {packets, packets * format.request_words +
                         detail::kWordsOnce[static_cast<std::size_t>(op)] +
                         detail::payload_words(carried_bytes)};
}

/// Returns the cost of the response to a READ. The first, last and only packets carry an AETH, the
/// middle ones do not (IBA vol. 1, 9.4.4).
constexpr WireCost read_response_cost(const WireFormat& format, std::uint64_t length_bytes) {
    const std::uint64_t packets = detail::packet_count(format, length_bytes);
    const std::uint64_t aeth = packets == 1 ? 1 : 2;
    return {packets, packets * format.response_words + aeth * header_words::kAeth +
                         detail::payload_words(length_bytes)};
}

constexpr WireCost ack_cost(const WireFormat& format) {
    return {1, std::uint64_t{format.response_words} + header_words::kAeth};
}

constexpr WireCost atomic_ack_cost(const WireFormat& format) {
    return {1, std::uint64_t{format.response_words} + header_words::kAeth +
                   header_words::kAtomicAckEth};
}

}  // namespace softib::hca
