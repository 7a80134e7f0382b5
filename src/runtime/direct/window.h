// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory windows, and keys as a request from the wire may use them: the rules of both data paths.

#include <cstdint>

#include "runtime/direct/memory/remote.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/types.h"

namespace softib::live {

/// The entry of a key for a request that arrived at this queue pair, or nullptr.
inline const MrShared* find_remote_key(const Arena& arena, std::uint32_t rkey, std::uint32_t pd,
                                       std::uint32_t qpn, std::uint64_t addr, std::uint64_t length,
                                       std::uint32_t access) {
    const MrShared* mr = find_key(arena, rkey, pd, addr, length, access);
    if (mr != nullptr && is_window(mr->kind)) [[unlikely]] {
        const MrShared& region = arena.mrs[mr->parent];
        if (region.generation.load(std::memory_order_acquire) !=
                mr->generation.load(std::memory_order_relaxed) ||
            (mr->kind == KeyKind::kWindow2 && mr->qpn != qpn)) {
            return nullptr;
        }
    }
    return mr;
}

/// Whether a queue pair of a domain may bind a window.
bool may_bind(const Arena& arena, const BindInfo& bind, std::uint32_t pd);

/// Binds a window that nobody uses at the moment to a queue pair. Returns false, with nothing
/// changed, if it must not be bound.
bool bind_window(const Arena& arena, const BindInfo& bind, std::uint32_t pd, std::uint32_t qpn);

/// Ends the binding of a type 2 window, for a request from the wire or posted here. Such a window
/// belongs to a queue pair and its domain (type 2B), so only at the one that it is, or was last,
/// bound to (IBA vol. 1, 9.4.1.1.3 and 10.6.7.2). Returns false if the key is no such window's.
bool invalidate_window(const Arena& arena, std::uint32_t rkey, std::uint32_t pd, std::uint32_t qpn);

}  // namespace softib::live
