// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/counters.h"

#include "runtime/live/path.h"

namespace softib::live {

namespace {

constexpr std::uint64_t kPatienceNs = 20'000'000;

std::uint64_t load(const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
}

struct Counts {
    std::uint64_t xmit_packets;
    std::uint64_t xmit_words;
    std::uint64_t rcv_packets;
    std::uint64_t rcv_words;

    bool none() const { return (xmit_packets | xmit_words | rcv_packets | rcv_words) == 0; }
};

Counts counts_of(const QpShared& qp) {
    return {load(qp.xmit_packets), load(qp.xmit_words), load(qp.rcv_packets), load(qp.rcv_words)};
}

Counts not_settled(const QpShared& qp) {
    const Counts now = counts_of(qp);
    return {now.xmit_packets - qp.settled[0], now.xmit_words - qp.settled[1],
            now.rcv_packets - qp.settled[2], now.rcv_words - qp.settled[3]};
}

void sent(PortTotals& totals, std::uint64_t packets, std::uint64_t words) {
    totals.xmit_packets.fetch_add(packets, std::memory_order_relaxed);
    totals.xmit_words.fetch_add(words, std::memory_order_relaxed);
}

void received(PortTotals& totals, std::uint64_t packets, std::uint64_t words) {
    totals.rcv_packets.fetch_add(packets, std::memory_order_relaxed);
    totals.rcv_words.fetch_add(words, std::memory_order_relaxed);
}

void pass(const Arena& arena, std::uint32_t from, Lid to, std::uint64_t packets,
          std::uint64_t words) {
    if (packets == 0) {
        return;
    }
    for_each_port(arena, from, to, [&](SwitchPortRecord& port, bool is_in) {
        is_in ? received(port.totals, packets, words) : sent(port.totals, packets, words);
    });
}

/// The HCA at the other end of a connected queue pair; UINT32_MAX: none.
std::uint32_t far_end(const Arena& arena, const QpShared& qp) {
    const std::uint16_t dest = qp.dest_lid.load(std::memory_order_relaxed);
    if (dest == 0 || dest >= kLftEntries || arena.lid_owner[dest].kind != NodeRef::kHca) {
        return UINT32_MAX;
    }
    return arena.lid_owner[dest].index;
}

void attribute(const Arena& arena, const QpShared& qp, const Counts& counts) {
    if (counts.none()) {
        return;
    }
    HcaRecord& near = arena.hcas[qp.hca];
    sent(near.totals, counts.xmit_packets, counts.xmit_words);
    received(near.totals, counts.rcv_packets, counts.rcv_words);
    const std::uint32_t far = far_end(arena, qp);
    if (far == UINT32_MAX) {
        return;
    }
    received(arena.hcas[far].totals, counts.xmit_packets, counts.xmit_words);
    sent(arena.hcas[far].totals, counts.rcv_packets, counts.rcv_words);
    pass(arena, qp.hca, Lid{qp.dest_lid.load(std::memory_order_relaxed)}, counts.xmit_packets,
         counts.xmit_words);
    pass(arena, far, Lid{near.lid.load(std::memory_order_relaxed)}, counts.rcv_packets,
         counts.rcv_words);
}

template <typename Fn>
void for_each_qp(const Arena& arena, Fn&& fn) {
    for (std::uint32_t batch = 0; batch < kQpsMax / kBatchEntries; ++batch) {
        if (arena.qp_batches[batch].load(std::memory_order_relaxed) == 0) {
            continue;
        }
        for (std::uint32_t i = batch * kBatchEntries; i < (batch + 1) * kBatchEntries; ++i) {
            if (arena.qps[i].state.load(std::memory_order_acquire) != QpState::kReset) {
                fn(arena.qps[i]);
            }
        }
    }
}

}  // namespace

PortCounters read_totals(const PortTotals& totals) {
    return {
        .xmit_packets = load(totals.xmit_packets),
        .xmit_words = load(totals.xmit_words),
        .rcv_packets = load(totals.rcv_packets),
        .rcv_words = load(totals.rcv_words),
        .multicast_xmit_packets = load(totals.multicast_xmit_packets),
        .multicast_rcv_packets = load(totals.multicast_rcv_packets),
        .pkey_violations = load(totals.pkey_violations),
        .qkey_violations = load(totals.qkey_violations),
        .access_violations = load(totals.access_violations),
        .xmit_discards = load(totals.xmit_discards),
    };
}

PortCounters read_port_counters(const Arena& arena, std::uint32_t hca) {
    PortCounters sum = read_totals(arena.hcas[hca].totals);
    for_each_qp(arena, [&](const QpShared& qp) {
        const Counts counts = not_settled(qp);
        if (qp.hca == hca) {
            sum.xmit_packets += counts.xmit_packets;
            sum.xmit_words += counts.xmit_words;
            sum.rcv_packets += counts.rcv_packets;
            sum.rcv_words += counts.rcv_words;
        }
        // A loopback connection passes the port in both directions.
        if (far_end(arena, qp) == hca) {
            sum.xmit_packets += counts.rcv_packets;
            sum.xmit_words += counts.rcv_words;
            sum.rcv_packets += counts.xmit_packets;
            sum.rcv_words += counts.xmit_words;
        }
    });
    return sum;
}

void settle_counters(const Arena& arena, QpShared& qp, LockWord me) {
    if (not_settled(qp).none() || !shm_lock(arena, qp.count_lock, me, kPatienceNs).taken) {
        return;
    }
    const Counts counts = not_settled(qp);
    qp.settled[0] += counts.xmit_packets;
    qp.settled[1] += counts.xmit_words;
    qp.settled[2] += counts.rcv_packets;
    qp.settled[3] += counts.rcv_words;
    attribute(arena, qp, counts);
    shm_unlock(qp.count_lock);
}

void fold_counters(const Arena& arena, QpShared& qp, LockWord me) {
    if (!shm_lock(arena, qp.count_lock, me).taken) {
        return;
    }
    attribute(arena, qp, not_settled(qp));
    qp.xmit_packets.store(0, std::memory_order_relaxed);
    qp.xmit_words.store(0, std::memory_order_relaxed);
    qp.rcv_packets.store(0, std::memory_order_relaxed);
    qp.rcv_words.store(0, std::memory_order_relaxed);
    for (std::uint64_t& settled : qp.settled) {
        settled = 0;
    }
    qp.dest_lid.store(0, std::memory_order_relaxed);
    shm_unlock(qp.count_lock);
}

void settle_all(const Arena& arena, LockWord me) {
    for_each_qp(arena, [&](QpShared& qp) { settle_counters(arena, qp, me); });
}

}  // namespace softib::live
