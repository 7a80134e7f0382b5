// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Limits of an HCA: how many objects of each kind all processes have of it together. The limits
// that ibv_query_device reports are in the arena's header, and a process that makes an object takes
// its share first.

#include <array>
#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::live {

/// By ObjectKind; kDeviceMemory is in bytes. The arena's tables hold this for several HCAs of a
/// fabric, and memory for it is found where --arena leaves room.
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

/// How many objects of the kind all processes have of this HCA now.
inline std::atomic<std::int64_t>& objects_in_use(const Arena& arena, std::uint32_t hca,
                                                 ObjectKind kind) {
    return arena.hcas[hca].objects[static_cast<std::size_t>(kind)];
}

std::uint32_t object_limit(const Arena& arena, ObjectKind kind);

/// For the daemon: gives the shares of a process that has ended back to the HCAs.
void give_back_shares(const Arena& arena, ProcSlot& slot);

}  // namespace softib::live
