// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/carrier_call.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>

#include "runtime/direct/process.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/thread.h"

namespace softib::direct {

namespace {

constexpr std::uint64_t kCallLookNs = 50'000'000;
/// How long to wait for the answer of a new carrier that has taken a call over: it answers at once.
constexpr std::uint64_t kSuccessorNs = 100'000'000;
constexpr std::uint64_t kCarrierStartNs = 10'000'000'000;
constexpr int kCallSpins = 2000;

/// Waits for a carrier to run, and returns its lock word; 0 if none has started in time. The
/// carrier starts with the fabric, and again when it has ended, but a program may start earlier.
shm::LockWord wait_for_carrier(const shm::Arena& arena) {
    const std::uint64_t start = shm::monotonic_ns();
    shm::LockWord carrier = living_carrier(arena);
    while (carrier == 0 && shm::monotonic_ns() - start < kCarrierStartNs) {
        usleep(1000);
        carrier = living_carrier(arena);
    }
    return carrier;
}

/// Handles a call whose carrier has ended. Returns true if the next carrier has taken the call over
/// and has answered it.
bool wait_for_successor(shm::CarrierCall& call, std::atomic<std::uint64_t>& bells,
                        std::uint64_t bit) {
    if ((bells.fetch_and(~bit) & bit) != 0) {
        return false;  // No carrier has taken the call.
    }
    futex_wait(call.state, shm::CarrierCall::kPosted, kSuccessorNs);
    return call.state.load(std::memory_order_acquire) == shm::CarrierCall::kDone;
}

/// Makes one call to one carrier. Returns std::nullopt if that carrier has ended.
std::optional<int> ask_carrier(Process& process, shm::LockWord carrier, shm::CarrierCall::Op op,
                               std::uint32_t index, const hca::QpAttr& attr, std::uint32_t mask) {
    const shm::Arena& arena = process.self.arena;
    const std::lock_guard guard(process.progress.carrier_mutex());
    if (arena.header->carrier.load(std::memory_order_acquire) != carrier) {
        return std::nullopt;
    }
    shm::CarrierCall& call = process.self.slot->carrier_call;
    call.op = op;
    call.index = index;
    call.mask = mask;
    call.attr = attr;
    call.status = 0;
    call.state.store(shm::CarrierCall::kPosted);
    const std::uint32_t number = process.self.owner - 1U;
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    std::atomic<std::uint64_t>& bells = arena.bells->calls[number / 64];
    bells.fetch_or(bit);
    wake_carrier(arena);
    for (int i = 0; call.state.load(std::memory_order_acquire) != shm::CarrierCall::kDone; ++i) {
        if (i < kCallSpins) {
            shm::cpu_relax();
            continue;
        }
        futex_wait(call.state, shm::CarrierCall::kPosted, kCallLookNs);
        if (call.state.load() != shm::CarrierCall::kDone && living_carrier(arena) != carrier) {
            if (!wait_for_successor(call, bells, bit)) {
                call.state.store(shm::CarrierCall::kIdle);
                return std::nullopt;
            }
        }
    }
    return call.status;
}

}  // namespace

bool send_ring_init(Process& process, shm::SendRing& ring) {
    const std::uint32_t room =
        std::max<std::uint32_t>(ring.sges_max * sizeof(hca::Sge), ring.inline_max);
    ring.stride_bytes = std::bit_ceil(static_cast<std::uint32_t>(sizeof(shm::PostedSend)) + room);
    ring.mask = std::bit_ceil(std::max(ring.entries, 1U)) - 1;
    ring.tail.store(0);
    ring.ring_off =
        process.memory.chunks.allocate(std::uint64_t{ring.mask + 1} * ring.stride_bytes);
    return ring.ring_off != 0;
}

void send_ring_free(Process& process, shm::SendRing& ring) {
    if (ring.ring_off != 0) {
        process.memory.chunks.release(ring.ring_off,
                                      std::uint64_t{ring.mask + 1} * ring.stride_bytes);
        ring.ring_off = 0;
    }
}

int call_carrier(Process& process, shm::CarrierCall::Op op, std::uint32_t index,
                 shm::LockWord& carrier, const hca::QpAttr& attr, std::uint32_t mask) {
    if (carrier != 0) {
        return ask_carrier(process, carrier, op, index, attr, mask).value_or(EIO);
    }
    // A new object can be made by the next carrier if this one ends.
    while (const shm::LockWord candidate = wait_for_carrier(process.self.arena)) {
        if (const auto status = ask_carrier(process, candidate, op, index, attr, mask)) {
            carrier = candidate;
            process.progress.met_carrier(candidate);
            return *status;
        }
    }
    return EIO;
}

}  // namespace softib::direct
