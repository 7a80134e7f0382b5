// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/gpu/exports.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softib::direct::gpu {

namespace {

constexpr std::uint64_t kStepBytes = 512;  ///< The driver's allocations are aligned to this.

}  // namespace

/// Exports an allocation, and notes in `piece` how a peer can map it. Returns false if the driver
/// cannot export it.
bool Exports::share(shm::PeerPiece& piece) const {
    const Driver& driver = engine_.driver();
    Allocation allocation = 0;
    if (driver.allocation_of(&allocation, reinterpret_cast<void*>(piece.base)) == kOk) {
        int fd = -1;
        const bool exported =
            driver.allocation_export(&fd, allocation, kHandleFileDescriptor, 0) == kOk && fd >= 0;
        driver.allocation_release(allocation);
        if (exported) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
            piece.kind = shm::PeerPiece::kDescriptor;
            piece.descriptor = fd;
        }
        return exported;
    }
    IpcHandle handle{};
    if (driver.ipc_export(&handle, piece.base) != kOk) {
        return false;
    }
    piece.kind = shm::PeerPiece::kIpcHandle;
    std::memcpy(piece.handle, handle.bytes, sizeof piece.handle);
    return true;
}

const Exports::Export* Exports::find_or_add(Address at, int& error) {
    const Driver& driver = engine_.driver();
    error = EFAULT;
    if (!is_gpu(at)) {
        return nullptr;
    }
    auto known = exports_.upper_bound(at);
    if (known != exports_.begin() && at < (--known)->second.piece.end) {
        ++known->second.uses;
        return &known->second;
    }
    error = EIO;
    int device = 0;
    Context context = nullptr;
    if (driver.pointer_attribute(&device, kPointerDevice, at) != kOk) {
        return nullptr;
    }
    // Memory that belongs to no context is exported in the device's primary context.
    if (driver.pointer_attribute(&context, kPointerContext, at) != kOk || context == nullptr) {
        context = engine_.context_of(device);
    }
    Context copier = engine_.copier_of(device);
    const Engine::Current current(driver, context);
    shm::PeerPiece piece{};
    std::size_t bytes = 0;
    Uuid uuid{};
    if (!current || copier == nullptr || driver.address_range(&piece.base, &bytes, at) != kOk ||
        at < piece.base || at - piece.base >= bytes || driver.device_uuid(&uuid, device) != kOk) {
        return nullptr;
    }
    piece.begin = piece.base;
    piece.end = piece.base + bytes;
    piece.bytes = bytes;
    piece.number = ++number_;
    std::memcpy(piece.device, uuid.bytes, sizeof piece.device);
    if (!share(piece)) {
        piece.kind = shm::PeerPiece::kOwnerOnly;
    }
    error = 0;
    return &exports_.emplace(piece.base, Export{piece, copier, 1}).first->second;
}

int Exports::add(Address at, std::uint64_t length, std::vector<shm::PeerPiece>& pieces) {
    const Address end = at + length;
    const std::lock_guard guard(mutex_);
    const std::size_t before = pieces.size();
    std::uint64_t skipped = 0;
    while (at < end) {
        int error = 0;
        const Export* found = find_or_add(at, error);
        if (found == nullptr && error == EFAULT && skipped < shm::kPageBytes) {
            const std::uint64_t step = kStepBytes - at % kStepBytes;
            skipped += step;
            at += step;
            continue;
        }
        if (found == nullptr) {
            const std::vector<shm::PeerPiece> taken(
                pieces.begin() + static_cast<std::ptrdiff_t>(before), pieces.end());
            pieces.resize(before);
            for (const shm::PeerPiece& piece : taken) {
                drop(piece);
            }
            return error;
        }
        skipped = 0;
        shm::PeerPiece piece = found->piece;
        piece.begin = at;
        piece.end = std::min(end, piece.end);
        at = piece.end;
        pieces.push_back(piece);
    }
    return pieces.size() == before ? EFAULT : 0;
}

void Exports::drop(const shm::PeerPiece& piece) {
    const auto found = exports_.find(piece.base);
    if (found == exports_.end() || found->second.piece.number != piece.number ||
        --found->second.uses != 0) {
        return;
    }
    if (piece.kind == shm::PeerPiece::kDescriptor) {
        close(piece.descriptor);
    }
    exports_.erase(found);
}

void Exports::remove(std::span<const shm::PeerPiece> pieces) {
    const std::lock_guard guard(mutex_);
    for (const shm::PeerPiece& piece : pieces) {
        drop(piece);
    }
}

Context Exports::copier_at(Address at) {
    const std::lock_guard guard(mutex_);
    auto known = exports_.upper_bound(at);
    return known != exports_.begin() && at < (--known)->second.piece.end ? known->second.copier
                                                                         : nullptr;
}

}  // namespace softib::direct::gpu
