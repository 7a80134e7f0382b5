// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What programs share with the carrier, the process that is every HCA, cable and switch of the
// packet path: calls, rings of send requests, bells, captures. Part of arena.h; packet_queue.h and
// capture.h use it.

#include <atomic>
#include <cstdint>

#include "core/hca/qp_attr.h"
#include "runtime/shm/arena_constants.h"

namespace softib::shm {

/// A call of a process to the carrier. A process makes one at a time.
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
    std::uint32_t index;  ///< Table index of the queue pair or shared receive queue.
    std::uint32_t mask;   ///< Attributes that kModifyQp changes.
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
    std::atomic<std::uint32_t> tail;  ///< How many the owner has posted.
};

/// The bells by which programs tell the carrier that they have work for it: a bit for each process
/// that calls, and a bit for each queue pair, with two levels of summary above the latter.
struct Bells {
    static constexpr std::uint32_t kWords = kQpsMax / 64;
    alignas(64) std::atomic<std::uint64_t> calls[kProcsMax / 64];
    alignas(64) std::atomic<std::uint64_t> top[kWords / 64 / 64];
    alignas(64) std::atomic<std::uint64_t> middle[kWords / 64];
    alignas(64) std::atomic<std::uint64_t> qps[kWords];
};

/// A process that captures packets, with a ring of records (capture.h) in its memory.
struct CaptureSlot {
    std::atomic<std::uint32_t> owner;  ///< 0: not in use.
    std::uint32_t snap_bytes;          ///< The most bytes to keep of a packet.
    std::uint64_t ring_off;
    std::uint64_t ring_bytes;         ///< A power of two.
    std::atomic<std::uint32_t> lock;  ///< Held by the writer: the carrier or the daemon.
    alignas(64) std::atomic<std::uint64_t> written;  ///< Bytes ever written.
    std::atomic<std::uint64_t> missed;               ///< Packets that found no room.
    alignas(64) std::atomic<std::uint64_t> read;     ///< Bytes ever read.
};
inline constexpr std::uint32_t kCaptures = 8;

}  // namespace softib::shm
