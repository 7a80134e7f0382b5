// SPDX-License-Identifier: BSD-2-Clause
// Fetches requests from programs' rings and posts them to the HCAs.
#include <algorithm>

#include "runtime/carrier/adapters.h"
#include "runtime/shm/packet_queue.h"

namespace softib::carrier {

namespace {

using hca::QpState;
using hca::QpType;

/// Returns the wr_id by which the HCA knows a receive request: its token in the lower half; in the
/// upper half the index of the shared receive queue + 1, or 0 if it is a queue pair's own.
constexpr std::uint64_t name_of(std::uint32_t srq_plus_1, std::uint32_t token) {
    return std::uint64_t{srq_plus_1} << 32 | token;
}

}  // namespace

void Adapters::serve(std::uint32_t index) {
    Pair* const queue_pair = pair(index);
    if (queue_pair == nullptr) {
        return;
    }
    fetch_sends(*queue_pair);
    if (record(*queue_pair).state.load(std::memory_order_acquire) == QpState::kErr) {
        fetch_receives(*queue_pair);
    }
    send_from(queue_pair->hca);
}

void Adapters::send_from(std::uint32_t hca) {
    if (has_network_) {
        hosts_.pump(*net_, ports_[hca]);
    } else {
        wanting_.push_back(hca);
    }
}

bool Adapters::poll_transmit(std::uint32_t hca, hca::Transmit& out) {
    const bool some = hcas_[hca]->poll_transmit(out, now_ns_);
    if (!some) {
        next_timeout_ns_ = std::min(next_timeout_ns_, hcas_[hca]->next_timeout_ns());
    }
    return some;
}

void Adapters::handle_packet(std::uint32_t hca, const wire::PacketHeaders& headers,
                             const hca::Payload& payload) {
    before_packet(ports_[hca], headers);
    hcas_[hca]->handle_packet(headers, payload, now_ns_);
    after_packet(ports_[hca], headers);
}

void Adapters::fetch_sends(Pair& queue_pair) {
    const shm::SendRing& ring = record(queue_pair).sq;
    // A program that resets its queue pair resets its ring a little later than the carrier does.
    if (ring.ring_off == 0 || record(queue_pair).state.load() < QpState::kRts) {
        return;
    }
    const std::uint32_t tail = ring.tail.load(std::memory_order_acquire);
    while (queue_pair.sends != tail && post(queue_pair, queue_pair.sends)) {
        ++queue_pair.sends;
    }
}

bool Adapters::post(Pair& queue_pair, std::uint32_t at) {
    const shm::Arena& arena = process_.self.arena;
    const shm::SendRing& ring = record(queue_pair).sq;
    const shm::PostedSend& posted = *shm::send_slot(arena, ring, at);
    hca::WorkRequest wr(posted);
    wr.wr_id = at;
    if (hca::carries_immediate(wr.opcode)) {
        wr.imm_or_rkey = __builtin_bswap32(wr.imm_or_rkey);
    }
    wr.av = posted.to;
    if ((wr.flags & hca::kSendInline) != 0) {
        const std::uint32_t room =
            wr.opcode == hca::WrOpcode::kAtomicWrite ? hca::kAtomicBytes : ring.inline_max;
        wr.inline_data = {posted.inline_data(), std::min(posted.inline_bytes, room)};
    } else {
        wr.sges = {posted.sges(), std::min<std::uint32_t>(posted.num_sge, ring.sges_max)};
    }
    if (wr.opcode == hca::WrOpcode::kBindMw) {
        wr.bind = {.mw_key = posted.bind.new_rkey,
                   .new_key = posted.bind.new_rkey,
                   .mr_lkey = posted.bind.mr_index,
                   .access = posted.bind.access,
                   .addr = posted.bind.address,
                   .length = posted.bind.length};
    }
    if (record(queue_pair).type == QpType::kUd && is_multicast(wr.av.dlid)) {
        wire::PacketHeaders headers;
        headers.lrh.dlid = wr.av.dlid;
        before_packet(ports_[queue_pair.hca], headers);  // Listeners at this HCA get it at once.
    }
    switch (hcas_[queue_pair.hca]->post_send(queue_pair.qpn, wr)) {
        case hca::PostError::kOk:
            return true;
        case hca::PostError::kFull:
            return false;  // A program's library posts no more requests than there is room for.
        case hca::PostError::kInvalid:
            break;
    }
    // The program's library has accepted a request that the HCA refuses.
    complete(hca::CqId{ring.cq},
             {.wr_id = at,
              .qpn = queue_pair.qpn,
              .status = hca::WcStatus::kLocQpOpErr,
              .opcode = hca::completion_opcode(wr.opcode)},
             true);
    hca::QpAttr to_error;
    to_error.state = QpState::kErr;
    hcas_[queue_pair.hca]->modify_qp(queue_pair.qpn, to_error, hca::qp_attr::kState);
    return true;
}

void Adapters::fetch_receives(Pair& queue_pair) {
    if (queue_pair.srq != 0) {
        if (Shared* queue = shared(queue_pair.srq - 1)) {
            fetch_receives(*queue);
        }
        return;
    }
    if (queue_pair.receives.exists() && record(queue_pair).state.load() != QpState::kReset) {
        queue_pair.receives.fetch(
            process_.self.arena, [&](std::uint32_t token, std::span<const hca::Sge> sges) {
                return hcas_[queue_pair.hca]->post_receive(queue_pair.qpn, name_of(0, token),
                                                           sges) == hca::PostError::kOk;
            });
    }
}

void Adapters::fetch_receives(Shared& queue) {
    shm::RecvRing& ring = process_.self.arena.srqs[queue.index].ring;
    if (!queue.receives.has_more()) {
        return;
    }
    // The owner may be moving the ring to a larger place.
    if (!shm::shm_lock(process_.self.arena, ring.lock, process_.self.lock_word).taken) {
        return;
    }
    queue.receives.fetch(process_.self.arena,
                         [&](std::uint32_t token, std::span<const hca::Sge> sges) {
                             return hcas_[queue.hca]->post_receive(hca::SrqId{queue.index},
                                                                   name_of(queue.index + 1, token),
                                                                   sges) == hca::PostError::kOk;
                         });
    shm::shm_unlock(ring.lock);
}

void Adapters::release_receives(Pair& queue_pair) {
    if (queue_pair.srq != 0) {
        if (Shared* queue = shared(queue_pair.srq - 1)) {
            queue->receives.release(hcas_[queue->hca]->receives_waiting(hca::SrqId{queue->index}));
        }
    } else if (queue_pair.receives.exists() && record(queue_pair).state.load() != QpState::kReset) {
        queue_pair.receives.release(hcas_[queue_pair.hca]->receives_waiting(queue_pair.qpn));
    }
}

}  // namespace softib::carrier
