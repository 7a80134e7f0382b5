// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Packets for `softib capture`. The carrier, and for MADs the daemon, writes them into a ring in
// the arena, from which the capturing process reads them. A packet that finds no room in the ring
// is counted and not captured: no writer waits for the capturing process.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"

namespace softib::shm {

struct CapturedPacket {
    std::uint64_t time_ns = 0;     ///< Nanoseconds since 1970.
    std::uint32_t wire_bytes = 0;  ///< Length on the cable; `bytes` may have fewer.
    std::vector<std::uint8_t> bytes;
};

/// Writes a packet with the present time into a capture's ring. `me` is the writer's name in locks.
void capture_put(const Arena& arena, CaptureSlot& slot, LockWord me,
                 std::span<const std::uint8_t> bytes);
/// Reads the next packet from a ring; for the capturing process. Returns false if there is none.
bool capture_get(const Arena& arena, CaptureSlot& slot, CapturedPacket& out);

}  // namespace softib::shm
