// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The header of the reliable multi-packet protocol, which sends a message in several MADs (IBA
// vol. 1, 13.6.2). It follows the common MAD header.

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

inline constexpr std::size_t kRmppOffset = 24;
inline constexpr std::uint8_t kRmppVersion = 1;

enum class RmppType : std::uint8_t { kNone = 0, kData = 1, kAck = 2, kStop = 3, kAbort = 4 };

/// Bits of RMPPFlags.
namespace rmpp_flag {
inline constexpr std::uint8_t kActive = 1;  ///< The rest of the header is valid.
inline constexpr std::uint8_t kFirst = 2;
inline constexpr std::uint8_t kLast = 4;
}  // namespace rmpp_flag

/// The RRespTime that gives no response time.
inline constexpr std::uint8_t kRmppNoRespTime = 31;

/// RMPPStatus. A STOP has kResourcesExhausted, an ABORT has kTotalTimeTooLong or a later one.
enum class RmppStatus : std::uint8_t {
    kNormal = 0,
    kResourcesExhausted = 1,
    kTotalTimeTooLong = 118,
    kInconsistentLastAndLength = 119,
    kInconsistentFirstAndSegment = 120,
    kBadType = 121,
    kNewWindowLastTooSmall = 122,
    kSegmentNumberTooBig = 123,
    kIllegalStatus = 124,
    kUnsupportedVersion = 125,
    kTooManyRetries = 126,
    kUnspecified = 127,
};

struct RmppHeader {
    static constexpr std::size_t kBytes = 12;

    std::uint8_t rmpp_version = 0;
    RmppType rmpp_type{};
    std::uint8_t rresp_time = 0;
    std::uint8_t rmpp_flags = 0;
    RmppStatus rmpp_status{};
    std::uint32_t segment_number = 0;  ///< In an ACK: the last segment that arrived in order.
    std::uint32_t payload_length = 0;  ///< In an ACK: NewWindowLast.

    static constexpr auto fields() {
        using T = RmppHeader;
        return Fields{
            Field{&T::rmpp_version, "RMPPVersion", 0, 8},
            Field{&T::rmpp_type, "RMPPType", 8, 8},
            Field{&T::rresp_time, "RRespTime", 16, 5},
            Field{&T::rmpp_flags, "RMPPFlags", 21, 3}.hex(),
            Field{&T::rmpp_status, "RMPPStatus", 24, 8},
            Field{&T::segment_number, "SegmentNumber", 32, 32},
            Field{&T::payload_length, "PayloadLength", 64, 32},
        };
    }
    friend bool operator==(const RmppHeader&, const RmppHeader&) = default;
};
static_assert(layout_is_sound<RmppHeader>());

}  // namespace softib::wire
