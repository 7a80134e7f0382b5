// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What programs and the carrier of the packet path share: calls, rings of send requests, bells,
// captures. Part of arena.h; packet_queue.h and capture.h use it.

#include <atomic>
#include <cstdint>

#include "core/hca/qp_attr.h"
#include "runtime/shm/arena_constants.h"

namespace softib::live {

/// What a process asks of the carrier, one at a time.
struct CarrierCall {
    enum State : std::uint32_t { kIdle = 0, kPosted = 1, kDone = 2 };
    enum Op : std::uint32_t {
        kCreateQp = 1,
        kModifyQp = 2,
        kDestroyQp = 3,
        kCreateSrq = 4,
        kLimitSrq = 5,
        kDestroySrq = 6,
    };
    std::atomic<std::uint32_t> state;  ///< Futex word.
    Op op;
    std::uint32_t index;  ///< Of the queue pair or shared queue.
    std::uint32_t mask;   ///< kModifyQp
    std::int32_t status;  ///< 0 or an errno value.
    hca::QpAttr attr;
};

/// Send requests on their way to the carrier: slots of a PostedSend each (packet_queue.h).
struct SendRing {
    std::uint64_t ring_off;  ///< 0: none.
    std::uint32_t stride_bytes;
    std::uint32_t mask;
    std::uint32_t entries;
    std::uint32_t sges_max;
    std::uint32_t inline_max;
    std::uint32_t cq;  ///< Index into the CQ table.
    std::uint32_t signal_all;
    std::atomic<std::uint32_t> tail;  ///< Owner: posted.
};

/// Who has something for the carrier: a bit per process, and a bit per queue pair with two levels
/// of summary above it.
struct Bells {
    static constexpr std::uint32_t kWords = kQpsMax / 64;
    alignas(64) std::atomic<std::uint64_t> calls[kProcsMax / 64];
    alignas(64) std::atomic<std::uint64_t> top[kWords / 64 / 64];
    alignas(64) std::atomic<std::uint64_t> middle[kWords / 64];
    alignas(64) std::atomic<std::uint64_t> qps[kWords];
};

/// Somebody who watches packets: a ring of records (capture.h) in its memory.
struct CaptureSlot {
    std::atomic<std::uint32_t> owner;  ///< 0: not in use.
    std::uint32_t snap_bytes;          ///< Of each packet, at most.
    std::uint64_t ring_off;
    std::uint64_t ring_bytes;         ///< A power of two.
    std::atomic<std::uint32_t> lock;  ///< Of who writes: the carrier, or the daemon.
    alignas(64) std::atomic<std::uint64_t> written;
    std::atomic<std::uint64_t> missed;  ///< Packets that found no room.
    alignas(64) std::atomic<std::uint64_t> read;
};
inline constexpr std::uint32_t kCaptures = 8;

}  // namespace softib::live
