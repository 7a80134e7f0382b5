// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/counters.h"

namespace softib::live {

namespace {

std::uint64_t load(const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
}

/// Whether the port of this HCA is the far end of a connected queue pair.
bool leads_to(const Arena& arena, const QpShared& qp, std::uint32_t hca) {
    const std::uint16_t dest = qp.dest_lid.load(std::memory_order_relaxed);
    return dest != 0 && dest < kLftEntries && arena.lid_owner[dest].kind == NodeRef::kHca &&
           arena.lid_owner[dest].index == hca;
}

void add_batch(const Arena& arena, std::uint32_t batch, std::uint32_t hca, PortCounters& sum) {
    const std::uint32_t first = batch * kBatchEntries;
    for (std::uint32_t i = first; i < first + kBatchEntries; ++i) {
        const QpShared& qp = arena.qps[i];
        if (qp.state.load(std::memory_order_acquire) == QpState::kReset) {
            continue;
        }
        if (qp.hca == hca) {
            sum.xmit_packets += load(qp.xmit_packets);
            sum.xmit_words += load(qp.xmit_words);
            sum.rcv_packets += load(qp.rcv_packets);
            sum.rcv_words += load(qp.rcv_words);
        }
        // A loopback connection passes the port in both directions.
        if (leads_to(arena, qp, hca)) {
            sum.xmit_packets += load(qp.rcv_packets);
            sum.xmit_words += load(qp.rcv_words);
            sum.rcv_packets += load(qp.xmit_packets);
            sum.rcv_words += load(qp.xmit_words);
        }
    }
}

}  // namespace

PortCounters read_port_counters(const Arena& arena, std::uint32_t hca) {
    const PortTotals& totals = arena.hcas[hca].totals;
    PortCounters sum{
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
    for (std::uint32_t batch = 0; batch < kQpsMax / kBatchEntries; ++batch) {
        if (arena.qp_batches[batch].load(std::memory_order_relaxed) != 0) {
            add_batch(arena, batch, hca, sum);
        }
    }
    return sum;
}

void fold_counters(const Arena& arena, QpShared& qp) {
    const std::uint64_t xmit_packets = qp.xmit_packets.exchange(0);
    const std::uint64_t xmit_words = qp.xmit_words.exchange(0);
    const std::uint64_t rcv_packets = qp.rcv_packets.exchange(0);
    const std::uint64_t rcv_words = qp.rcv_words.exchange(0);
    PortTotals& near = arena.hcas[qp.hca].totals;
    near.xmit_packets.fetch_add(xmit_packets, std::memory_order_relaxed);
    near.xmit_words.fetch_add(xmit_words, std::memory_order_relaxed);
    near.rcv_packets.fetch_add(rcv_packets, std::memory_order_relaxed);
    near.rcv_words.fetch_add(rcv_words, std::memory_order_relaxed);
    const std::uint16_t dest = qp.dest_lid.exchange(0);
    if (dest != 0 && dest < kLftEntries && arena.lid_owner[dest].kind == NodeRef::kHca) {
        PortTotals& far = arena.hcas[arena.lid_owner[dest].index].totals;
        far.xmit_packets.fetch_add(rcv_packets, std::memory_order_relaxed);
        far.xmit_words.fetch_add(rcv_words, std::memory_order_relaxed);
        far.rcv_packets.fetch_add(xmit_packets, std::memory_order_relaxed);
        far.rcv_words.fetch_add(xmit_words, std::memory_order_relaxed);
    }
}

}  // namespace softib::live
