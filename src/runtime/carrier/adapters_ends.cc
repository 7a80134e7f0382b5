// SPDX-License-Identifier: BSD-2-Clause
// What comes out of the network: packets for the adapters, and completions and events for programs.
#include <algorithm>

#include "runtime/carrier/adapters.h"
#include "runtime/carrier/trunk/trunk_wire.h"
#include "runtime/direct/cq.h"
#include "runtime/shm/packet_queue.h"

namespace softib::carrier {

namespace {

using live::QpState;
using live::QpType;

}  // namespace

void Adapters::before_packet(std::uint32_t port, const wire::PacketHeaders& headers) {
    if (is_multicast(headers.lrh.dlid)) {
        const std::uint32_t hca = hca_of_port_[port];
        for (const auto& of : pairs_) {
            if (of != nullptr && of->listens && of->hca == hca) {
                fetch_receives(*of);
            }
        }
        return;
    }
    Pair* const of = pair(headers.bth.dest_qp);
    if (of == nullptr) {
        return;
    }
    fetch_receives(*of);
    if (record(*of).type == QpType::kXrcRecv) {
        if (Shared* queue = shared(headers.xrc_eth.xrcsrq)) {
            fetch_receives(*queue);
        }
    }
}

void Adapters::deliver(net::Engine& net, std::uint32_t port, const net::Packet& packet) {
    if (trunks_ != nullptr && hca_at(port) == nullptr && !body(packet).unknown) {
        trunks_->leave(port, packet, body(packet));
        let_go(packet.body);
        return;
    }
    TransportHosts::deliver(net, port, packet);
}

void Adapters::sent(net::Engine& net, std::uint32_t port, const net::Packet& packet) {
    if (trunks_ != nullptr && is_raw(packet)) {
        trunks_->entered(port);
    }
    TransportHosts::sent(net, port, packet);
}

void Adapters::dropped(net::Engine& net, const net::Packet& packet) {
    if (trunks_ != nullptr && is_raw(packet) && !body(packet).left) {
        trunks_->entered(body(packet).port);
    }
    TransportHosts::dropped(net, packet);
}

void Adapters::tapped(net::Engine&, std::uint32_t port, const net::Packet& packet) {
    watchers_.show(port, packet, body(packet));
}

void Adapters::refused(net::Engine&, std::uint32_t port, bool inbound, const net::Packet& packet) {
    watchers_.tell_refused(port, inbound, body(packet).headers);
}

void Adapters::after_packet(std::uint32_t port, const wire::PacketHeaders& headers) {
    watchers_.look_for_violations(hca_of_port_[port], *hca_at(port), headers);
    if (is_multicast(headers.lrh.dlid)) {
        const std::uint32_t hca = hca_of_port_[port];
        for (const auto& of : pairs_) {
            if (of != nullptr && of->listens && of->hca == hca) {
                release_receives(*of);
            }
        }
        return;
    }
    if (Pair* const of = pair(headers.bth.dest_qp)) {
        release_receives(*of);
        if (record(*of).type == QpType::kXrcRecv) {
            if (Shared* queue = shared(headers.xrc_eth.xrcsrq)) {
                queue->receives.release(
                    hcas_[queue->hca]->receives_waiting(hca::SrqId{queue->index}));
            }
        }
    }
}

void Adapters::complete(hca::CqId cq, const hca::Completion& done, bool solicited) {
    Pair* const of = pair(done.qpn);
    if (of == nullptr || cq.value >= live::kCqsMax) {
        return;
    }
    live::Cqe e{};
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
        ReceiveSource& source = queue != nullptr ? queue->receives : of->receives;
        // Who sees the completion may post another one at once: its place is free before.
        source.release(queue != nullptr
                           ? hcas_[queue->hca]->receives_waiting(hca::SrqId{queue->index})
                           : hcas_[of->hca]->receives_waiting(of->qpn));
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
        e.wr_id = live::send_slot(process_.arena, record(*of).sq, at)->wr_id;
        e.wqe_index = at + 1;
    }
    const QpType type = record(*of).type;
    if (done.is_receive ? hca::stops_receiving(type, done.status)
                        : done.status != hca::WcStatus::kSuccess) {
        // Who sees the completion shall see the state that comes with it.
        const bool only_sends = !done.is_receive && (type == QpType::kUd || type == QpType::kUc) &&
                                record(*of).state.load(std::memory_order_relaxed) != QpState::kErr;
        record(*of).state.store(only_sends ? QpState::kSqe : QpState::kErr);
        failed_.push_back(done.qpn);
    }
    live::CqShared& queue = process_.arena.cqs[cq.value];
    live::cq_push(process_, queue, e, solicited || done.status != hca::WcStatus::kSuccess);
    if (queue.overflowed.load(std::memory_order_relaxed) != 0) {
        overrun_.push_back(cq.value);
    }
}

/// What it says to its program. An error also ends what the program has posted meanwhile.
void Adapters::show_state(Pair& of) {
    const auto attr = hcas_[of.hca]->query_qp(of.qpn);
    if (!attr) {
        return;
    }
    record(of).state.store(attr->state);
    if (attr->state == QpState::kErr) {
        fetch_sends(of);
        fetch_receives(of);
        release_receives(of);
    }
}

/// A queue that has lost completions takes its queue pairs with it (IBA vol. 1, 11.6.3).
void Adapters::stop_with_cq(std::uint32_t cq) {
    for (const auto& of : pairs_) {
        if (of == nullptr || (record(*of).sq.cq != cq && record(*of).recv_cq != cq)) {
            continue;
        }
        const auto attr = hcas_[of->hca]->query_qp(of->qpn);
        if (!attr || attr->state == QpState::kReset || attr->state == QpState::kErr) {
            continue;
        }
        hca::QpAttr to_error;
        to_error.state = QpState::kErr;
        hcas_[of->hca]->modify_qp(of->qpn, to_error, hca::qp_attr::kState);
        tell(of->hca, {.kind = hca::Event::Kind::kAsync,
                       .async = hca::AsyncKind::kQpFatal,
                       .id = of->qpn.value});
        failed_.push_back(of->qpn);
    }
}

void Adapters::tell(std::uint32_t, const hca::Event& event) {
    if (event.kind != hca::Event::Kind::kAsync) {
        return;
    }
    const auto kind = static_cast<std::uint32_t>(event.async);
    if (event.async == hca::AsyncKind::kSrqLimitReached) {
        if (shared(event.id) != nullptr) {
            live::SrqShared& srq = process_.arena.srqs[event.id];
            srq.limit.store(0, std::memory_order_relaxed);
            process_.channels.signal(srq.owner, srq.async_channel, {srq.cookie, kind, 0});
        }
        return;
    }
    if (Pair* const of = pair(Qpn{event.id})) {
        live::QpShared& qp = record(*of);
        failed_.push_back(of->qpn);
        if (const auto attr = hcas_[of->hca]->query_qp(of->qpn)) {
            qp.state.store(attr->state);  // Who hears of it finds the state changed.
        }
        process_.channels.signal(qp.owner, qp.async_channel, {qp.event_id, kind, 1});
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
            if (Pair* const of = pair(qpn)) {
                show_state(*of);
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
