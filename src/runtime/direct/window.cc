// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/window.h"

#include <algorithm>

namespace softib::direct {

bool invalidate_window(const shm::Arena& arena, std::uint32_t rkey, std::uint32_t pd,
                       std::uint32_t qpn) {
    if (rkey >> 8 >= shm::kMrsMax) {
        return false;
    }
    shm::MrShared& mr = arena.mrs[rkey >> 8];
    if (mr.key.load(std::memory_order_acquire) != rkey || mr.kind != hca::KeyKind::kWindow2 ||
        mr.pd != pd || mr.qpn != qpn) {
        return false;
    }
    mr.length = 0;
    mr.ext_end = mr.ext_begin = 0;
    mr.access = 0;
    return true;
}

bool may_bind(const shm::Arena& arena, const shm::BindInfo& bind, std::uint32_t pd) {
    const shm::MrShared& window = arena.mrs[bind.mw_index];
    // Queue pair, window and region must have the same protection domain (IBA vol. 1, C10-72).
    if (window.pd != pd ||
        !hca::kind_allows_bind(window.kind, window.length != 0, bind.access, bind.length)) {
        return false;
    }
    if (bind.length == 0) {
        return true;
    }
    const shm::MrShared& region = arena.mrs[bind.mr_index];
    const std::uint64_t offset = bind.address - region.iova;
    const bool modifies = (bind.access & (hca::kRemoteWrite | hca::kRemoteAtomic)) != 0;
    return region.key.load(std::memory_order_acquire) != 0 && !hca::is_window(region.kind) &&
           region.pd == pd && (region.access & hca::kMwBind) != 0 && offset <= region.length &&
           bind.length <= region.length - offset &&
           (!modifies || (region.access & hca::kLocalWrite) != 0);
}

bool bind_window(const shm::Arena& arena, const shm::BindInfo& bind, std::uint32_t pd,
                 std::uint32_t qpn) {
    shm::MrShared& window = arena.mrs[bind.mw_index];
    const shm::MrShared& region = arena.mrs[bind.mr_index];
    // Read before may_bind() reads the region: if the region is deregistered after that, its
    // generation changes, and the window's key is invalid.
    const std::uint32_t generation = region.generation.load(std::memory_order_acquire);
    if (!may_bind(arena, bind, pd)) {
        return false;
    }
    window.key.store(0, std::memory_order_release);
    if (bind.length == 0) {
        window.length = 0;
        window.access = 0;
        window.ext_end = window.ext_begin = 0;
        window.key.store(bind.new_rkey, std::memory_order_release);
        return true;
    }
    // Addresses in a zero-based window count from its start.
    const std::uint64_t shift = (bind.access & hca::kZeroBased) != 0 ? bind.address : 0;
    window.iova = bind.address - shift;
    window.length = bind.length;
    window.access = bind.access & (hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic);
    window.ext_begin = region.ext_begin - shift;
    window.ext_end = region.ext_end - shift;
    window.ext_off = region.ext_off;
    if (shift > region.ext_begin) {  // Keeps the extent from wrapping below zero.
        const std::uint64_t skip = std::min(shift, region.ext_end) - region.ext_begin;
        window.ext_begin = 0;
        window.ext_end = region.ext_end > shift ? region.ext_end - shift : 0;
        window.ext_off = region.ext_off + skip;
    }
    window.va_delta = region.va_delta + shift;
    window.rest_tier = region.rest_tier;
    window.extents = 0;
    window.pieces_off = region.pieces_off;
    window.pieces = region.pieces;
    window.parent = bind.mr_index;
    window.generation.store(generation, std::memory_order_relaxed);
    window.qpn = qpn;
    window.key.store(bind.new_rkey, std::memory_order_release);
    return true;
}

}  // namespace softib::direct
