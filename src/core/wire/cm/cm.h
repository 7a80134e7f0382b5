// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The communication management class (IBA vol. 1, 12.6): the place of its messages in a MAD, and
// the codes in them. The format of each message has a file of its own.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/mad/mad.h"

namespace softib::wire {

inline constexpr std::uint8_t kCmClassVersion = 2;
inline constexpr std::size_t kCmDataOffset = kMadHeaderBytes;
inline constexpr std::size_t kCmDataBytes = kMadBytes - kCmDataOffset;

enum class CmAttribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kReq = 0x0010,
    kMra = 0x0011,
    kRej = 0x0012,
    kRep = 0x0013,
    kRtu = 0x0014,
    kDreq = 0x0015,
    kDrep = 0x0016,
    kSidrReq = 0x0017,
    kSidrRep = 0x0018,
    kLap = 0x0019,
    kApr = 0x001A,
};

enum class TransportServiceType : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };

/// The Extended Transport Type of XRC, for TransportServiceType::kExtended.
inline constexpr std::uint8_t kExtendedTransportXrc = 1;

/// The number that a communication manager gives to a connection.
using CommunicationId = std::uint32_t;

/// Returns the bytes of the message in a MAD.
inline std::span<std::uint8_t, kCmDataBytes> cm_data(MadBytes& mad) {
    return std::span(mad).subspan<kCmDataOffset, kCmDataBytes>();
}
inline std::span<const std::uint8_t, kCmDataBytes> cm_data(const MadBytes& mad) {
    return std::span(mad).subspan<kCmDataOffset, kCmDataBytes>();
}

}  // namespace softib::wire
