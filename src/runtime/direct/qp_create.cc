// SPDX-License-Identifier: BSD-2-Clause
// Creating and destroying a queue pair.
#include <algorithm>
#include <cerrno>
#include <iterator>

#include "runtime/direct/carrier_call.h"
#include "runtime/direct/flow_table.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_base.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/grace.h"

namespace softib::direct {

namespace {

/// Makes the shared part of a queue pair as it is after creation, with its number. Nobody reaches
/// it before its state is stored.
void init_shared(shm::QpShared& shared, const Process& process, const QpInit& init,
                 std::uint32_t index) {
    const std::uint32_t use = (shared.qpn >> kQpIndexBits) + 1;
    shared.flows_off.store(0);
    shared.first_flow.dlid.store(0);
    shared.has_flows.store(0);
    shared.rx.store(0);
    shared.type = init.type;
    // The high bits change with every use of the entry. They stay below 15, so that no QPN is the
    // multicast QPN (0xFFFFFF).
    shared.qpn = index | (use % 15) << kQpIndexBits;
    shared.pd = init.pd;
    shared.access = 0;
    shared.qkey = 0;
    shared.recv_cq = init.recv_cq != nullptr ? init.recv_cq->index() : 0;
    shared.srq = init.srq != nullptr ? init.srq->index() + 1 : 0;
    shared.owner = process.self.owner;
    shared.hca = static_cast<std::uint16_t>(init.hca);
    shared.pkey.store(0);
    shared.pkey_index = 0;
    shared.xrcd = init.xrcd;
    shared.xmit_packets.store(0);
    shared.xmit_words.store(0);
    shared.rcv_packets.store(0);
    shared.rcv_words.store(0);
    shared.count_lock.store(0);
    std::fill(std::begin(shared.settled), std::end(shared.settled), std::uint64_t{0});
    shared.dest_qpn.store(0);
    shared.dest_lid.store(0);
    shared.async_channel = init.async_channel;
    shared.event_id = init.event_id;
    shared.sq.ring_off = 0;
    shared.sq.cq = init.send_cq != nullptr ? init.send_cq->index() : 0;
    shared.sq_psn = 0;
    shared.rq_psn = 0;
    shared.path_mig_state = 0;
}

}  // namespace

QpBase::QpBase(Process& process, const QpInit& init, std::uint32_t index)
    : index_(index),
      process_(&process),
      self_(process.self),
      stripe_(&process.tables.next_stripe()),
      producer_{stripe_, process.self.hazard_fence
                             ? 0
                             : shm::producer_name(process.self.lock_word,
                                                  static_cast<std::uint32_t>(
                                                      stripe_ - process.self.slot->stripes))},
      shared_(&process.self.arena.qps[index]),
      init_(init),
      opcodes_(opcodes_of(init.type)) {}

std::uint32_t QpBase::take_record(Process& process, const QpInit& init) {
    if (init.max_send_wr > kSendWrMax || init.max_recv_wr > kRecvWrMax ||
        init.max_send_sge > hca::kSgesMax || init.max_recv_sge > hca::kSgesMax ||
        init.max_inline > hca::kInlineBytesMax) {
        errno = EINVAL;
        return shm::kNoEntry;
    }
    const std::uint32_t index = process.tables.qps.allocate();
    if (index == shm::kNoEntry) {
        errno = ENOMEM;
        return shm::kNoEntry;
    }
    shm::QpShared& shared = process.self.arena.qps[index];
    const bool has_ring = init.srq == nullptr && init.type != hca::QpType::kXrcSend &&
                          init.type != hca::QpType::kXrcRecv;
    shared.rq.ring_off = 0;
    if (has_ring &&
        !ring_init(process, shared.rq, init.max_recv_wr, std::max(init.max_recv_sge, 1U), 0)) {
        process.tables.qps.release(index);
        errno = ENOMEM;
        return shm::kNoEntry;
    }
    init_shared(shared, process, init, index);
    return index;
}

bool QpBase::start() {
    shared_->cookie = reinterpret_cast<std::uint64_t>(this);
    shared_->state.store(hca::QpState::kReset, std::memory_order_release);
    start_counting(self_.arena, index_);
    if (const int error = open(); error != 0) {
        destroy();
        errno = error;
        return false;
    }
    process_->progress.qps.add(*this);
    process_->progress.start_helper();
    return true;
}

void QpBase::destroy() {
    if (!disowned_ && self_.usable()) {
        shared_->rx.store(0, std::memory_order_release);
        process_->progress.qps.remove(*this);
        close();
        shared_->state.store(hca::QpState::kReset, std::memory_order_release);
        const bool quiet = wait_grace(self_.arena, self_.owner, nullptr);
        purge_completions();
        fold_counters(self_.arena, *shared_, self_.lock_word);
        stop_counting(self_.arena, index_);
        flows_free(*process_, *shared_);
        if (quiet) {
            ring_free(*process_, shared_->rq);
            send_ring_free(*process_, shared_->sq);
            shared_->owner = 0;
            process_->tables.qps.release(index_);
        }
    }
    delete this;
}

}  // namespace softib::direct
