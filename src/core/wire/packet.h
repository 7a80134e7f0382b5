// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A whole packet as it is on a wire: LRH, perhaps GRH, BTH, what the opcode adds, payload, padding,
// ICRC, VCRC (IBA vol. 1, chapters 5 to 9). Parsing gives a view into the bytes it was given and
// copies no payload. Reserved bits are not kept, so a forwarder must forward the bytes themselves.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/wire/link.h"
#include "core/wire/network.h"
#include "core/wire/opcode.h"
#include "core/wire/transport.h"

namespace softib::wire {

inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kVcrcBytes = 2;
inline constexpr std::size_t kPayloadBytesMax = 4096;
/// With 32 bytes of extended headers, the most that stand before a payload: a WRITE with immediate
/// data of a reliable datagram. An XRC request for an atomic operation has as many.
inline constexpr std::size_t kPacketBytesMax = Lrh::kBytes + Grh::kBytes + Bth::kBytes +
                                               XrcEth::kBytes + AtomicEth::kBytes +
                                               kPayloadBytesMax + kIcrcBytes + kVcrcBytes;

enum class PacketError : std::uint8_t {
    kTooShort,  ///< Fewer bytes than its headers take; when emitting: no room.
    kVcrc,      ///< Or LPCRC.
    kLinkVersion,
    kLength,  ///< PktLen or PayLen says something else.
    kNotIba,  ///< A raw packet: LNH, or the GRH's version or next header.
    kIcrc,
    kTransportVersion,
    kOpcode,
    kPayload,  ///< Too long, with an opcode that has none, or shorter than its padding.
    kNotRoce,  ///< Not UDP to RoCEv2's port, in fragments, with IP options or without addresses.
    kIpChecksum,
    kUdpChecksum,
};

std::string_view to_string(PacketError error);

/// Those extended headers that the opcode does not have are neither read nor written.
struct PacketHeaders {
    Lrh lrh;
    std::optional<Grh> grh;
    Bth bth;
    Rdeth rdeth;
    XrcEth xrc_eth;
    Deth deth;
    Reth reth;
    AtomicEth atomic_eth;
    Aeth aeth;
    AtomicAckEth atomic_ack_eth;
    ImmDt imm_dt;
    Ieth ieth;

    friend bool operator==(const PacketHeaders&, const PacketHeaders&) = default;
};

/// "LRH VL 0 LVer 0 ... BTH OpCode 0x4 ...": the headers that the packet has.
std::string to_string(const PacketHeaders& headers);

struct Packet {
    PacketHeaders headers;
    std::span<const std::uint8_t> payload;  ///< Without padding.
};

/// Parses exactly one packet, VCRC included; both CRCs must be right.
std::expected<Packet, PacketError> parse_packet(std::span<const std::uint8_t> bytes);

/// Writes the packet and says how many bytes it took; its payload may be in its place already.
/// Follows from the rest, whatever is given: LNH, PktLen, PayLen, PadCnt, both check sums, and the
/// three versions and NxtHdr.
std::expected<std::size_t, PacketError> emit_packet(const PacketHeaders& headers,
                                                    std::span<const std::uint8_t> payload,
                                                    std::span<std::uint8_t> out);

/// The same of a packet that ends with its ICRC: on a way that has a check sum of its own.
std::expected<Packet, PacketError> parse_without_vcrc(std::span<const std::uint8_t> bytes);
std::expected<std::size_t, PacketError> emit_without_vcrc(const PacketHeaders& headers,
                                                          std::span<const std::uint8_t> payload,
                                                          std::span<std::uint8_t> out);

std::expected<FlowControlPacket, PacketError> parse_flow_control(
    std::span<const std::uint8_t> bytes);

/// With the LPCRC that belongs to it, whatever is given.
void emit_flow_control(FlowControlPacket packet,
                       std::span<std::uint8_t, FlowControlPacket::kBytes> out);

}  // namespace softib::wire
