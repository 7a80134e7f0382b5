// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// BTH.OpCode: three bits of transport, five of operation, and the extended headers that the two
// together bring (IBA vol. 1, 9.2.1 and table 38; XRC: annex A14). Reliable datagrams have no
// entry.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/wire/transport.h"

namespace softib::wire {

enum class Transport : std::uint8_t { kRc = 0, kUc = 1, kUd = 3, kXrc = 5 };

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
    kSendLastInvalidate = 0x16,
    kSendOnlyInvalidate = 0x17,
};

/// Extended headers, a bit each, the first on the wire first.
namespace extended {
inline constexpr std::uint8_t kXrcEth = 0x01;
inline constexpr std::uint8_t kDeth = 0x02;
inline constexpr std::uint8_t kReth = 0x04;
inline constexpr std::uint8_t kAtomicEth = 0x08;
inline constexpr std::uint8_t kAeth = 0x10;
inline constexpr std::uint8_t kAtomicAckEth = 0x20;
inline constexpr std::uint8_t kImmDt = 0x40;
inline constexpr std::uint8_t kIeth = 0x80;
}  // namespace extended

struct OpcodeInfo {
    Transport transport{};
    Operation operation{};
    std::uint8_t headers = 0;  ///< Bits of `extended`.
    bool has_payload = false;  ///< It may still be empty.

    std::size_t header_bytes() const;
    friend bool operator==(const OpcodeInfo&, const OpcodeInfo&) = default;
};

constexpr std::uint8_t opcode(Transport transport, Operation operation) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(transport) << 5 |
                                     static_cast<unsigned>(operation));
}

/// Nothing for an opcode that is reserved, or of a transport that we do not know.
std::optional<OpcodeInfo> opcode_info(std::uint8_t opcode);

std::string_view to_string(Transport transport);  ///< "RC"
std::string_view to_string(Operation operation);  ///< "SEND Only with Immediate"

}  // namespace softib::wire
