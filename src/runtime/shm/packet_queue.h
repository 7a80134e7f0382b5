// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The interface between programs and the carrier. The carrier is one process per fabric that is the
// HCA of every program, every cable and every switch. A program posts into rings of the arena and
// rings a bell; the carrier takes the requests, sends packets, and writes completions as a peer
// does on the direct path. To create, modify or destroy an object, a program makes a call
// (CarrierCall), one at a time.

#include <cstdint>
#include <iterator>
#include <optional>

#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/types.h"

namespace softib::shm {

/// A send request in the ring of a queue pair. Its Sges follow it, or with kSendInline its data.
struct PostedSend : hca::Request {
    std::uint32_t num_sge;
    std::uint32_t inline_bytes;
    AddressVector to;
    BindInfo bind;

    Sge* sges() { return reinterpret_cast<Sge*>(this + 1); }
    const Sge* sges() const { return reinterpret_cast<const Sge*>(this + 1); }
    const std::uint8_t* inline_data() const {
        return reinterpret_cast<const std::uint8_t*>(this + 1);
    }
};

/// Returns the slot of the request with this number.
inline PostedSend* send_slot(const Arena& arena, const SendRing& ring, std::uint32_t index) {
    return arena.at<PostedSend>(ring.ring_off +
                                std::uint64_t{index & ring.mask} * ring.stride_bytes);
}

inline bool is_packet_path(const Arena& arena) {
    return arena.header->data_path == DataPath::kPacket;
}

/// Makes the carrier look at this queue pair.
void ring_qp_bell(const Arena& arena, std::uint32_t qp);
/// Wakes the carrier if it sleeps in carrier_sleep().
void wake_carrier(const Arena& arena);
/// Makes the carrier look for work that no bell in the arena shows. If it does not sleep now, its
/// next carrier_sleep() with a `bell` from before returns at once.
void ring_carrier(const Arena& arena);
/// Makes the carrier sleep until a bell rings, for at most `timeout_ns`; UINT64_MAX: without limit.
/// `bell` is the value that carrier_doorbell had before the carrier last looked for work: the
/// carrier does not sleep if it has changed since. Without `bell` the present value is taken.
void carrier_sleep(const Arena& arena, std::uint64_t timeout_ns,
                   std::optional<std::uint32_t> bell = std::nullopt);

/// Waits until the port totals include what the carrier has counted until now. Returns false if a
/// carrier runs and does not bring them up to date within a moment.
bool ask_for_counts(const Arena& arena);

/// Calls fn(index) for every queue pair whose bell was rung since the last call.
template <typename Fn>
void for_each_rung(Bells& bells, Fn&& fn) {
    const auto each = [](std::atomic<std::uint64_t>& word, std::uint32_t base, auto&& visit) {
        if (word.load(std::memory_order_relaxed) == 0) {
            return;
        }
        for (std::uint64_t bits = word.exchange(0); bits != 0; bits &= bits - 1) {
            visit(base * 64 + static_cast<std::uint32_t>(__builtin_ctzll(bits)));
        }
    };
    for (std::uint32_t t = 0; t < std::size(bells.top); ++t) {
        each(bells.top[t], t, [&](std::uint32_t m) {
            each(bells.middle[m], m, [&](std::uint32_t w) { each(bells.qps[w], w, fn); });
        });
    }
}

/// Returns the name in locks of the carrier that runs now, or 0 if none does. Removes the name of a
/// carrier that has ended from the arena.
LockWord living_carrier(const Arena& arena);

/// Ends a call with a status (0 or an errno value) and wakes its caller; for the carrier.
void answer_call(CarrierCall& call, int status);

/// Calls fn(owner, call) for every call that waits, and answers it with the status that fn returns;
/// for the carrier. If fn returns std::nullopt, the call waits for the next time.
template <typename Fn>
void for_each_call(const Arena& arena, Fn&& fn) {
    for (std::uint32_t w = 0; w * 64 < procs_used(arena); ++w) {
        std::atomic<std::uint64_t>& word = arena.bells->calls[w];
        if (word.load(std::memory_order_relaxed) == 0) {
            continue;
        }
        for (std::uint64_t bits = word.exchange(0); bits != 0; bits &= bits - 1) {
            const auto owner =
                static_cast<Owner>(w * 64 + static_cast<std::uint32_t>(__builtin_ctzll(bits)) + 1);
            CarrierCall& call = arena.proc(owner).carrier_call;
            if (call.state.load(std::memory_order_acquire) != CarrierCall::kPosted) {
                continue;
            }
            if (const std::optional<int> status = fn(owner, call)) {
                answer_call(call, *status);
            } else {
                word.fetch_or(std::uint64_t{1} << (owner - 1U) % 64);
            }
        }
    }
}

}  // namespace softib::shm
