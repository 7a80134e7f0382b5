// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory windows, and the check of an R_Key that a request from a peer names. Both data paths
// follow these rules.

#include <cstdint>

#include "runtime/direct/memory/remote.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/types.h"

namespace softib::direct {

/// Returns the entry of an R_Key for a request that arrived at the queue pair `qpn`; nullptr if the
/// key does not allow the request, or is that of a window whose region is gone or that is bound to
/// another queue pair.
inline const shm::MrShared* find_remote_key(const shm::Arena& arena, std::uint32_t rkey,
                                            std::uint32_t pd, std::uint32_t qpn, std::uint64_t addr,
                                            std::uint64_t length, std::uint32_t access) {
    const shm::MrShared* mr = find_key(arena, rkey, pd, addr, length, access);
    if (mr != nullptr && hca::is_window(mr->kind)) [[unlikely]] {
        const shm::MrShared& region = arena.mrs[mr->parent];
        if (region.generation.load(std::memory_order_acquire) !=
                mr->generation.load(std::memory_order_relaxed) ||
            (mr->kind == hca::KeyKind::kWindow2 && mr->qpn != qpn)) {
            return nullptr;
        }
    }
    return mr;
}

/// Returns whether a queue pair of this protection domain may bind a window.
bool may_bind(const shm::Arena& arena, const shm::BindInfo& bind, std::uint32_t pd);

/// Binds a window to a queue pair. No request may be using the window. Returns false, with nothing
/// changed, if may_bind() forbids it.
bool bind_window(const shm::Arena& arena, const shm::BindInfo& bind, std::uint32_t pd,
                 std::uint32_t qpn);

/// Ends the binding of a type 2 window, for a request of a peer or of this process. The window is
/// of type 2B: only the queue pair that it is or was last bound to may invalidate it (IBA vol. 1,
/// 9.4.1.1.3 and 10.6.7.2). Returns false if the key is that of no such window.
bool invalidate_window(const shm::Arena& arena, std::uint32_t rkey, std::uint32_t pd,
                       std::uint32_t qpn);

}  // namespace softib::direct
