// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sizes of the arena's tables, and the words that all of them use. Part of arena.h.

#include <cstddef>
#include <cstdint>

#include "core/hca/vocabulary.h"

namespace softib::shm {

inline constexpr std::uint32_t kProcsMax = 10240;
inline constexpr std::uint32_t kStripesPerProc = 1024;
inline constexpr std::uint32_t kQpsMax = 1U << 20;
inline constexpr std::uint32_t kMrsMax = 1U << 20;
/// Processes claim table entries in batches of this size (alloc.h).
inline constexpr std::uint32_t kBatchEntries = 64;
inline constexpr std::uint32_t kCqsMax = kProcsMax * kBatchEntries;  ///< A batch for each process.
inline constexpr std::uint32_t kSrqsMax = kProcsMax * kBatchEntries;
static_assert(kProcsMax * kBatchEntries <= kQpsMax && kProcsMax * kBatchEntries <= kMrsMax);
inline constexpr std::uint64_t kChunkBytes = 64 * 1024;
inline constexpr std::uint32_t kLftEntries = 0xC000;
inline constexpr std::uint32_t kMftEntries = 0x3FFF;  ///< MLIDs 0xC000 to 0xFFFE.
inline constexpr std::uint32_t kPKeysPerPort = 32;
inline constexpr std::uint32_t kAggregationCounters = 9;
inline constexpr std::uint32_t kGidsPerPort = 8;
inline constexpr std::uint32_t kMcastGroupsMax = 1024;
inline constexpr std::uint32_t kMcastMembersMax = 240;  ///< QPs attached to one group.
inline constexpr std::uint64_t kPageBytes = 4096;

/// Index of a process slot plus one; 0 means no process.
using Owner = std::uint16_t;

using hca::LinkLayer;

/// Kinds of objects of which an HCA has a limited number (limits.h).
enum class ObjectKind : std::uint32_t { kQp, kCq, kMr, kMw, kPd, kSrq, kAh, kDeviceMemory };
inline constexpr std::size_t kObjectKinds = 8;

/// How registered memory is reached: as shared pages of the arena, by a copy of the kernel, by the
/// owner's helper thread, as GPU memory, or by mapping the owner's file.
enum class Tier : std::uint8_t { kShared = 1, kCopy = 2, kHelper = 3, kGpu = 4, kMapped = 5 };
inline constexpr std::size_t kTierEnd = 6;

}  // namespace softib::shm
