// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/share.h"

#include <sys/resource.h>

#include <algorithm>

#include "runtime/direct/process.h"

namespace softib::direct {

bool Share::take(Process& process, std::uint32_t hca, shm::ObjectKind kind, std::uint32_t amount) {
    const auto device = std::ranges::find(process.self.devices, hca, &shm::DeviceEntry::hca);
    const auto place = static_cast<std::size_t>(device - process.self.devices.begin());
    if (device == process.self.devices.end() || place >= shm::kDevicesPerProc) {
        return false;
    }
    // The process's own count is raised first and lowered last: if the process is killed in
    // between, the daemon gives back too much, and the HCA has room for more objects, never for
    // fewer.
    shm::HeldObjects& held = process.self.slot->held[place];
    auto& count = held.count[static_cast<std::size_t>(kind)];
    std::atomic<std::int64_t>& all = objects_in_use(process.self.arena, hca, kind);
    __atomic_store_n(&held.hca, hca, __ATOMIC_RELAXED);  // Every thread stores the same value.
    count.fetch_add(amount, std::memory_order_release);
    if (all.fetch_add(amount, std::memory_order_acq_rel) + amount >
        object_limit(process.self.arena, kind)) {
        all.fetch_sub(amount, std::memory_order_acq_rel);
        count.fetch_sub(amount, std::memory_order_release);
        return false;
    }
    process_ = &process;
    held_ = &held;
    kind_ = kind;
    amount_ = amount;
    return true;
}

Share::~Share() {
    if (amount_ == 0 || !process_->self.usable()) {
        return;  // In a forked child, the object belongs to the parent.
    }
    const std::uint32_t hca = __atomic_load_n(&held_->hca, __ATOMIC_RELAXED);
    objects_in_use(process_->self.arena, hca, kind_).fetch_sub(amount_, std::memory_order_acq_rel);
    held_->count[static_cast<std::size_t>(kind_)].fetch_sub(amount_, std::memory_order_release);
}

bool PinnedPages::take(Process& process, std::uint64_t address, std::uint64_t length) {
    if (!process.memory.enforces_memlock) {
        return true;
    }
    const std::uint64_t begin = address / shm::kPageBytes * shm::kPageBytes;
    const std::uint64_t bytes =
        (address + length - begin + shm::kPageBytes - 1) / shm::kPageBytes * shm::kPageBytes;
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    const std::uint64_t all = process.memory.pinned_bytes.fetch_add(bytes) + bytes;
    if (limit.rlim_cur != RLIM_INFINITY && all > limit.rlim_cur) {
        process.memory.pinned_bytes.fetch_sub(bytes);
        return false;
    }
    release();
    process_ = &process;
    bytes_ = bytes;
    return true;
}

void PinnedPages::release() {
    if (process_ != nullptr) {
        process_->memory.pinned_bytes.fetch_sub(bytes_);
    }
}

}  // namespace softib::direct
