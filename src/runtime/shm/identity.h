// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The identity of our HCAs (PCI ids, versions, names), the same in verbs, sysfs and MADs.

#include <cstdint>

namespace softib::shm {

/// PCI ids of our own: a program that knows a vendor's hardware interface must not try it here.
inline constexpr std::uint16_t kPciVendor = 0xF1B0;
inline constexpr std::uint16_t kPciDevice = 0x0001;

inline constexpr char kFirmwareVersion[] = "1.0.0";
inline constexpr char kBoardId[] = "SOFTIB0000001";
inline constexpr char kHcaType[] = "softib";
inline constexpr std::uint32_t kHardwareRevision = 0;

}  // namespace softib::shm
