// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a datagram queue pair sent, by destination. Each request of such a queue pair may go to
// another destination, so its counts have no single path to be settled to. It has a flow for every
// LID that it has sent to: the first in the queue pair itself, the others in a hash table. The
// table grows with the LIDs and no flow ever leaves it, so that the daemon finds every count of a
// process that was killed.
//
// Only the thread that acts as the queue pair's NIC adds flows and counts. Other threads read the
// table under QpShared::count_lock; the owner takes that lock only to replace the table by a larger
// one.

#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::shm {

/// Calls fn(Flow&) for every flow of the hash table. The caller holds count_lock, or checks
/// afterwards that flows_off is still the same.
template <typename Fn>
void for_each_flow_of_table(const Arena& arena, const QpShared& qp, Fn&& fn) {
    const std::uint64_t off = qp.flows_off.load(std::memory_order_acquire);
    if (off == 0 || off + sizeof(FlowTable) > arena.bytes) {
        return;
    }
    auto& table = *arena.at<FlowTable>(off);
    const std::uint32_t capacity = table.capacity.load(std::memory_order_relaxed);
    if (capacity > kFlowsMax || off + FlowTable::bytes(capacity) > arena.bytes) {
        return;
    }
    for (std::uint32_t i = 0; i < capacity; ++i) {
        Flow& flow = table.flows()[i];
        if (flow.dlid.load(std::memory_order_acquire) != 0) {
            fn(flow);
        }
    }
}

/// Calls fn(Flow&) for every flow of a queue pair. The caller does as for for_each_flow_of_table().
template <typename Shared, typename Fn>
void for_each_flow(const Arena& arena, Shared& qp, Fn&& fn) {
    if (qp.first_flow.dlid.load(std::memory_order_acquire) != 0) {
        fn(qp.first_flow);
    }
    for_each_flow_of_table(arena, qp, fn);
}

}  // namespace softib::shm
