// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/gpu/memory.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "runtime/direct/memory/remote.h"
#include "runtime/direct/process.h"
#include "runtime/direct/service.h"

namespace softib::direct::gpu {

namespace {

Address address_of(const void* p) {
    return reinterpret_cast<Address>(p);
}

bool failed(int error) {
    errno = error;
    return false;
}

}  // namespace

Memory::State* Memory::state() {
    State* known = state_.load(std::memory_order_acquire);
    if (known != nullptr) [[likely]] {
        return known;
    }
    const std::lock_guard guard(mutex_);
    known = state_.load(std::memory_order_relaxed);
    if (known != nullptr) {
        return known;
    }
    if (const Driver* driver = loaded_driver(); driver != nullptr) {
        known = new (std::nothrow)
            State(*driver, process_.self.arena, process_.self.slot->peer_mappings);
        state_.store(known, std::memory_order_release);
    }
    return known;
}

bool Memory::usable() {
    State* const s = state();
    int devices = 0;
    return s != nullptr && s->engine.driver().device_count(&devices) == kOk && devices > 0;
}

bool Memory::is_gpu(Address at) {
    State* const s = state();
    return s != nullptr && s->exports.is_gpu(at);
}

bool Memory::is_registered(Address at) {
    State* const s = state_.load(std::memory_order_acquire);
    return s != nullptr && s->exports.copier_at(at) != nullptr;
}

int Memory::add(Address at, std::uint64_t length, std::vector<shm::PeerPiece>& pieces) {
    State* const s = state();
    if (s == nullptr) {
        return EFAULT;
    }
    if (const int error = s->exports.add(at, length, pieces); error != 0) {
        return error;
    }
    // Copies one byte now, because what the driver does for its first copy could block while
    // kernels wait for each other. And a program whose GPU cannot copy learns it at registration.
    char byte = 0;
    if (!copy_own(pieces.front().begin, false, &byte, sizeof byte)) {
        s->exports.remove(pieces);
        return EIO;
    }
    return 0;
}

void Memory::remove(std::span<const shm::PeerPiece> pieces) {
    state()->exports.remove(pieces);
}

/// Copies between exported GPU memory of this process and any memory that this process can address.
bool Memory::copy_own(Address at, bool write, void* data, std::uint64_t length) {
    State* const s = state();
    Context context = s == nullptr ? nullptr : s->exports.copier_at(at);
    const Address other = address_of(data);
    return (context != nullptr &&
            s->engine.copy(context, write ? at : other, write ? other : at, length)) ||
           failed(EIO);
}

bool Memory::ask_owner(shm::Owner owner, bool write, Address at, void* data, bool data_on_gpu,
                       std::uint64_t length) {
    std::vector<char> bounce(data_on_gpu ? std::min(length, kServiceBytesMax) : 0);
    auto* here = static_cast<char*>(data);
    while (length != 0) {
        const std::uint64_t n = std::min(length, kServiceBytesMax);
        void* const between = data_on_gpu ? bounce.data() : here;
        if (data_on_gpu && write && !copy_own(address_of(here), false, between, n)) {
            return false;
        }
        if (!service_call(process_, owner,
                          write ? shm::ServiceCall::kWrite : shm::ServiceCall::kRead, at, between,
                          n, nullptr, nullptr)) {
            return false;
        }
        if (data_on_gpu && !write && !copy_own(address_of(here), true, between, n)) {
            return false;
        }
        at += n;
        here += n;
        length -= n;
    }
    return true;
}

bool Memory::transfer_piece(shm::Owner owner, const shm::PeerPiece& piece, bool write, Address at,
                            void* data, bool data_on_gpu, std::uint64_t length) {
    if (owner == process_.self.owner) {
        return copy_own(at, write, data, length);
    }
    State* const s = state();
    if (s == nullptr) {
        return ask_owner(owner, write, at, data, data_on_gpu, length);
    }
    const Mappings::Use mapping = s->mappings.use(owner, piece);
    if (!mapping) {
        return ask_owner(owner, write, at, data, data_on_gpu, length);
    }
    const Address there = mapping->base + (at - piece.base);
    const Address here = address_of(data);
    Context own = data_on_gpu ? s->exports.copier_at(here) : nullptr;
    return s->engine.copy(own != nullptr ? own : mapping->context, write ? there : here,
                          write ? here : there, length) ||
           failed(EIO);
}

/// Copies between a region of host memory and `data`, which is memory of a GPU.
bool Memory::transfer_host_region(const shm::MrShared& mr, bool write, std::uint64_t addr,
                                  void* data, std::uint64_t length) {
    const Address here = address_of(data);
    if (std::byte* shared = shared_address(process_.self.arena, mr, addr, length)) {
        return copy_own(here, !write, shared, length);
    }
    std::vector<char> bounce(std::min(length, kServiceBytesMax));
    for (std::uint64_t done = 0; done < length;) {
        const std::uint64_t n = std::min(length - done, bounce.size());
        const bool moved =
            write ? copy_own(here + done, false, bounce.data(), n) &&
                        remote_write_slow(process_, mr, addr + done, bounce.data(), n, false)
                  : remote_read_slow(process_, mr, addr + done, bounce.data(), n, false) &&
                        copy_own(here + done, true, bounce.data(), n);
        if (!moved) {
            return false;
        }
        done += n;
    }
    return true;
}

bool Memory::transfer(const shm::MrShared& mr, bool write, std::uint64_t addr, void* data,
                      bool data_on_gpu, std::uint64_t length) {
    if (mr.rest_tier != shm::Tier::kGpu) {
        return transfer_host_region(mr, write, addr, data, length);
    }
    Address at = addr + mr.va_delta;
    auto* here = static_cast<char*>(data);
    while (length != 0) {
        const shm::PeerPiece* const piece = piece_at(process_.self.arena, mr, at);
        if (piece == nullptr) {
            return failed(EFAULT);
        }
        const std::uint64_t n = std::min(length, piece->end - at);
        if (!transfer_piece(mr.owner, *piece, write, at, here, data_on_gpu, n)) {
            return false;
        }
        at += n;
        here += n;
        length -= n;
    }
    return true;
}

bool Memory::atomic(const shm::MrShared& mr, std::uint64_t addr, bool compare_swap,
                    std::uint64_t compare_add, std::uint64_t swap, std::uint64_t& original) {
    const Address at = addr + mr.va_delta;
    if (mr.owner == process_.self.owner) {
        const int error = serve_atomic(at, compare_swap, compare_add, swap, original);
        return error == 0 || failed(error);
    }
    // The owner executes every atomic operation, under a lock of its own.
    const std::uint64_t operand[2] = {compare_add, swap};
    return service_call(process_, mr.owner,
                        compare_swap ? shm::ServiceCall::kCompareSwap : shm::ServiceCall::kFetchAdd,
                        at, nullptr, 0, operand, &original);
}

int Memory::serve_copy(bool write, Address at, void* data, std::uint64_t length) {
    return copy_own(at, write, data, length) ? 0 : errno;
}

int Memory::serve_atomic(Address at, bool compare_swap, std::uint64_t compare_add,
                         std::uint64_t swap, std::uint64_t& original) {
    const std::lock_guard guard(state()->atomics);
    if (!copy_own(at, false, &original, sizeof original)) {
        return errno;
    }
    std::uint64_t value =
        compare_swap ? (original == compare_add ? swap : original) : original + compare_add;
    return copy_own(at, true, &value, sizeof value) ? 0 : errno;
}

void Memory::give_up_stale_mappings() {
    State* const s = state_.load(std::memory_order_acquire);
    if (s != nullptr) {
        s->mappings.give_up_stale();
    }
}

}  // namespace softib::direct::gpu
