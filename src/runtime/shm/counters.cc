// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/counters.h"

#include <bit>

#include "runtime/shm/flows.h"
#include "runtime/shm/packet_queue.h"
#include "runtime/shm/path.h"

namespace softib::shm {

namespace {

constexpr std::uint64_t kCountPatienceNs = 20'000'000;

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

/// Counts discards, whose only reason on the direct path is an output port that is not active.
void discarded(PortTotals& totals, std::uint64_t packets) {
    totals.xmit_discards.fetch_add(packets, std::memory_order_relaxed);
    totals.inactive_discards.fetch_add(packets, std::memory_order_relaxed);
}

/// Adds packets to the totals of every switch port on the path to a LID.
void pass(const Arena& arena, std::uint32_t from, Lid to, std::uint64_t packets,
          std::uint64_t words) {
    if (packets == 0) {
        return;
    }
    for_each_port(arena, from, to, [&](SwitchPortRecord& port, bool is_in) {
        is_in ? received(port.totals, packets, words) : sent(port.totals, packets, words);
    });
}

/// Returns the HCA at the other end of a connected queue pair, or UINT32_MAX if there is none.
std::uint32_t far_end(const Arena& arena, const QpShared& qp) {
    const std::uint16_t dest = qp.dest_lid.load(std::memory_order_relaxed);
    if (dest == 0 || dest >= kLftEntries || arena.lid_owner[dest].kind != NodeRef::kHca) {
        return UINT32_MAX;
    }
    return arena.lid_owner[dest].index;
}

/// Adds counts of a connected queue pair to the totals of all ports that its packets passed.
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

/// What a flow counted and the ports do not have yet.
struct FlowCounts {
    std::uint64_t packets;
    std::uint64_t words;

    bool none() const { return (packets | words) == 0; }
};

FlowCounts not_settled(const Flow& flow) {
    return {load(flow.packets) - load(flow.settled[0]), load(flow.words) - load(flow.settled[1])};
}

/// The ports at which the packets of one flow count: in switches, and where the packets arrive.
class FlowPorts {
  public:
    FlowPorts(const Arena& arena, const QpShared& qp, const Flow& flow)
        : arena_(arena),
          from_(qp.hca),
          pkey_(pkey_at(arena, qp.hca, qp.pkey_index)),
          dlid_{static_cast<std::uint16_t>(flow.dlid.load(std::memory_order_relaxed))} {}

    bool multicast() const { return is_multicast(dlid_); }
    bool leaves() const { return active(arena_.hcas[from_].state); }

    template <typename Fn, typename End>
    void visit(Fn&& fn, End&& end) const {
        if (!leaves()) {
            return;
        }
        if (multicast()) {
            follow_multicast(arena_, from_, dlid_, pkey_, fn, end);
        } else if (const auto hca = follow_datagram(arena_, from_, dlid_, pkey_, fn)) {
            end(*hca);
        }
    }

  private:
    const Arena& arena_;
    std::uint32_t from_;
    PKey pkey_;
    Lid dlid_;
};

/// Adds counts of a flow to the totals of all ports that its packets passed.
void attribute_flow(const Arena& arena, const QpShared& qp, const Flow& flow,
                    const FlowCounts& counts) {
    const FlowPorts ports(arena, qp, flow);
    const bool multicast = ports.multicast();
    const auto out = [&](PortTotals& totals) {
        sent(totals, counts.packets, counts.words);
        if (multicast) {
            totals.multicast_xmit_packets.fetch_add(counts.packets, std::memory_order_relaxed);
        }
    };
    const auto in = [&](PortTotals& totals) {
        received(totals, counts.packets, counts.words);
        if (multicast) {
            totals.multicast_rcv_packets.fetch_add(counts.packets, std::memory_order_relaxed);
        }
    };
    PortTotals& near = arena.hcas[qp.hca].totals;
    if (!ports.leaves()) {
        discarded(near, counts.packets);
        return;
    }
    out(near);
    ports.visit(
        [&](SwitchPortRecord& port, Step step) {
            switch (step) {
                case Step::kIn:
                    in(port.totals);
                    break;
                case Step::kOut:
                    out(port.totals);
                    break;
                case Step::kUnknown:
                    port.totals.rcv_switch_relay_errors.fetch_add(counts.packets,
                                                                  std::memory_order_relaxed);
                    port.totals.dlid_mapping_errors.fetch_add(counts.packets,
                                                              std::memory_order_relaxed);
                    break;
                case Step::kLooping:
                    port.totals.rcv_switch_relay_errors.fetch_add(counts.packets,
                                                                  std::memory_order_relaxed);
                    port.totals.looping_errors.fetch_add(counts.packets, std::memory_order_relaxed);
                    break;
                case Step::kDiscarded:
                    discarded(port.totals, counts.packets);
                    break;
                case Step::kRefusedIn:
                    port.totals.rcv_constraint_errors.fetch_add(counts.packets,
                                                                std::memory_order_relaxed);
                    break;
                case Step::kRefusedOut:
                    port.totals.xmit_constraint_errors.fetch_add(counts.packets,
                                                                 std::memory_order_relaxed);
                    break;
            }
        },
        [&](std::uint32_t hca) { in(arena.hcas[hca].totals); });
}

/// Adds to `sum` what a flow counted at the port of `hca` and is not settled yet.
void add_flow(const Arena& arena, const QpShared& qp, const Flow& flow, std::uint32_t hca,
              PortCounts& sum) {
    const FlowCounts counts = not_settled(flow);
    if (counts.none()) {
        return;
    }
    const FlowPorts ports(arena, qp, flow);
    if (qp.hca == hca) {
        (ports.leaves() ? sum.xmit_packets : sum.xmit_discards) += counts.packets;
        sum.inactive_discards += ports.leaves() ? 0 : counts.packets;
        sum.xmit_words += ports.leaves() ? counts.words : 0;
        sum.multicast_xmit_packets += ports.multicast() && ports.leaves() ? counts.packets : 0;
    }
    ports.visit([](SwitchPortRecord&, Step) {},
                [&](std::uint32_t end) {
                    if (end == hca) {
                        sum.rcv_packets += counts.packets;
                        sum.rcv_words += counts.words;
                        sum.multicast_rcv_packets += ports.multicast() ? counts.packets : 0;
                    }
                });
}

template <typename Fn>
void for_each_qp(const Arena& arena, Fn&& fn) {
    const std::uint32_t top = arena.header->qp_batches_top.load(std::memory_order_acquire);
    for (std::uint32_t batch = 0; batch < top; ++batch) {
        for (std::uint64_t used = arena.qp_used[batch].load(std::memory_order_acquire); used != 0;
             used &= used - 1) {
            fn(arena.qps[batch * kBatchEntries +
                         static_cast<std::uint32_t>(std::countr_zero(used))]);
        }
    }
}

}  // namespace

PortCounts read_totals(const PortTotals& totals) {
    PortCounts seen;
    counters::for_each_stored<std::uint64_t, std::atomic<std::uint64_t>>(
        [&](const auto& row, const auto& total) { seen.*row.value = load(totals.*total.value); });
    seen.rcv_constraint_errors += seen.pkey_violations;
    return seen;
}

PortCounts read_port_counters(const Arena& arena, std::uint32_t hca) {
    if (is_packet_path(arena)) {
        ask_for_counts(arena);
        return read_totals(arena.hcas[hca].totals);
    }
    PortCounts sum = read_totals(arena.hcas[hca].totals);
    for_each_qp(arena, [&](const QpShared& qp) {
        if (qp.has_flows.load(std::memory_order_acquire) != 0) {
            const std::uint64_t off = qp.flows_off.load(std::memory_order_acquire);
            PortCounts with = sum;
            for_each_flow(arena, qp,
                          [&](const Flow& flow) { add_flow(arena, qp, flow, hca, with); });
            std::atomic_thread_fence(std::memory_order_acquire);
            if (qp.flows_off.load(std::memory_order_relaxed) == off) {
                sum = with;  // If not, the owner replaced the table while we read it.
            }
            return;
        }
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

void start_counting(const Arena& arena, std::uint32_t qp) {
    const std::uint32_t batch = qp / kBatchEntries;
    arena.qp_used[batch].fetch_or(std::uint64_t{1} << qp % kBatchEntries,
                                  std::memory_order_release);
    std::atomic<std::uint32_t>& top = arena.header->qp_batches_top;
    std::uint32_t seen = top.load(std::memory_order_relaxed);
    while (seen <= batch &&
           !top.compare_exchange_weak(seen, batch + 1, std::memory_order_release)) {
    }
}

void stop_counting(const Arena& arena, std::uint32_t qp) {
    arena.qp_used[qp / kBatchEntries].fetch_and(~(std::uint64_t{1} << qp % kBatchEntries),
                                                std::memory_order_release);
}

void settle_flows_locked(const Arena& arena, QpShared& qp) {
    for_each_flow(arena, qp, [&](Flow& flow) {
        const FlowCounts counts = not_settled(flow);
        if (counts.none()) {
            return;
        }
        flow.settled[0].fetch_add(counts.packets, std::memory_order_relaxed);
        flow.settled[1].fetch_add(counts.words, std::memory_order_relaxed);
        attribute_flow(arena, qp, flow, counts);
    });
}

void settle_counters(const Arena& arena, QpShared& qp, LockWord me) {
    // Most queue pairs have counted nothing new, which can be seen without the lock.
    const bool none = qp.has_flows.load(std::memory_order_acquire) == 0
                          ? not_settled(qp).none()
                          : qp.flows_off.load(std::memory_order_relaxed) == 0 &&
                                not_settled(qp.first_flow).none();
    if (none || !shm_lock(arena, qp.count_lock, me, kCountPatienceNs).taken) {
        return;
    }
    const Counts counts = not_settled(qp);
    qp.settled[0] += counts.xmit_packets;
    qp.settled[1] += counts.xmit_words;
    qp.settled[2] += counts.rcv_packets;
    qp.settled[3] += counts.rcv_words;
    attribute(arena, qp, counts);
    settle_flows_locked(arena, qp);
    shm_unlock(qp.count_lock);
}

void fold_counters(const Arena& arena, QpShared& qp, LockWord me) {
    if (!shm_lock(arena, qp.count_lock, me).taken) {
        return;
    }
    attribute(arena, qp, not_settled(qp));
    settle_flows_locked(arena, qp);
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
    // The life lock tells others whether the daemon lives, in case it dies with a lock below.
    hold_life_lock(arena, kDaemonOwner);
    for_each_qp(arena, [&](QpShared& qp) { settle_counters(arena, qp, me); });
}

}  // namespace softib::shm
