// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A process in the arena: its slot, its stripes, calls to its helper thread. Part of arena.h.

#include <atomic>
#include <cstdint>

#include "runtime/shm/arena_constants.h"
#include "runtime/shm/arena_packet.h"
#include "runtime/shm/favoured_lock.h"

namespace softib::shm {

/// A lock that some queue pairs of a process share, with a hazard. A thread holds the lock while it
/// acts as the NIC of one of these queue pairs.
struct alignas(64) Stripe {
    /// Between threads of the process; here so that lock and hazard share a cache line.
    FavouredLock lock;
    /// kHazardBusy | owner number of the process that is being worked on; 0: no operation is under
    /// way.
    std::atomic<std::uint64_t> hazard;
    /// Offset of the stripe's DeliveryRecord; 0: it has not yet delivered into a queue that several
    /// senders take from.
    std::atomic<std::uint64_t> delivery_off;
    /// Table index + 1 of the completion queue that the thread is adding to as its sole producer
    /// (sole_producer.h); 0: none.
    std::atomic<std::uint32_t> adding;
};
static_assert(sizeof(Stripe) == 64);
inline constexpr std::uint64_t kHazardBusy = std::uint64_t{1} << 32;
inline constexpr std::uint16_t kHazardAnyOwner = 0xFFFF;

enum class ProcState : std::uint32_t { kFree = 0, kAttaching = 1, kLive = 2, kDead = 3 };

/// A request of a peer to a process's helper thread: a copy (tier 3), or an atomic operation on
/// memory that is not shared.
struct ServiceCall {
    enum State : std::uint32_t {
        kIdle = 0,
        kClaimed = 1,
        kPosted = 2,
        kRunning = 3,
        kDone = 4,
        kAbandoned = 5,  ///< The helper runs it, but its caller has given up: the helper frees it.
    };
    static constexpr unsigned kStateShift = 32;
    enum Op : std::uint32_t { kRead = 1, kWrite = 2, kFetchAdd = 3, kCompareSwap = 4 };
    /// LockWord of the caller, and the State above it. They are one word, so that an entry in use
    /// always names its caller.
    std::atomic<std::uint64_t> state;
    std::uint32_t op;
    std::uint32_t status;   ///< 0 or an errno value.
    std::uint64_t address;  ///< Address in the process that is called.
    std::uint64_t length;
    std::uint64_t bounce_off;  ///< Offset of the buffer to copy to or from.
    std::uint64_t operand[2];
    std::uint64_t result;
};
inline constexpr std::uint32_t kServiceCalls = 16;

inline constexpr std::uint32_t kAsyncChannels = 128;  ///< Open contexts of one process.
inline constexpr std::uint32_t kDevicesPerProc = 256;

/// How many objects a process has on an HCA. The daemon subtracts them from the HCA's counts when
/// the process has died.
struct HeldObjects {
    std::uint32_t hca;
    std::atomic<std::uint32_t> count[kObjectKinds];
};

/// What a process must look at, in ProcSlot::attention.
enum AttentionBits : std::uint32_t {
    kAttentionPeer = 1,   ///< A peer moved a queue pair to error, or posted a ServiceCall.
    kAttentionDeath = 2,  ///< A process died while it worked on this process's objects.
};

/// A process's place in the arena.
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
    std::atomic<std::uint32_t> helper_ready;  ///< 1: the helper thread serves calls.
    /// Odd while the process swaps pages for arena pages: a copy by address may then not find them.
    std::atomic<std::uint32_t> page_swaps;
    std::atomic<std::uint32_t> peer_mappings;  ///< Mappings of peers' memory here (mappings.h).

    /// Futex word: peers add 1 and wake the helper when the process has something to look at.
    alignas(64) std::atomic<std::uint32_t> doorbell;
    std::atomic<std::uint32_t> helper_sleeping;
    /// AttentionBits, set by peers and the daemon, cleared by the process when it has looked.
    alignas(64) std::atomic<std::uint32_t> attention;

    /// Asynchronous event channels of the open contexts, for events of a port.
    struct AsyncChannel {
        std::atomic<std::uint32_t> channel;  ///< 0: this entry is free.
        std::uint32_t hca;
    } async_channels[kAsyncChannels];
    HeldObjects held[kDevicesPerProc];  ///< In the order of the process's devices.

    ServiceCall calls[kServiceCalls];
    CarrierCall carrier_call;
    Stripe stripes[kStripesPerProc];
};

}  // namespace softib::shm
