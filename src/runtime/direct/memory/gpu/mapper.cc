// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/gpu/mapper.h"

#include <unistd.h>

#include <cstring>

namespace softib::direct::gpu {

bool GpuMapper::make_from_descriptor(shm::Owner owner, const shm::PeerPiece& piece, int device,
                                     Mapping& mapping) {
    const Driver& driver = engine_.driver();
    const int fd = take_descriptor(arena_, owner, piece.descriptor);
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

void GpuMapper::make(shm::Owner owner, const shm::PeerPiece& piece, Mapping& mapping) {
    Uuid uuid{};
    std::memcpy(uuid.bytes, piece.device, sizeof uuid.bytes);
    const int device = piece.kind == shm::PeerPiece::kOwnerOnly ? -1 : engine_.device_with(uuid);
    mapping.context = device < 0 ? nullptr : engine_.copier_of(device);
    const Engine::Current current(engine_.driver(), mapping.context);
    if (!current) {
        return;
    }
    mapping.bytes = piece.bytes;
    bool made = false;
    if (piece.kind == shm::PeerPiece::kDescriptor) {
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

void GpuMapper::unmake(Mapping& mapping) {
    const Driver& driver = engine_.driver();
    const Engine::Current current(driver, mapping.context);
    if (!current) {
        return;
    }
    if (mapping.kind == shm::PeerPiece::kIpcHandle) {
        driver.ipc_close(mapping.base);
        return;
    }
    driver.unmap(mapping.base, mapping.bytes);
    driver.unreserve(mapping.base, mapping.bytes);
    driver.allocation_release(mapping.allocation);
}

}  // namespace softib::direct::gpu
