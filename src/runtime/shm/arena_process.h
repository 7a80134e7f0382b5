// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A process in the arena: its slot, its stripes, calls to its helper thread. Part of arena.h.

#include <atomic>
#include <cstdint>

#include "runtime/shm/arena_constants.h"
#include "runtime/shm/arena_packet.h"

namespace softib::live {

/// A sender holds its stripe's lock while it is the NIC for one of its queue pairs.
struct alignas(64) Stripe {
    /// Process-local spin lock; lives here so that lock and hazard share a cache line.
    std::atomic<std::uint32_t> lock;
    std::uint32_t reserved;
    /// 0: no operation under way; else kHazardBusy | owner of the target.
    std::atomic<std::uint64_t> hazard;
    /// The stripe's DeliveryRecord; 0 until it first delivers from a queue with several takers.
    std::atomic<std::uint64_t> delivery_off;
};
inline constexpr std::uint64_t kHazardBusy = std::uint64_t{1} << 32;
inline constexpr std::uint16_t kHazardAnyOwner = 0xFFFF;

enum class ProcState : std::uint32_t { kFree = 0, kAttaching = 1, kLive = 2, kDead = 3 };

/// A request to the target's helper thread (tier 3, and atomics on memory that is not shared).
struct ServiceCall {
    enum State : std::uint32_t {
        kIdle = 0,
        kClaimed = 1,
        kPosted = 2,
        kRunning = 3,
        kDone = 4,
        kAbandoned = 5,  ///< Runs, but its caller has given up: the helper frees the entry.
    };
    static constexpr unsigned kStateShift = 32;
    enum Op : std::uint32_t { kRead = 1, kWrite = 2, kFetchAdd = 3, kCompareSwap = 4 };
    /// LockWord of the caller and, above it, the State: one word, so that an entry never belongs
    /// to nobody while its caller lives.
    std::atomic<std::uint64_t> state;
    std::uint32_t op;
    std::uint32_t status;   ///< 0 or an errno value.
    std::uint64_t address;  ///< In the target's address space.
    std::uint64_t length;
    std::uint64_t bounce_off;
    std::uint64_t operand[2];
    std::uint64_t result;
};
inline constexpr std::uint32_t kServiceCalls = 16;

inline constexpr std::uint32_t kAsyncChannels = 128;  ///< Open contexts of one process.
inline constexpr std::uint32_t kDevicesPerProc = 256;

/// What one process has of an HCA's objects, so that the HCA gets back what a dead process had.
struct HeldObjects {
    std::uint32_t hca;
    std::atomic<std::uint32_t> count[kObjectKinds];
};

enum AttentionBits : std::uint32_t {
    kAttentionPeer = 1,   ///< A queue pair was moved to error, or a service call posted.
    kAttentionDeath = 2,  ///< A process died while it worked on our objects.
};

struct alignas(4096) ProcSlot {
    std::atomic<ProcState> state;
    std::uint32_t pid;
    std::uint64_t pid_namespace;
    std::uint64_t instance;  ///< Counts uses of this slot.
    std::uint32_t host_first;
    std::uint32_t uid;
    char command[32];
    std::atomic<std::uint64_t> bytes_by_tier[kTierEnd];  ///< Index is the Tier.
    std::atomic<std::uint32_t> regions_by_tier[kTierEnd];
    std::atomic<std::uint32_t> stripes_used;  ///< Stripes at and above this were never used.
    std::atomic<std::uint32_t> helper_ready;  ///< The helper thread serves calls.
    /// Odd while pages are being swapped for shared ones: a copy by address may not find them.
    std::atomic<std::uint32_t> page_swaps;
    std::atomic<std::uint32_t> peer_mappings;  ///< Of peers' memory, in this process (mappings.h).

    /// Futex word: peers add 1 and wake when the owner has something to look at.
    alignas(64) std::atomic<std::uint32_t> doorbell;
    std::atomic<std::uint32_t> helper_sleeping;
    /// AttentionBits, set by peers and the daemon, cleared by the owner's progress.
    alignas(64) std::atomic<std::uint32_t> attention;

    /// Asynchronous event channels of the open contexts, for events of a port.
    struct AsyncChannel {
        std::atomic<std::uint32_t> channel;  ///< 0: entry is free.
        std::uint32_t hca;
    } async_channels[kAsyncChannels];
    HeldObjects held[kDevicesPerProc];  ///< In the order of the process's devices.

    ServiceCall calls[kServiceCalls];
    CarrierCall carrier_call;
    Stripe stripes[kStripesPerProc];
};

}  // namespace softib::live
