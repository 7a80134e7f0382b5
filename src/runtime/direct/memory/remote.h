// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads and writes registered memory of any process: directly in the arena (tier 1), by a system
// call into the owner's address space (tier 2), by a call to the owner's helper thread (tier 3), by
// a mapping of the owner's shared memory (shared_memory.h), or by a copy of a GPU (gpu/memory.h).
// Callers have checked key, access rights and bounds, and hold a hazard on the owner.

#include <sched.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>

#include "runtime/direct/memory/copy.h"
#include "runtime/direct/memory/copy_team.h"
#include "runtime/shm/arena.h"

namespace softib::direct {

class Attachment;
class Process;

/// Returns the entry of an L_Key or R_Key; nullptr if the key is not valid, is of another
/// protection domain, lacks one of the `access` rights, or does not cover [addr, addr + length).
inline const shm::MrShared* find_key(const shm::Arena& arena, std::uint32_t key, std::uint32_t pd,
                                     std::uint64_t addr, std::uint64_t length,
                                     std::uint32_t access) {
    const std::uint32_t index = key >> 8;
    if (index >= shm::kMrsMax) [[unlikely]] {
        return nullptr;
    }
    const shm::MrShared& mr = arena.mrs[index];
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

/// Returns where the arena has [addr, addr + length) of a region, if the range lies whole in the
/// region's largest shared extent; otherwise nullptr.
inline std::byte* shared_address(const shm::Arena& arena, const shm::MrShared& mr,
                                 std::uint64_t addr, std::uint64_t length) {
    if (addr >= mr.ext_begin && addr + length <= mr.ext_end) [[likely]] {
        return arena.base + mr.ext_off + (addr - mr.ext_begin);
    }
    return nullptr;
}

// The general cases, for memory that shared_address() does not give. `from_gpu`, `to_gpu`: the
// memory of this process is a GPU's. They return false if the owner's memory could not be reached:
// the owner is gone or has unmapped it, or (errno is ETIMEDOUT) its helper thread does not answer.
bool remote_write_slow(Process& process, const shm::MrShared& mr, std::uint64_t addr,
                       const void* from, std::uint64_t length, bool from_gpu);
bool remote_read_slow(Process& process, const shm::MrShared& mr, std::uint64_t addr, void* to,
                      std::uint64_t length, bool to_gpu);
bool remote_atomic_slow(Process& process, const shm::MrShared& mr, std::uint64_t addr,
                        bool compare_swap, std::uint64_t compare_add, std::uint64_t swap,
                        std::uint64_t& original);

/// Copies CopyTeam::kBytesMin or more bytes between memory that this process can address.
void copy_large(Process& process, void* to, const void* from, std::uint64_t length);

inline void copy_addressed(Process& process, void* to, const void* from, std::uint64_t length) {
    if (length < CopyTeam::kBytesMin) [[likely]] {
        copy_ordered(to, from, length);
    } else {
        copy_large(process, to, from, length);
    }
}

/// Returns whether a process has ended, also while the kernel is still freeing what it had.
bool owner_gone(const Attachment& self, shm::Owner owner);

/// Executes an atomic operation on a word that the calling process can address. Returns the value
/// before.
std::uint64_t execute_atomic(void* word, bool compare_swap, std::uint64_t compare_add,
                             std::uint64_t swap);

inline bool remote_write(Process& process, const shm::Arena& arena, const shm::MrShared& mr,
                         std::uint64_t addr, const void* from, std::uint64_t length,
                         bool from_gpu = false) {
    std::byte* const to = shared_address(arena, mr, addr, length);
    if (to != nullptr && !from_gpu) [[likely]] {
        copy_addressed(process, to, from, length);
        return true;
    }
    return remote_write_slow(process, mr, addr, from, length, from_gpu);
}

inline bool remote_read(Process& process, const shm::Arena& arena, const shm::MrShared& mr,
                        std::uint64_t addr, void* to, std::uint64_t length, bool to_gpu = false) {
    const std::byte* const from = shared_address(arena, mr, addr, length);
    if (from != nullptr && !to_gpu) [[likely]] {
        copy_addressed(process, to, from, length);
        return true;
    }
    return remote_read_slow(process, mr, addr, to, length, to_gpu);
}

/// Runs a copy by system call between the memory of this process and of the owner. Repeats it if
/// one of the two was swapping pages meanwhile, because the kernel may have found no page there, or
/// the old one. Returns 0 or an errno value.
template <typename Fn>
int copy_by_system(const shm::ProcSlot& self, const shm::ProcSlot& owner, std::uint64_t length,
                   Fn&& copy) {
    // Limited, because the owner may have died in the middle of a swap.
    constexpr std::uint32_t kTriesMax = 1'000'000;
    const auto moving = [](const shm::ProcSlot& slot, std::uint32_t before) {
        return before % 2 != 0 || slot.page_swaps.load(std::memory_order_seq_cst) != before;
    };
    for (std::uint32_t i = 0;; ++i) {
        const std::uint32_t owners = owner.page_swaps.load(std::memory_order_seq_cst);
        const std::uint32_t ours = self.page_swaps.load(std::memory_order_seq_cst);
        const auto moved = copy();
        if (moved < 0 && errno != EFAULT) {
            return errno;
        }
        // A copy that succeeded may also have gone to a page that was just being replaced.
        const bool done = moved == static_cast<ssize_t>(length);
        if (i == kTriesMax || (!moving(owner, owners) && !moving(self, ours))) {
            return done ? 0 : EFAULT;
        }
        sched_yield();
    }
}

}  // namespace softib::direct
