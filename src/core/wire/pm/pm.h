// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The performance management class (IBA vol. 1, 16.1): the place of its data in a MAD, its
// attributes and capabilities. The format of each attribute has a file of its own.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/mad/mad.h"

namespace softib::wire {

inline constexpr std::uint8_t kPmClassVersion = 1;
inline constexpr std::size_t kPmDataOffset = 64;
inline constexpr std::size_t kPmDataBytes = kMadBytes - kPmDataOffset;
/// The PortSelect that selects the sum over all ports of the node.
inline constexpr std::uint8_t kPmAllPorts = 255;

enum class PmAttribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kPortSamplesControl = 0x0010,
    kPortSamplesResult = 0x0011,
    kPortCounters = 0x0012,
    kPortRcvErrorDetails = 0x0015,
    kPortXmitDiscardDetails = 0x0016,
    kPortOpRcvCounters = 0x0017,
    kPortFlowCtlCounters = 0x0018,
    kPortVlOpPackets = 0x0019,
    kPortVlOpData = 0x001A,
    kPortVlXmitFlowCtlUpdateErrors = 0x001B,
    kPortVlXmitWaitCounters = 0x001C,
    kPortCountersExtended = 0x001D,
    kPortSamplesResultExtended = 0x001E,
    kPortExtendedSpeedsCounters = 0x001F,
    kSwPortVlCongestion = 0x0030,
    kPortRcvConCtrl = 0x0031,
    kPortSlRcvFecn = 0x0032,
    kPortSlRcvBecn = 0x0033,
    kPortXmitConCtrl = 0x0034,
    kPortVlXmitTimeCong = 0x0035,
    kPortXmitDataSl = 0x0036,
    kPortRcvDataSl = 0x0037,
};

/// Bits of ClassPortInfo:CapabilityMask.
namespace pm_capability {
inline constexpr std::uint16_t kAllPortSelect = 1 << 8;
inline constexpr std::uint16_t kIsExtendedWidthSupported = 1 << 9;
inline constexpr std::uint16_t kIsExtendedWidthSupportedNoIETF = 1 << 10;
inline constexpr std::uint16_t kSamplesOnlySupported = 1 << 11;
inline constexpr std::uint16_t kPortCountersXmitWaitSupported = 1 << 12;
inline constexpr std::uint16_t kIsInhibitLimitedPKeyMulticastConstraintErrors = 1 << 13;
inline constexpr std::uint16_t kIsRSFECModeSupported = 1 << 14;
inline constexpr std::uint16_t kIsQP1DroppedSupported = 1 << 15;
}  // namespace pm_capability

/// Bits of ClassPortInfo:CapabilityMask2.
namespace pm_capability2 {
inline constexpr std::uint32_t kIsPMKeySupported = 1 << 0;
inline constexpr std::uint32_t kIsAdditionalPortCountersExtendedSupported = 1 << 1;
}  // namespace pm_capability2

/// Returns the bytes of the attribute in a MAD.
inline std::span<std::uint8_t, kPmDataBytes> pm_data(MadBytes& mad) {
    return std::span(mad).subspan<kPmDataOffset, kPmDataBytes>();
}
inline std::span<const std::uint8_t, kPmDataBytes> pm_data(const MadBytes& mad) {
    return std::span(mad).subspan<kPmDataOffset, kPmDataBytes>();
}

}  // namespace softib::wire
