// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reading and writing memory behind a key, wherever it is: straight in the arena (tier 1), by a
// system call into the owner's address space (tier 2), by asking the owner's helper (tier 3), or by
// a GPU's copy (gpu/memory.h). Callers have checked key, rights and bounds; they hold a hazard on
// the owner.

#include <sched.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>

#include "runtime/direct/memory/copy.h"
#include "runtime/direct/memory/copy_team.h"
#include "runtime/shm/arena.h"

namespace softib::live {

class Process;

/// Checks a key for [addr, addr + length) and returns its entry, or nullptr.
inline const MrShared* find_key(const Arena& arena, std::uint32_t key, std::uint32_t pd,
                                std::uint64_t addr, std::uint64_t length, std::uint32_t access) {
    const std::uint32_t index = key >> 8;
    if (index >= kMrsMax) [[unlikely]] {
        return nullptr;
    }
    const MrShared& mr = arena.mrs[index];
    if (mr.key.load(std::memory_order_acquire) != key || key == 0 || mr.pd != pd ||
        (mr.access & access) != access) [[unlikely]] {
        return nullptr;
    }
    const std::uint64_t offset = addr - mr.iova;
    if (offset > mr.length || length > mr.length - offset) [[unlikely]] {
        return nullptr;
    }
    return &mr;
}

/// The arena's address of a range that lies whole in the main extent, else nullptr.
inline std::byte* shared_address(const Arena& arena, const MrShared& mr, std::uint64_t addr,
                                 std::uint64_t length) {
    if (addr >= mr.ext_begin && addr + length <= mr.ext_end) [[likely]] {
        return arena.base + mr.ext_off + (addr - mr.ext_begin);
    }
    return nullptr;
}

// `from_gpu`, `to_gpu`: this process's memory is a GPU's.
// Return false if the owner's memory could not be reached: the process is gone or unmapped it, or
// (errno is ETIMEDOUT) its helper thread does not answer.
bool remote_write_slow(Process& process, const MrShared& mr, std::uint64_t addr, const void* from,
                       std::uint64_t length, bool from_gpu);
bool remote_read_slow(Process& process, const MrShared& mr, std::uint64_t addr, void* to,
                      std::uint64_t length, bool to_gpu);
bool remote_atomic_slow(Process& process, const MrShared& mr, std::uint64_t addr, bool compare_swap,
                        std::uint64_t compare_add, std::uint64_t swap, std::uint64_t& original);

/// Between memory that this process can address; CopyTeam::kBytesMin and more.
void copy_large(Process& process, void* to, const void* from, std::uint64_t length);

inline void copy_addressed(Process& process, void* to, const void* from, std::uint64_t length) {
    if (length < CopyTeam::kBytesMin) [[likely]] {
        copy_ordered(to, from, length);
    } else {
        copy_large(process, to, from, length);
    }
}

/// Whether a process ended, also while the kernel is still taking it apart.
bool owner_gone(const Process& process, Owner owner);

/// Executed by whoever can address the word.
std::uint64_t execute_atomic(void* word, bool compare_swap, std::uint64_t compare_add,
                             std::uint64_t swap);

inline bool remote_write(Process& process, const Arena& arena, const MrShared& mr,
                         std::uint64_t addr, const void* from, std::uint64_t length,
                         bool from_gpu = false) {
    std::byte* const to = shared_address(arena, mr, addr, length);
    if (to != nullptr && !from_gpu) [[likely]] {
        copy_addressed(process, to, from, length);
        return true;
    }
    return remote_write_slow(process, mr, addr, from, length, from_gpu);
}

inline bool remote_read(Process& process, const Arena& arena, const MrShared& mr,
                        std::uint64_t addr, void* to, std::uint64_t length, bool to_gpu = false) {
    const std::byte* const from = shared_address(arena, mr, addr, length);
    if (from != nullptr && !to_gpu) [[likely]] {
        copy_addressed(process, to, from, length);
        return true;
    }
    return remote_read_slow(process, mr, addr, to, length, to_gpu);
}

/// Runs a copy by system call between this process's memory and the owner's, again where one of the
/// two was swapping pages under it: the kernel then finds nothing there, or has taken hold of the
/// old page. 0 or errno.
template <typename Fn>
int copy_by_system(const ProcSlot& self, const ProcSlot& owner, std::uint64_t length, Fn&& copy) {
    constexpr std::uint32_t kTriesMax = 1'000'000;  // Its owner may have died half-way.
    const auto moving = [](const ProcSlot& slot, std::uint32_t before) {
        return before % 2 != 0 || slot.page_swaps.load(std::memory_order_seq_cst) != before;
    };
    for (std::uint32_t i = 0;; ++i) {
        const std::uint32_t owners = owner.page_swaps.load(std::memory_order_seq_cst);
        const std::uint32_t ours = self.page_swaps.load(std::memory_order_seq_cst);
        const auto moved = copy();
        if (moved < 0 && errno != EFAULT) {
            return errno;
        }
        // Also what succeeded may have gone to a page that was just being left.
        const bool done = moved == static_cast<ssize_t>(length);
        if (i == kTriesMax || (!moving(owner, owners) && !moving(self, ours))) {
            return done ? 0 : EFAULT;
        }
        sched_yield();
    }
}

}  // namespace softib::live
