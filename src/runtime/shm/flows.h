// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a datagram queue pair sent, by destination. Each request of such a queue pair may go
// elsewhere, so there is not one path to settle its counts to: it has a flow for every LID it has
// sent to, the first in the queue pair itself, the others in a hash table. The table grows with the
// LIDs and nothing is ever pushed out of it: a process that is killed leaves every count where the
// daemon finds it.
//
// Only the thread that is the queue pair's NIC adds flows and counts. Others read the table under
// QpShared::count_lock; the owner takes that lock only to replace the table by a larger one.

#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::live {

/// fn(Flow&) for every flow of the table; under count_lock, or by who checks flows_off afterwards.
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

/// The same for every flow.
template <typename Shared, typename Fn>
void for_each_flow(const Arena& arena, Shared& qp, Fn&& fn) {
    if (qp.first_flow.dlid.load(std::memory_order_acquire) != 0) {
        fn(qp.first_flow);
    }
    for_each_flow_of_table(arena, qp, fn);
}

}  // namespace softib::live
