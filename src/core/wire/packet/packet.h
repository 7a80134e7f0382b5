// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A whole packet as it is on the wire: LRH, GRH if it has one, BTH, the extended headers of its
// opcode, payload, padding, ICRC, VCRC (IBA vol. 1, chapters 5 to 9). A parsed packet points into
// the bytes that were parsed; the payload is not copied. Reserved bits are not kept, so a switch or
// router must forward the bytes themselves.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/wire/packet/link.h"
#include "core/wire/packet/network.h"
#include "core/wire/packet/opcode.h"
#include "core/wire/packet/transport.h"

namespace softib::wire {

inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kVcrcBytes = 2;
inline constexpr std::size_t kPayloadBytesMax = 4096;
/// The length of the longest packet. It has 32 bytes of extended headers, the most that any opcode
/// has: a WRITE with immediate data of a reliable datagram, and an atomic request of XRC.
inline constexpr std::size_t kPacketBytesMax = Lrh::kBytes + Grh::kBytes + Bth::kBytes +
                                               XrcEth::kBytes + AtomicEth::kBytes +
                                               kPayloadBytesMax + kIcrcBytes + kVcrcBytes;

enum class PacketError : std::uint8_t {
    kTooShort,  ///< There are fewer bytes than its headers take; when emitting: no room.
    kVcrc,      ///< The VCRC or LPCRC is wrong.
    kLinkVersion,
    kLength,  ///< PktLen or PayLen differs from the length of the packet.
    kNotIba,  ///< A raw packet, by its LNH or by the version or next header of its GRH.
    kIcrc,
    kTransportVersion,
    kOpcode,
    kPayload,  ///< The payload is too long, not allowed by the opcode, or shorter than its padding.
    kNotRoce,  ///< Not UDP to RoCEv2's port, a fragment, with IP options, or without addresses.
    kIpChecksum,
    kUdpChecksum,
};

std::string_view to_string(PacketError error);

/// The headers of a packet. Extended headers that the opcode does not have are neither read nor
/// written.
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

/// Returns the headers that the packet has, as "LRH VL 0 LVer 0 ... BTH OpCode 0x4 ...".
std::string to_string(const PacketHeaders& headers);

struct Packet {
    PacketHeaders headers;
    std::span<const std::uint8_t> payload;  ///< Without padding.
};

/// Parses exactly one packet, which ends with its VCRC; both CRCs must be right.
std::expected<Packet, PacketError> parse_packet(std::span<const std::uint8_t> bytes);

/// Writes a packet to `out` and returns its number of bytes. `payload` may be in its place in `out`
/// already. The function computes LNH, PktLen, PayLen, PadCnt, NxtHdr, the three versions and both
/// CRCs, whatever `headers` has for them.
std::expected<std::size_t, PacketError> emit_packet(const PacketHeaders& headers,
                                                    std::span<const std::uint8_t> payload,
                                                    std::span<std::uint8_t> out);

/// Parses exactly one packet that ends with its ICRC, as on a path with another check sum.
std::expected<Packet, PacketError> parse_without_vcrc(std::span<const std::uint8_t> bytes);
/// Writes a packet without a VCRC to `out`, otherwise like emit_packet().
std::expected<std::size_t, PacketError> emit_without_vcrc(const PacketHeaders& headers,
                                                          std::span<const std::uint8_t> payload,
                                                          std::span<std::uint8_t> out);

std::expected<FlowControlPacket, PacketError> parse_flow_control(
    std::span<const std::uint8_t> bytes);

/// Writes a flow control packet with the right LPCRC, whatever `packet` has for it.
void emit_flow_control(FlowControlPacket packet,
                       std::span<std::uint8_t, FlowControlPacket::kBytes> out);

}  // namespace softib::wire
