// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Limits of an HCA: how many objects of each kind all processes together may have on it. The
// limits, which ibv_query_device reports, are in the arena's header. A process that makes an object
// first adds it to the HCA's count.

#include <array>
#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::shm {

/// The limits of an HCA by ObjectKind; kDeviceMemory is in bytes. The arena's tables have room for
/// this many objects on each of two HCAs. The memory behind them is limited by --arena.
inline constexpr std::array<std::uint32_t, kObjectKinds> kObjectLimits{
    1U << 18,  // kQp
    1U << 17,  // kCq
    1U << 18,  // kMr
    1U << 18,  // kMw
    1U << 16,  // kPd
    1U << 15,  // kSrq
    1U << 24,  // kAh
    1U << 20,  // kDeviceMemory
};
static_assert(kObjectLimits[0] <= kQpsMax / 2 && kObjectLimits[1] <= kCqsMax / 2 &&
              kObjectLimits[2] + kObjectLimits[3] <= kMrsMax / 2 &&
              kObjectLimits[5] <= kSrqsMax / 2);

/// Returns the number of objects of a kind that all processes together have on an HCA now.
inline std::atomic<std::int64_t>& objects_in_use(const Arena& arena, std::uint32_t hca,
                                                 ObjectKind kind) {
    return arena.hcas[hca].objects[static_cast<std::size_t>(kind)];
}

/// Returns how many objects of a kind an HCA can have.
std::uint32_t object_limit(const Arena& arena, ObjectKind kind);

/// Subtracts the objects of a process that has ended from the counts of the HCAs; for the daemon.
void give_back_shares(const Arena& arena, ProcSlot& slot);

}  // namespace softib::shm
