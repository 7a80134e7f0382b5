// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/limits.h"

namespace softib::shm {

std::uint32_t object_limit(const Arena& arena, ObjectKind kind) {
    return arena.header->object_limits[static_cast<std::size_t>(kind)].load(
        std::memory_order_relaxed);
}

void give_back_shares(const Arena& arena, ProcSlot& slot) {
    for (HeldObjects& held : slot.held) {
        for (std::size_t k = 0; k < kObjectKinds; ++k) {
            const std::uint32_t count = held.count[k].exchange(0, std::memory_order_relaxed);
            if (count != 0 && held.hca < arena.header->hcas) {
                objects_in_use(arena, held.hca, static_cast<ObjectKind>(k))
                    .fetch_sub(count, std::memory_order_relaxed);
            }
        }
    }
}

}  // namespace softib::shm
