// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/packet_queue.h"

#include <sched.h>

#include <algorithm>
#include <span>

#include "runtime/shm/clock.h"
#include "runtime/shm/thread.h"

namespace softib::shm {

namespace {

constexpr std::uint64_t kCountsPatienceNs = 50'000'000;

void set_bit(std::atomic<std::uint64_t>& word, std::uint32_t bit) {
    // The carrier clears a summary before the bits below it: if the bit is set here, the carrier
    // will still see those.
    if ((word.load() >> bit & 1) == 0) {
        word.fetch_or(std::uint64_t{1} << bit);
    }
}

}  // namespace

void wake_carrier(const Arena& arena) {
    ArenaHeader& header = *arena.header;
    if (header.carrier_sleeping.load() != 0 && header.carrier_sleeping.exchange(0) != 0) {
        header.carrier_doorbell.fetch_add(1);
        futex_wake(header.carrier_doorbell);
    }
}

void ring_carrier(const Arena& arena) {
    arena.header->carrier_doorbell.fetch_add(1);
    futex_wake(arena.header->carrier_doorbell);
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
        futex_wait(header.carrier_doorbell, before,
                   timeout_ns == UINT64_MAX ? 0 : std::max<std::uint64_t>(timeout_ns, 1));
    }
    header.carrier_sleeping.store(0);
}

bool ask_for_counts(const Arena& arena) {
    if (!arena.writable || arena.header->carrier.load() == 0) {
        return true;  // There is no carrier, or an observer reads what the carrier wrote last.
    }
    ArenaHeader& header = *arena.header;
    const std::uint32_t asked = header.counts_asked.fetch_add(1) + 1;
    wake_carrier(arena);
    const std::uint64_t start = monotonic_ns();
    while (static_cast<std::int32_t>(header.counts_given.load() - asked) < 0) {
        if (monotonic_ns() - start >= kCountsPatienceNs) {
            return false;
        }
        sched_yield();
    }
    return true;
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

void answer_call(CarrierCall& call, int status) {
    call.status = status;
    call.state.store(CarrierCall::kDone, std::memory_order_release);
    futex_wake(call.state);
}

}  // namespace softib::shm
