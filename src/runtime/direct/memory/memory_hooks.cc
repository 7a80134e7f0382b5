// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/memory_hooks.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "runtime/direct/memory/memory.h"
#include "runtime/direct/process.h"
#include "runtime/shm/grace.h"

namespace softib::direct {

namespace {

std::atomic<MemoryMap*> g_map{nullptr};

void set_calls(const MemoryCalls* calls) {
    static auto* const set =
        reinterpret_cast<SetMemoryCalls*>(dlsym(RTLD_DEFAULT, kSetMemoryCalls));
    if (set != nullptr) {
        set(calls);
    }
}

}  // namespace

thread_local bool MemoryMap::Guard::inside = false;

/// Calls `window` for each memory window of this process that is bound to a region. A window has
/// its own copy of where its bytes are.
template <typename Fn>
void MemoryMap::for_each_window(std::uint32_t region, Fn&& window) {
    for (std::uint32_t batch = 0; batch < shm::kMrsMax / shm::kBatchEntries; ++batch) {
        if (process_.self.arena.mr_batches[batch].load(std::memory_order_relaxed) !=
            process_.self.owner) {
            continue;
        }
        for (std::uint32_t i = 0; i < shm::kBatchEntries; ++i) {
            shm::MrShared& entry = process_.self.arena.mrs[batch * shm::kBatchEntries + i];
            if (entry.key.load(std::memory_order_relaxed) != 0 && hca::is_window(entry.kind) &&
                entry.parent == region && entry.length != 0) {
                window(entry);
            }
        }
    }
}

/// Makes peers reach the bytes of an entry by the owner's virtual address instead of in the arena.
void MemoryMap::leave_arena(shm::MrShared& entry) {
    std::atomic_ref(entry.ext_end).store(entry.ext_begin, std::memory_order_relaxed);
    std::atomic_ref(entry.extents).store(0, std::memory_order_relaxed);
}

int MemoryHooks::madvise(void* at, std::size_t length, int advice, Madvise* really) {
    MemoryMap* const map = g_map.load(std::memory_order_acquire);
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    if (map == nullptr || begin % shm::kPageBytes != 0 || begin + length < begin) {
        return really(at, length, advice);
    }
    return map->swapped_.advise(begin, length, advice, really);
}

void* MemoryHooks::mremap(void* from, std::size_t old_size, std::size_t new_size, int flags,
                          void* to, Mremap* really) {
    MemoryMap* const map = g_map.load(std::memory_order_acquire);
    if (map == nullptr || MemoryMap::Guard::inside) {
        return really(from, old_size, new_size, flags, to);
    }
    return map->remap(from, old_size, new_size, flags, to, really);
}

void MemoryHooks::install(MemoryMap& map) {
    if (g_map.load(std::memory_order_relaxed) == &map) {
        return;
    }
    static constexpr MemoryCalls kCalls{.madvise = madvise,
                                        .mremap = mremap,
                                        .before_fork = ForkHandlers::prepare,
                                        .after_fork_in_parent = ForkHandlers::parent,
                                        .after_fork_in_child = ForkHandlers::child};
    g_map.store(&map, std::memory_order_release);
    set_calls(&kCalls);
}

void MemoryHooks::remove() {
    g_map.store(nullptr, std::memory_order_release);
    set_calls(nullptr);
}

/// Makes [begin, end) private memory again, because the program is about to move it by mremap().
/// Peers then reach the regions on it by virtual address. If arena pages stayed, a mapping that
/// grows would show parts of the arena that do not belong to it. Returns false if some pages could
/// not be made private.
bool MemoryMap::leave_arena(std::uint64_t begin, std::uint64_t end) {
    const Stretches met = swapped_.meeting(begin, end);
    if (met.empty()) {
        return true;
    }
    for (auto& [index, held] : held_) {
        const bool concerned = std::any_of(held.begin(), held.end(), [&](const auto& name) {
            return std::find(met.begin(), met.end(), name) != met.end();
        });
        if (!concerned) {
            continue;
        }
        shm::MrShared& mr = process_.self.arena.mrs[index];
        account(mr, -1);
        leave_arena(mr);
        account(mr, 1);
        for_each_window(index, [](shm::MrShared& window) { leave_arena(window); });
        process_.progress.start_helper();
    }
    if (!wait_grace(process_.self.arena, process_.self.owner, nullptr)) {
        return false;
    }
    bool all = true;
    for (auto& [index, held] : held_) {
        // The other stretches of the same regions are not used any more either, but are held until
        // the region ends.
        std::erase_if(held, [&](const auto& name) {
            return std::find(met.begin(), met.end(), name) != met.end();
        });
    }
    for (const SwappedPages::Name& name : met) {
        all &= swapped_.take_away(name);
    }
    return all;
}

/// Changes the address of regions that lie whole in memory that was moved. With a real HCA, too, a
/// region moves along with its pages.
void MemoryMap::follow_move(std::uint64_t from, std::uint64_t bytes, std::uint64_t to) {
    for (const auto& [index, held] : held_) {
        shm::MrShared& mr = process_.self.arena.mrs[index];
        const std::uint64_t va = mr.iova + mr.va_delta;
        if (mr.ext_end <= mr.ext_begin && va >= from && va + mr.length <= from + bytes) {
            const auto follow = [&](shm::MrShared& entry) {
                std::atomic_ref(entry.va_delta)
                    .store(entry.va_delta + (to - from), std::memory_order_relaxed);
            };
            follow(mr);
            for_each_window(index, follow);
        }
    }
}

void* MemoryMap::remap(void* from, std::uint64_t old_size, std::uint64_t new_size, int flags,
                       void* to, Mremap* really) {
    const auto begin = reinterpret_cast<std::uintptr_t>(from);
    const std::uint64_t bytes = page_up(old_size);
    const bool sound = begin % shm::kPageBytes == 0 && begin + bytes >= begin && old_size != 0;
    if (sound) {
        const Guard guard(mutex_);
        if (!leave_arena(begin, begin + bytes) && new_size > old_size) {
            errno = EAGAIN;
            return MAP_FAILED;
        }
    }
    void* const result = really(from, old_size, new_size, flags, to);
    if (sound && result != MAP_FAILED) {
        const Guard guard(mutex_);
        follow_move(begin, std::min<std::uint64_t>(bytes, new_size),
                    reinterpret_cast<std::uintptr_t>(result));
    }
    return result;
}

void MemoryMap::before_fork() {
    mutex_.lock();
    swapped_.before_fork();
}

void MemoryMap::after_fork_in_parent() {
    swapped_.after_fork_in_parent();
    mutex_.unlock();
}

void MemoryMap::after_fork_in_child() {
    MemoryHooks::remove();
    swapped_.after_fork_in_child();
    mutex_.unlock();
}

}  // namespace softib::direct
