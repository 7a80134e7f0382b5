// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/gpu/mappings.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace softib::live::gpu {

namespace {

/// A file descriptor of our own for one of another process; -1 and errno.
int take_descriptor(std::uint32_t pid, int fd) {
    // By number: the C library has wrappers only since version 2.36.
    const long process = syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0);
    if (process < 0) {
        return -1;
    }
    const long taken = syscall(SYS_pidfd_getfd, process, fd, 0);
    const int error = errno;
    close(static_cast<int>(process));
    errno = error;
    return static_cast<int>(taken);
}

}  // namespace

bool Mappings::is_stale(const Name& name, const Mapping& mapping) const {
    const auto [owner, instance, number] = name;
    const MrShared& region = arena_.mrs[mapping.region];
    return arena_.proc(owner).instance != instance || region.owner != owner ||
           region.key.load(std::memory_order_acquire) == 0 ||
           region.generation.load(std::memory_order_relaxed) != mapping.generation;
}

bool Mappings::make_from_descriptor(Owner owner, const GpuPiece& piece, int device,
                                    Mapping& mapping) {
    const Driver& driver = engine_.driver();
    const ProcSlot& slot = arena_.proc(owner);
    const bool same_pids =
        arena_.self == 0 || slot.pid_namespace == arena_.proc(arena_.self).pid_namespace;
    const int fd = same_pids ? take_descriptor(slot.pid, piece.descriptor) : -1;
    if (fd < 0) {
        return false;
    }
    const bool imported =
        driver.allocation_import(&mapping.allocation, reinterpret_cast<void*>(std::intptr_t{fd}),
                                 kHandleFileDescriptor) == kOk;
    close(fd);
    if (!imported) {
        return false;
    }
    if (driver.reserve(&mapping.base, mapping.bytes, 0, 0, 0) != kOk) {
        driver.allocation_release(mapping.allocation);
        return false;
    }
    const Access access{.device = device};
    const bool mapped = driver.map(mapping.base, mapping.bytes, 0, mapping.allocation, 0) == kOk;
    if (mapped && driver.set_access(mapping.base, mapping.bytes, &access, 1) == kOk) {
        return true;
    }
    if (mapped) {
        driver.unmap(mapping.base, mapping.bytes);
    }
    driver.unreserve(mapping.base, mapping.bytes);
    driver.allocation_release(mapping.allocation);
    return false;
}

void Mappings::make(Owner owner, const GpuPiece& piece, Mapping& mapping) {
    Uuid uuid{};
    std::memcpy(uuid.bytes, piece.device, sizeof uuid.bytes);
    const int device = piece.kind == GpuPiece::kOwnerOnly ? -1 : engine_.device_with(uuid);
    mapping.context = device < 0 ? nullptr : engine_.context_of(device);
    const Engine::Current current(engine_.driver(), mapping.context);
    if (!current) {
        return;
    }
    mapping.bytes = piece.bytes;
    bool made = false;
    if (piece.kind == GpuPiece::kDescriptor) {
        made = make_from_descriptor(owner, piece, device, mapping);
    } else {
        IpcHandle handle{};
        std::memcpy(handle.bytes, piece.handle, sizeof handle.bytes);
        made = engine_.driver().ipc_open(&mapping.base, handle, kIpcLazyPeerAccess) == kOk;
    }
    if (!made) {
        mapping.base = 0;
    }
}

void Mappings::unmake(Mapping& mapping) {
    const Driver& driver = engine_.driver();
    const Engine::Current current(driver, mapping.context);
    if (mapping.base == 0 || !current) {
        return;
    }
    if (mapping.kind == GpuPiece::kIpcHandle) {
        driver.ipc_close(mapping.base);
        return;
    }
    driver.unmap(mapping.base, mapping.bytes);
    driver.unreserve(mapping.base, mapping.bytes);
    driver.allocation_release(mapping.allocation);
}

Mappings::Use Mappings::use(Owner owner, const GpuPiece& piece) {
    const std::lock_guard guard(mutex_);
    const Name name{owner, arena_.proc(owner).instance, piece.number};
    auto found = mappings_.find(name);
    if (found == mappings_.end()) {
        give_up_stale_locked();
        Mapping mapping{.region = piece.region, .generation = piece.generation, .kind = piece.kind};
        make(owner, piece, mapping);
        found = mappings_.emplace(name, mapping).first;
        mapped_.store(static_cast<std::uint32_t>(mappings_.size()), std::memory_order_seq_cst);
    }
    Mapping& mapping = found->second;
    if (mapping.base == 0) {
        return {};
    }
    ++mapping.uses;
    return {*this, mapping};
}

void Mappings::release(Mapping& mapping) {
    const std::lock_guard guard(mutex_);
    --mapping.uses;
}

void Mappings::give_up_stale() {
    const std::uint64_t now = arena_.header->gpu_generation.load(std::memory_order_seq_cst) +
                              arena_.header->death_generation.load(std::memory_order_seq_cst);
    if (mapped_.load(std::memory_order_relaxed) == 0 || now == seen_.load()) {
        return;
    }
    seen_.store(now);
    const std::lock_guard guard(mutex_);
    give_up_stale_locked();
}

void Mappings::give_up_stale_locked() {
    for (auto it = mappings_.begin(); it != mappings_.end();) {
        if (it->second.uses != 0 || !is_stale(it->first, it->second)) {
            ++it;
            continue;
        }
        unmake(it->second);
        it = mappings_.erase(it);
    }
    mapped_.store(static_cast<std::uint32_t>(mappings_.size()), std::memory_order_seq_cst);
}

}  // namespace softib::live::gpu
