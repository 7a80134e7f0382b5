// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/packet_queue.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>

#include "runtime/live/client.h"

namespace softib::live {

namespace {

constexpr std::uint64_t kCallLookNs = 50'000'000;
/// A successor that has taken a call answers it at once.
constexpr std::uint64_t kSuccessorNs = 100'000'000;
constexpr std::uint64_t kCarrierStartNs = 10'000'000'000;
constexpr std::uint64_t kCountsPatienceNs = 50'000'000;
constexpr int kCallSpins = 2000;

void wait_word(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t timeout_ns) {
    const timespec t{static_cast<time_t>(timeout_ns / 1'000'000'000),
                     static_cast<long>(timeout_ns % 1'000'000'000)};
    syscall(SYS_futex, &word, FUTEX_WAIT, value, timeout_ns == UINT64_MAX ? nullptr : &t, nullptr,
            0);
}

void wake_word(std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

/// The carrier starts with the fabric, and again when it has ended; a program may be a little
/// faster. 0: none has come.
LockWord wait_for_carrier(const Arena& arena) {
    const std::uint64_t start = monotonic_ns();
    LockWord carrier = living_carrier(arena);
    while (carrier == 0 && monotonic_ns() - start < kCarrierStartNs) {
        usleep(1000);
        carrier = living_carrier(arena);
    }
    return carrier;
}

/// The carrier that was asked has ended. True: its successor has the call, and answers.
bool wait_for_successor(CarrierCall& call, std::atomic<std::uint64_t>& bells, std::uint64_t bit) {
    if ((bells.fetch_and(~bit) & bit) != 0) {
        return false;  // Nobody has taken it.
    }
    wait_word(call.state, CarrierCall::kPosted, kSuccessorNs);
    return call.state.load(std::memory_order_acquire) == CarrierCall::kDone;
}

/// One call to one carrier; nothing: it has ended.
std::optional<int> ask_carrier(Process& process, LockWord carrier, CarrierCall::Op op,
                               std::uint32_t index, const hca::QpAttr& attr, std::uint32_t mask) {
    const Arena& arena = process.arena;
    const std::lock_guard guard(process.carrier_mutex);
    if (arena.header->carrier.load(std::memory_order_acquire) != carrier) {
        return std::nullopt;
    }
    CarrierCall& call = process.slot->carrier_call;
    call.op = op;
    call.index = index;
    call.mask = mask;
    call.attr = attr;
    call.status = 0;
    call.state.store(CarrierCall::kPosted);
    const std::uint32_t number = process.owner - 1U;
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    std::atomic<std::uint64_t>& bells = arena.bells->calls[number / 64];
    bells.fetch_or(bit);
    wake_carrier(arena);
    for (int i = 0; call.state.load(std::memory_order_acquire) != CarrierCall::kDone; ++i) {
        if (i < kCallSpins) {
            cpu_relax();
            continue;
        }
        wait_word(call.state, CarrierCall::kPosted, kCallLookNs);
        if (call.state.load() != CarrierCall::kDone && living_carrier(arena) != carrier) {
            if (!wait_for_successor(call, bells, bit)) {
                call.state.store(CarrierCall::kIdle);
                return std::nullopt;
            }
        }
    }
    return call.status;
}

void set_bit(std::atomic<std::uint64_t>& word, std::uint32_t bit) {
    // The carrier clears a summary before what it sums up: a bit that stands here will be seen.
    if ((word.load() >> bit & 1) == 0) {
        word.fetch_or(std::uint64_t{1} << bit);
    }
}

}  // namespace

bool send_ring_init(Process& process, SendRing& ring) {
    const std::uint32_t room =
        std::max<std::uint32_t>(ring.sges_max * sizeof(Sge), ring.inline_max);
    ring.stride_bytes = std::bit_ceil(static_cast<std::uint32_t>(sizeof(PostedSend)) + room);
    ring.mask = std::bit_ceil(std::max(ring.entries, 1U)) - 1;
    ring.tail.store(0);
    ring.ring_off = process.memory.allocate(std::uint64_t{ring.mask + 1} * ring.stride_bytes);
    return ring.ring_off != 0;
}

void send_ring_free(Process& process, SendRing& ring) {
    if (ring.ring_off != 0) {
        process.memory.release(ring.ring_off, std::uint64_t{ring.mask + 1} * ring.stride_bytes);
        ring.ring_off = 0;
    }
}

void wake_carrier(const Arena& arena) {
    ArenaHeader& header = *arena.header;
    if (header.carrier_sleeping.load() != 0 && header.carrier_sleeping.exchange(0) != 0) {
        header.carrier_doorbell.fetch_add(1);
        wake_word(header.carrier_doorbell);
    }
}

void ring_carrier(const Arena& arena) {
    arena.header->carrier_doorbell.fetch_add(1);
    wake_word(arena.header->carrier_doorbell);
}

void ring_qp_bell(const Arena& arena, std::uint32_t qp) {
    Bells& bells = *arena.bells;
    const std::uint32_t word = qp / 64;
    bells.qps[word].fetch_or(std::uint64_t{1} << qp % 64);
    set_bit(bells.middle[word / 64], word % 64);
    set_bit(bells.top[word / 64 / 64], word / 64 % 64);
    wake_carrier(arena);
}

void carrier_sleep(const Arena& arena, std::uint64_t timeout_ns,
                   std::optional<std::uint32_t> bell) {
    ArenaHeader& header = *arena.header;
    const std::uint32_t before = bell.value_or(header.carrier_doorbell.load());
    header.carrier_sleeping.store(1);
    const auto rung = [](const auto& words) {
        return std::ranges::any_of(words, [](const auto& word) { return word.load() != 0; });
    };
    const std::span calls(arena.bells->calls, (procs_used(arena) + 63) / 64);
    if (!rung(arena.bells->top) && !rung(calls) &&
        header.counts_asked.load() == header.counts_given.load()) {
        wait_word(header.carrier_doorbell, before, timeout_ns);
    }
    header.carrier_sleeping.store(0);
}

void ask_for_counts(const Arena& arena) {
    if (!arena.writable || arena.header->carrier.load() == 0) {
        return;  // What was brought there last is not old.
    }
    ArenaHeader& header = *arena.header;
    const std::uint32_t asked = header.counts_asked.fetch_add(1) + 1;
    wake_carrier(arena);
    const std::uint64_t start = monotonic_ns();
    while (static_cast<std::int32_t>(header.counts_given.load() - asked) < 0 &&
           monotonic_ns() - start < kCountsPatienceNs) {
        sched_yield();
    }
}

LockWord living_carrier(const Arena& arena) {
    LockWord carrier = arena.header->carrier.load(std::memory_order_acquire);
    if (carrier == 0 || holder_alive(arena, carrier)) {
        return carrier;
    }
    const LockWord ended = carrier;
    arena.header->carrier.compare_exchange_strong(carrier, 0);
    return carrier == ended ? 0 : carrier;
}

int call_carrier(Process& process, CarrierCall::Op op, std::uint32_t index, LockWord& carrier,
                 const hca::QpAttr& attr, std::uint32_t mask) {
    if (carrier != 0) {
        return ask_carrier(process, carrier, op, index, attr, mask).value_or(EIO);
    }
    // What is made anew may be made by the next one as well.
    while (const LockWord candidate = wait_for_carrier(process.arena)) {
        if (const auto status = ask_carrier(process, candidate, op, index, attr, mask)) {
            carrier = candidate;
            return *status;
        }
    }
    return EIO;
}

void answer_call(CarrierCall& call, int status) {
    call.status = status;
    call.state.store(CarrierCall::kDone, std::memory_order_release);
    wake_word(call.state);
}

}  // namespace softib::live
