// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/flow_table.h"

#include "core/base/check.h"
#include "runtime/direct/process.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/shm_lock.h"

namespace softib::direct {

namespace {

constexpr std::uint32_t kFlowsFirst = 4;

shm::FlowTable* table_of(const shm::Arena& arena, const shm::QpShared& qp) {
    return arena.at<shm::FlowTable>(qp.flows_off.load(std::memory_order_relaxed));
}

/// Returns the entry of this LID, or the free entry where it belongs. The table is never full.
shm::Flow& slot_of(shm::FlowTable& table, std::uint32_t dlid) {
    const std::uint32_t mask = table.capacity.load(std::memory_order_relaxed) - 1;
    // LIDs are dense, so their low bits are a good hash.
    for (std::uint32_t i = dlid;; ++i) {
        shm::Flow& flow = table.flows()[i & mask];
        const std::uint32_t found = flow.dlid.load(std::memory_order_relaxed);
        if (found == dlid || found == 0) {
            return flow;
        }
    }
}

/// Fills an entry. The LID is stored last, because readers take an entry as valid once it has one.
void open_flow(shm::Flow& flow, std::uint32_t dlid, const std::uint64_t (&counts)[4]) {
    flow.packets.store(counts[0], std::memory_order_relaxed);
    flow.words.store(counts[1], std::memory_order_relaxed);
    flow.settled[0].store(counts[2], std::memory_order_relaxed);
    flow.settled[1].store(counts[3], std::memory_order_relaxed);
    flow.dlid.store(dlid, std::memory_order_release);
}

/// Replaces the table by a larger one, with one store. The caller holds count_lock, so that nobody
/// settles counts in the old table meanwhile. Returns false if the arena is full.
bool grow(Process& process, shm::QpShared& qp, std::uint32_t capacity) {
    SOFTIB_CHECK(capacity <= shm::kFlowsMax);
    const std::uint64_t off = process.memory.chunks.allocate(shm::FlowTable::bytes(capacity));
    if (off == 0) {
        return false;
    }
    auto& table = *process.self.arena.at<shm::FlowTable>(off);
    table.capacity.store(capacity, std::memory_order_relaxed);
    for_each_flow_of_table(process.self.arena, qp, [&](const shm::Flow& flow) {
        const std::uint32_t dlid = flow.dlid.load(std::memory_order_relaxed);
        open_flow(slot_of(table, dlid), dlid,
                  {flow.packets.load(std::memory_order_relaxed),
                   flow.words.load(std::memory_order_relaxed),
                   flow.settled[0].load(std::memory_order_relaxed),
                   flow.settled[1].load(std::memory_order_relaxed)});
        ++table.used;
    });
    qp.flows_off.store(off, std::memory_order_release);
    return true;
}

/// Settles what the flows have counted and empties the table, because the arena has no room for a
/// larger one.
void empty(const shm::Arena& arena, shm::QpShared& qp) {
    settle_flows_locked(arena, qp);
    for_each_flow(arena, qp,
                  [](shm::Flow& flow) { flow.dlid.store(0, std::memory_order_release); });
    if (qp.flows_off.load(std::memory_order_relaxed) != 0) {
        table_of(arena, qp)->used = 0;
    }
}

void make_room(Process& process, shm::QpShared& qp) {
    const std::uint64_t off = qp.flows_off.load(std::memory_order_relaxed);
    const std::uint32_t capacity =
        off == 0 ? 0 : table_of(process.self.arena, qp)->capacity.load(std::memory_order_relaxed);
    static_cast<void>(shm_lock(process.self.arena, qp.count_lock, process.self.lock_word));
    const bool grown = grow(process, qp, capacity == 0 ? kFlowsFirst : 2 * capacity);
    if (!grown) {
        empty(process.self.arena, qp);
    }
    shm::shm_unlock(qp.count_lock);
    if (grown && off != 0) {
        process.memory.chunks.release(off, shm::FlowTable::bytes(capacity));
    }
}

}  // namespace

void flows_free(Process& process, shm::QpShared& qp) {
    static_cast<void>(shm_lock(process.self.arena, qp.count_lock, process.self.lock_word));
    qp.has_flows.store(0, std::memory_order_relaxed);
    qp.first_flow.dlid.store(0, std::memory_order_relaxed);
    const std::uint64_t off = qp.flows_off.exchange(0, std::memory_order_acq_rel);
    shm::shm_unlock(qp.count_lock);
    if (off != 0) {
        const std::uint32_t capacity =
            process.self.arena.at<shm::FlowTable>(off)->capacity.load(std::memory_order_relaxed);
        process.memory.chunks.release(off, shm::FlowTable::bytes(capacity));
    }
}

shm::Flow& flow_to(Process& process, shm::QpShared& qp, Lid dlid) {
    const auto is_first = [&] {
        const std::uint32_t first = qp.first_flow.dlid.load(std::memory_order_relaxed);
        if (first == 0) {
            open_flow(qp.first_flow, dlid.value, {});
            qp.has_flows.store(1, std::memory_order_release);
        }
        return first == 0 || first == dlid.value;
    };
    if (is_first()) {
        return qp.first_flow;
    }
    if (qp.flows_off.load(std::memory_order_relaxed) != 0) {
        shm::FlowTable& table = *table_of(process.self.arena, qp);
        shm::Flow& flow = slot_of(table, dlid.value);
        if (flow.dlid.load(std::memory_order_relaxed) == dlid.value) {
            return flow;
        }
        if (4 * (table.used + 1) <= 3 * table.capacity.load(std::memory_order_relaxed)) {
            open_flow(flow, dlid.value, {});
            ++table.used;
            return flow;
        }
    }
    make_room(process, qp);
    return flow_to(process, qp, dlid);
}

}  // namespace softib::direct
