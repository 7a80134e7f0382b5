// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Packets on their way to somebody who watches (softib capture): the carrier, and the daemon where
// it carries them, write them into a ring in the watcher's memory. What finds no room is counted:
// nobody waits for the watcher.

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

/// `me`: the writer's name in locks. It is a packet of now.
void capture_put(const Arena& arena, CaptureSlot& slot, LockWord me,
                 std::span<const std::uint8_t> bytes);
/// By the watcher; false: nothing new.
bool capture_get(const Arena& arena, CaptureSlot& slot, CapturedPacket& out);

}  // namespace softib::live
