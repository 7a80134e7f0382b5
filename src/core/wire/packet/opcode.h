// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// BTH.OpCode: three bits of transport and five of operation, which together determine the extended
// headers (IBA vol. 1, 9.2.1 and table 38; XRC: annex A14; CNP: annexes A10 and A17; ATOMIC WRITE:
// annex A19). Of reliable datagrams only the formats are supported.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/wire/packet/transport.h"

namespace softib::wire {

enum class Transport : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kCnp = 4, kXrc = 5 };

enum class Operation : std::uint8_t {
    kSendFirst = 0x00,
    kSendMiddle = 0x01,
    kSendLast = 0x02,
    kSendLastImm = 0x03,
    kSendOnly = 0x04,
    kSendOnlyImm = 0x05,
    kWriteFirst = 0x06,
    kWriteMiddle = 0x07,
    kWriteLast = 0x08,
    kWriteLastImm = 0x09,
    kWriteOnly = 0x0A,
    kWriteOnlyImm = 0x0B,
    kReadRequest = 0x0C,
    kReadResponseFirst = 0x0D,
    kReadResponseMiddle = 0x0E,
    kReadResponseLast = 0x0F,
    kReadResponseOnly = 0x10,
    kAcknowledge = 0x11,
    kAtomicAcknowledge = 0x12,
    kCompareSwap = 0x13,
    kFetchAdd = 0x14,
    kResync = 0x15,
    kSendLastInvalidate = 0x16,
    kSendOnlyInvalidate = 0x17,
    kAtomicWrite = 0x1D,
};

/// Bits of the extended headers, in their order on the wire.
namespace extended {
inline constexpr std::uint16_t kRdeth = 0x001;
inline constexpr std::uint16_t kXrcEth = 0x002;
inline constexpr std::uint16_t kDeth = 0x004;
inline constexpr std::uint16_t kReth = 0x008;
inline constexpr std::uint16_t kAtomicEth = 0x010;
inline constexpr std::uint16_t kAeth = 0x020;
inline constexpr std::uint16_t kAtomicAckEth = 0x040;
inline constexpr std::uint16_t kImmDt = 0x080;
inline constexpr std::uint16_t kIeth = 0x100;
}  // namespace extended

struct OpcodeInfo {
    Transport transport{};
    Operation operation{};
    std::uint16_t headers = 0;  ///< Bits of `extended`.
    bool has_payload = false;   ///< The packet has a payload, which may be empty.

    std::size_t header_bytes() const;
    friend bool operator==(const OpcodeInfo&, const OpcodeInfo&) = default;
};

constexpr std::uint8_t opcode(Transport transport, Operation operation) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(transport) << 5 |
                                     static_cast<unsigned>(operation));
}

/// The opcode of a congestion notification packet of InfiniBand, which has no payload.
inline constexpr std::uint8_t kCnpOpcode = 0x80;
/// The opcode of a congestion notification packet of RoCEv2, whose payload is 16 bytes of zeros.
inline constexpr std::uint8_t kRoceCnpOpcode = 0x81;
inline constexpr std::size_t kRoceCnpPayloadBytes = 16;

/// Returns the properties of an opcode; std::nullopt if it is reserved or of an unknown transport.
std::optional<OpcodeInfo> opcode_info(std::uint8_t opcode);

std::string_view to_string(Transport transport);  ///< Returns "RC", for example.
std::string_view to_string(Operation operation);  ///< Returns "SEND Only with Immediate".

}  // namespace softib::wire
