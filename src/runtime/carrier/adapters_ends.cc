// SPDX-License-Identifier: BSD-2-Clause
// Passes packets from the network to the HCAs, and completions and events to programs.
#include <algorithm>

#include "runtime/carrier/adapters.h"
#include "runtime/carrier/sharp/sharp_ends.h"
#include "runtime/carrier/trunk/trunk_wire.h"
#include "runtime/direct/cq.h"
#include "runtime/shm/packet_queue.h"

namespace softib::carrier {

namespace {

using hca::QpState;
using hca::QpType;

}  // namespace

void Adapters::before_packet(std::uint32_t port, const wire::PacketHeaders& headers) {
    if (sharp_ != nullptr && sharp_->has_node(port)) {
        return;
    }
    if (is_multicast(headers.lrh.dlid)) {
        const std::uint32_t hca = hca_of_port_[port];
        for (const auto& queue_pair : pairs_) {
            if (queue_pair != nullptr && queue_pair->listens && queue_pair->hca == hca) {
                fetch_receives(*queue_pair);
            }
        }
        return;
    }
    Pair* const queue_pair = pair(headers.bth.dest_qp);
    if (queue_pair == nullptr) {
        return;
    }
    fetch_receives(*queue_pair);
    if (record(*queue_pair).type == QpType::kXrcRecv) {
        if (Shared* queue = shared(headers.xrc_eth.xrcsrq)) {
            fetch_receives(*queue);
        }
    }
}

void Adapters::deliver(net::Engine& net, std::uint32_t port, const net::Packet& packet) {
    if (trunks_ != nullptr && hosts_.hca_at(port) == nullptr && !hosts_.body(packet).unknown) {
        trunks_->leave(port, packet, hosts_.body(packet));
        hosts_.let_go(packet);
        return;
    }
    hosts_.deliver(net, port, packet);
}

void Adapters::sent(net::Engine& net, std::uint32_t port, const net::Packet& packet) {
    if (trunks_ != nullptr && hosts_.is_raw(packet)) {
        trunks_->entered(port);
    }
    hosts_.sent(net, port, packet);
}

void Adapters::dropped(net::Engine& net, const net::Packet& packet, net::TimePs at) {
    if (trunks_ != nullptr && hosts_.is_raw(packet) && !hosts_.body(packet).left) {
        trunks_->entered(hosts_.body(packet).port);
    }
    hosts_.dropped(net, packet, at);
}

void Adapters::tapped(net::Engine&, std::uint32_t port, const net::Packet& packet) {
    watchers_.show(port, packet, hosts_.body(packet));
}

void Adapters::refused(net::Engine&, std::uint32_t port, bool inbound, const net::Packet& packet) {
    watchers_.tell_refused(port, inbound, hosts_.body(packet).headers);
}

void Adapters::after_packet(std::uint32_t port, const wire::PacketHeaders& headers) {
    if (sharp_ != nullptr) {
        if (sharp_->has_node(port)) {
            sharp_->after_packet(port);
            return;
        }
        sharp_->take_completions();
    }
    watchers_.look_for_violations(hca_of_port_[port], *hosts_.hca_at(port), headers);
    if (is_multicast(headers.lrh.dlid)) {
        const std::uint32_t hca = hca_of_port_[port];
        for (const auto& queue_pair : pairs_) {
            if (queue_pair != nullptr && queue_pair->listens && queue_pair->hca == hca) {
                release_receives(*queue_pair);
            }
        }
        return;
    }
    if (Pair* const queue_pair = pair(headers.bth.dest_qp)) {
        release_receives(*queue_pair);
        if (record(*queue_pair).type == QpType::kXrcRecv) {
            if (Shared* queue = shared(headers.xrc_eth.xrcsrq)) {
                queue->receives.release(
                    hcas_[queue->hca]->receives_waiting(hca::SrqId{queue->index}));
            }
        }
    }
}

void Adapters::complete(hca::CqId cq, const hca::Completion& done, bool solicited) {
    Pair* const queue_pair = pair(done.qpn);
    if (queue_pair == nullptr || cq.value >= shm::kCqsMax) {
        if (queue_pair == nullptr && sharp_ != nullptr) {
            sharp_->note(done);
        }
        return;
    }
    shm::Cqe e{};
    e.byte_len = done.byte_len;
    e.qpn = done.qpn.value;
    e.status = static_cast<std::uint8_t>(done.status);
    e.opcode = static_cast<std::uint8_t>(done.opcode);
    if (done.is_receive) {
        const auto srq = static_cast<std::uint32_t>(done.wr_id >> 32);
        Shared* const queue = srq != 0 ? shared(srq - 1) : nullptr;
        if (srq != 0 && queue == nullptr) {
            return;
        }
        ReceiveSource& source = queue != nullptr ? queue->receives : queue_pair->receives;
        // A program that sees the completion may post another request at once, so the slot in its
        // ring must be free before.
        source.release(queue != nullptr
                           ? hcas_[queue->hca]->receives_waiting(hca::SrqId{queue->index})
                           : hcas_[queue_pair->hca]->receives_waiting(queue_pair->qpn));
        const ReceiveSource::Token token = source.take(static_cast<std::uint32_t>(done.wr_id));
        e.wr_id = token.wr_id;
        e.wqe_index = token.wqe_index;
        e.is_receive = 1;
        e.flags = done.flags;
        e.imm_or_rkey = (done.flags & hca::kWcWithImm) != 0 ? __builtin_bswap32(done.imm_or_rkey)
                                                            : done.imm_or_rkey;
        e.src_qpn = done.src_qp.value;
        e.slid = done.slid.value;
        e.sl = done.sl;
        e.path_bits = done.dlid_path_bits;
        e.pkey_index = done.pkey_index;
    } else {
        const auto at = static_cast<std::uint32_t>(done.wr_id);
        e.wr_id = shm::send_slot(process_.self.arena, record(*queue_pair).sq, at)->wr_id;
        e.wqe_index = at + 1;
    }
    const QpType type = record(*queue_pair).type;
    if (done.is_receive ? hca::stops_receiving(type, done.status)
                        : done.status != hca::WcStatus::kSuccess) {
        // A program that sees the completion must see the state that comes with it.
        const bool only_sends =
            !done.is_receive && (type == QpType::kUd || type == QpType::kUc) &&
            record(*queue_pair).state.load(std::memory_order_relaxed) != QpState::kErr;
        record(*queue_pair).state.store(only_sends ? QpState::kSqe : QpState::kErr);
        failed_.push_back(done.qpn);
    }
    shm::CqShared& queue = process_.self.arena.cqs[cq.value];
    direct::cq_push(process_.self, queue, e, solicited || done.status != hca::WcStatus::kSuccess,
                    nullptr);
    if (queue.overflowed.load(std::memory_order_relaxed) != 0) {
        overrun_.push_back(cq.value);
    }
}

/// Writes the state of a queue pair into the arena, where its program reads it. In the error state
/// it also flushes what the program has posted meanwhile.
void Adapters::show_state(Pair& queue_pair) {
    const auto attr = hcas_[queue_pair.hca]->query_qp(queue_pair.qpn);
    if (!attr) {
        return;
    }
    record(queue_pair).state.store(attr->state);
    if (attr->state == QpState::kErr) {
        fetch_sends(queue_pair);
        fetch_receives(queue_pair);
        release_receives(queue_pair);
    }
}

/// Moves the queue pairs of a completion queue that has overrun to the error state (IBA vol. 1,
/// 11.6.3).
void Adapters::stop_with_cq(std::uint32_t cq) {
    for (const auto& queue_pair : pairs_) {
        if (queue_pair == nullptr ||
            (record(*queue_pair).sq.cq != cq && record(*queue_pair).recv_cq != cq)) {
            continue;
        }
        const auto attr = hcas_[queue_pair->hca]->query_qp(queue_pair->qpn);
        if (!attr || attr->state == QpState::kReset || attr->state == QpState::kErr) {
            continue;
        }
        hca::QpAttr to_error;
        to_error.state = QpState::kErr;
        hcas_[queue_pair->hca]->modify_qp(queue_pair->qpn, to_error, hca::qp_attr::kState);
        tell(queue_pair->hca, {.kind = hca::Event::Kind::kAsync,
                               .async = hca::AsyncKind::kQpFatal,
                               .id = queue_pair->qpn.value});
        failed_.push_back(queue_pair->qpn);
    }
}

void Adapters::tell(std::uint32_t, const hca::Event& event) {
    if (event.kind != hca::Event::Kind::kAsync) {
        return;
    }
    const auto kind = static_cast<std::uint32_t>(event.async);
    if (event.async == hca::AsyncKind::kSrqLimitReached) {
        if (shared(event.id) != nullptr) {
            shm::SrqShared& srq = process_.self.arena.srqs[event.id];
            srq.limit.store(0, std::memory_order_relaxed);
            process_.self.channels.signal(srq.owner, srq.async_channel, {srq.cookie, kind, 0});
        }
        return;
    }
    if (Pair* const queue_pair = pair(Qpn{event.id})) {
        shm::QpShared& qp = record(*queue_pair);
        failed_.push_back(queue_pair->qpn);
        if (const auto attr = hcas_[queue_pair->hca]->query_qp(queue_pair->qpn)) {
            qp.state.store(attr->state);  // Before the event, so that the program finds it changed.
        }
        process_.self.channels.signal(qp.owner, qp.async_channel, {qp.event_id, kind, 1});
    }
}

void Adapters::tell() {
    do {
        while (!overrun_.empty()) {
            const std::uint32_t cq = overrun_.back();
            overrun_.pop_back();
            stop_with_cq(cq);
        }
        while (!failed_.empty()) {
            const Qpn qpn = failed_.back();
            failed_.pop_back();
            if (Pair* const queue_pair = pair(qpn)) {
                show_state(*queue_pair);
            }
        }
        for (std::uint32_t i = 0; i < hcas_.size(); ++i) {
            while (const auto event = hcas_[i]->poll_event()) {
                tell(i, *event);
            }
        }
    } while (!failed_.empty() || !overrun_.empty());
}

}  // namespace softib::carrier
