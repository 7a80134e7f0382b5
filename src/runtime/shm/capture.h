// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Packets on their way to a capture (softib capture): the carrier, and for MADs the daemon, write
// them into a ring in the arena. A packet that finds no room is counted and dropped: no writer
// waits for the capture.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"

namespace softib::live {

struct CapturedPacket {
    std::uint64_t time_ns = 0;     ///< Since 1970.
    std::uint32_t wire_bytes = 0;  ///< On the cable; `bytes` may be fewer.
    std::vector<std::uint8_t> bytes;
};

/// Writes a packet with the present time. `me`: the writer's name in locks.
void capture_put(const Arena& arena, CaptureSlot& slot, LockWord me,
                 std::span<const std::uint8_t> bytes);
/// Reads the next packet; for the process that captures. Returns false if there is none.
bool capture_get(const Arena& arena, CaptureSlot& slot, CapturedPacket& out);

}  // namespace softib::live
