// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/packet/adapters.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "runtime/live/cq.h"
#include "runtime/live/packet_queue.h"
#include "runtime/live/qp.h"
#include "runtime/packet/trunk_wire.h"

namespace softib::packet {

namespace {

using live::QpState;
using live::QpType;

/// Unacknowledged packets of one queue pair: enough for the adapter's own pace, and few enough that
/// none waits in the network for longer than a timeout.
constexpr std::uint32_t kWindow = 128;
/// A link that is down sends nothing; then they go unsaid.
constexpr std::uint64_t kLastWordsNs = 5'000'000;
constexpr hca::HcaLimits kLimits{
    .qps = 1U << 19, .cqs = 0, .srqs = live::kSrqsMax, .events = 4096, .group_members = 1U << 16};

/// A receive request's name in the adapter: its token below, above it whose it is.
constexpr std::uint64_t name_of(std::uint32_t srq_plus_1, std::uint32_t token) {
    return std::uint64_t{srq_plus_1} << 32 | token;
}

bool carries_immediate(live::WrOpcode opcode) {
    return opcode == live::WrOpcode::kSendImm || opcode == live::WrOpcode::kWriteImm;
}

}  // namespace

void Adapters::join(sim::Engine& net, std::vector<std::uint32_t> ports) {
    net_ = &net;
    net.set_key_reader(this);
    ports_ = std::move(ports);
    for (std::uint32_t i = 0; i < ports_.size(); ++i) {
        hca::CompletionSink* const sink = this;
        hcas_.push_back(std::make_unique<hca::Hca>(memory_, hca::Port{}, kLimits, sink));
        attach(ports_[i], *hcas_.back());
        hca_of_port_.resize(std::max<std::size_t>(hca_of_port_.size(), ports_[i] + std::size_t{1}));
        hca_of_port_[ports_[i]] = i;
    }
}

Adapters::Pair* Adapters::pair(Qpn qpn) const {
    Pair* found = pair(live::qp_index(qpn.value));
    return found != nullptr && found->qpn == qpn ? found : nullptr;
}

bool Adapters::is_gone(live::Owner owner, std::uint64_t instance) const {
    const live::ProcSlot& slot = process_.arena.proc(owner);
    return slot.instance != instance ||
           slot.state.load(std::memory_order_acquire) != live::ProcState::kLive;
}

void Adapters::forget_dead() {
    for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
        if (pairs_[i] != nullptr && is_gone(pairs_[i]->owner, pairs_[i]->instance)) {
            destroy_qp(i);
        }
    }
    for (std::uint32_t i = 0; i < shareds_.size(); ++i) {
        if (shareds_[i] != nullptr && is_gone(shareds_[i]->owner, shareds_[i]->instance)) {
            destroy_srq(i);
        }
    }
}

// Calls.

std::optional<int> Adapters::call(live::Owner owner, const live::CarrierCall& call) {
    using Call = live::CarrierCall;
    if (call.op == Call::kCreateQp) {
        return create_qp(owner, call.index);
    }
    if (call.op == Call::kCreateSrq) {
        return create_srq(owner, call.index);
    }
    Pair* const of = pair(call.index);
    Shared* const queue = shared(call.index);
    const bool is_pair = call.op == Call::kModifyQp || call.op == Call::kDestroyQp;
    if (is_pair ? of == nullptr || of->owner != owner
                : queue == nullptr || queue->owner != owner) {
        return ENOENT;
    }
    const bool ends = call.op == Call::kDestroyQp ||
                      (call.op == Call::kModifyQp && (call.mask & hca::qp_attr::kState) != 0 &&
                       (call.attr.state == QpState::kReset || call.attr.state == QpState::kErr));
    if (ends && hcas_[of->hca]->has_responses(of->qpn)) {
        putting_off_since_ns_ = putting_off_since_ns_ == 0 ? now_ns_ : putting_off_since_ns_;
        if (now_ns_ - putting_off_since_ns_ < kLastWordsNs) {
            return std::nullopt;
        }
    }
    putting_off_since_ns_ = 0;
    switch (call.op) {
        case Call::kModifyQp:
            return modify_qp(*of, call.attr, call.mask);
        case Call::kDestroyQp:
            destroy_qp(call.index);
            return 0;
        case Call::kLimitSrq:
            fetch_receives(*queue);
            hcas_[queue->hca]->set_srq_limit(
                hca::SrqId{call.index},
                process_.arena.srqs[call.index].limit.load(std::memory_order_acquire));
            return 0;
        case Call::kDestroySrq:
            destroy_srq(call.index);
            return 0;
        default:
            return ENOSYS;
    }
}

int Adapters::create_qp(live::Owner owner, std::uint32_t index) {
    if (index >= live::kQpsMax || process_.arena.qps[index].owner != owner ||
        process_.arena.qps[index].hca >= hcas_.size()) {
        return EINVAL;
    }
    live::QpShared& from = process_.arena.qps[index];
    if (pair(index) != nullptr) {
        destroy_qp(index);
    }
    hca::QpInit init{.type = from.type,
                     .pd = hca::Pd{from.pd},
                     .send_cq = hca::CqId{from.sq.cq},
                     .recv_cq = hca::CqId{from.recv_cq},
                     .max_send_wr = from.sq.entries,
                     .max_recv_wr = from.rq.ring_off != 0 ? from.rq.entries : 0,
                     .max_send_sge = from.sq.sges_max,
                     .max_recv_sge = from.rq.ring_off != 0 ? from.rq.sges_max : 1,
                     .max_inline = from.sq.inline_max,
                     .signal_all = from.sq.signal_all != 0,
                     .xrcd = from.xrcd,
                     .window_packets = kWindow};
    if (from.srq != 0) {
        init.srq = hca::SrqId{from.srq - 1};
    }
    const Qpn qpn{from.qpn};
    if (!hcas_[from.hca]->create_qp(init, qpn)) {
        return ENOMEM;
    }
    if (pairs_.size() <= index) {
        pairs_.resize(std::bit_ceil(index + 1));
    }
    pairs_[index] = std::make_unique<Pair>(
        Pair{.index = index,
             .hca = from.hca,
             .qpn = qpn,
             .owner = owner,
             .instance = process_.arena.proc(owner).instance,
             .receives = ReceiveSource(from.rq.ring_off != 0 ? &from.rq : nullptr),
             .srq = from.srq});
    return 0;
}

int Adapters::modify_qp(Pair& of, const hca::QpAttr& attr, std::uint32_t mask) {
    hca::Hca& hca = *hcas_[of.hca];
    const bool to_reset = (mask & hca::qp_attr::kState) != 0 && attr.state == QpState::kReset;
    if (!to_reset) {
        fetch_receives(of);
    }
    if (!hca.modify_qp(of.qpn, attr, mask)) {
        return EINVAL;
    }
    if (to_reset) {
        of.sends = 0;
        of.receives.reset();
    }
    show_state(of);
    send_from(of.hca);
    return 0;
}

int Adapters::create_srq(live::Owner owner, std::uint32_t index) {
    if (index >= live::kSrqsMax || process_.arena.srqs[index].owner != owner ||
        process_.arena.srqs[index].hca >= hcas_.size()) {
        return EINVAL;
    }
    live::SrqShared& from = process_.arena.srqs[index];
    if (shared(index) != nullptr) {
        destroy_srq(index);
    }
    const hca::Hca::SrqInit init{.max_wr = from.ring.mask + 1,
                                 .max_sge = from.ring.sges_max,
                                 .pd = hca::Pd{from.pd},
                                 .limit = from.limit.load(),
                                 .xrcd = from.xrcd,
                                 .cq = hca::CqId{from.recv_cq}};
    if (!hcas_[from.hca]->create_srq(init, hca::SrqId{index})) {
        return ENOMEM;
    }
    if (shareds_.size() <= index) {
        shareds_.resize(std::bit_ceil(index + 1));
    }
    shareds_[index] =
        std::make_unique<Shared>(Shared{.index = index,
                                        .hca = from.hca,
                                        .owner = owner,
                                        .instance = process_.arena.proc(owner).instance,
                                        .receives = ReceiveSource(&from.ring)});
    return 0;
}

void Adapters::destroy_qp(std::uint32_t index) {
    hcas_[pairs_[index]->hca]->destroy_qp(pairs_[index]->qpn);
    pairs_[index].reset();
}

void Adapters::destroy_srq(std::uint32_t index) {
    hcas_[shareds_[index]->hca]->destroy_srq(hca::SrqId{index});
    shareds_[index].reset();
}

// Requests.

void Adapters::serve(std::uint32_t index) {
    Pair* const of = pair(index);
    if (of == nullptr) {
        return;
    }
    fetch_sends(*of);
    if (record(*of).state.load(std::memory_order_acquire) == QpState::kErr) {
        fetch_receives(*of);
    }
    send_from(of->hca);
}

void Adapters::send_from(std::uint32_t hca) {
    if (has_network_) {
        pump(*net_, ports_[hca]);
    } else {
        wanting_.push_back(hca);
    }
}

bool Adapters::poll_transmit(std::uint32_t hca, hca::Transmit& out) {
    const bool some = hcas_[hca]->poll_transmit(out, now_ns_);
    if (!some) {
        arm(*net_, ports_[hca]);
    }
    return some;
}

void Adapters::handle_packet(std::uint32_t hca, const wire::PacketHeaders& headers,
                             const hca::Payload& payload) {
    before_packet(ports_[hca], headers);
    hcas_[hca]->handle_packet(headers, payload, now_ns_);
    after_packet(ports_[hca], headers);
}

void Adapters::fetch_sends(Pair& of) {
    const live::SendRing& ring = record(of).sq;
    // A program that resets its queue pair begins its ring anew a little later than we.
    if (ring.ring_off == 0 || record(of).state.load() < QpState::kRts) {
        return;
    }
    const std::uint32_t tail = ring.tail.load(std::memory_order_acquire);
    while (of.sends != tail && post(of, of.sends)) {
        ++of.sends;
    }
}

bool Adapters::post(Pair& of, std::uint32_t at) {
    const live::Arena& arena = process_.arena;
    const live::SendRing& ring = record(of).sq;
    const live::PostedSend& posted = *live::send_slot(arena, ring, at);
    hca::WorkRequest wr{.wr_id = at,
                        .opcode = posted.opcode,
                        .flags = posted.flags,
                        .imm_or_rkey = carries_immediate(posted.opcode)
                                           ? __builtin_bswap32(posted.imm_or_rkey)
                                           : posted.imm_or_rkey,
                        .remote_addr = posted.remote_addr,
                        .rkey = posted.rkey,
                        .remote_srq = hca::SrqId{posted.remote_srqn},
                        .compare_add = posted.compare_add,
                        .swap = posted.swap,
                        .av = posted.to,
                        .remote_qpn = Qpn{posted.remote_qpn},
                        .remote_qkey = QKey{posted.remote_qkey}};
    if ((posted.flags & hca::kSendInline) != 0) {
        wr.inline_data = {posted.inline_data(), std::min(posted.inline_bytes, ring.inline_max)};
    } else {
        wr.sges = {posted.sges(), std::min<std::uint32_t>(posted.num_sge, ring.sges_max)};
    }
    if (posted.opcode == live::WrOpcode::kBindMw) {
        wr.bind = {.mw_key = posted.bind.new_rkey,
                   .new_key = posted.bind.new_rkey,
                   .mr_lkey = posted.bind.mr_index,
                   .access = posted.bind.access,
                   .addr = posted.bind.address,
                   .length = posted.bind.length};
    }
    if (record(of).type == QpType::kUd && is_multicast(posted.to.dlid)) {
        wire::PacketHeaders headers;
        headers.lrh.dlid = posted.to.dlid;
        before_packet(ports_[of.hca], headers);  // Its own listeners hear it at once.
    }
    switch (hcas_[of.hca]->post_send(of.qpn, wr)) {
        case hca::PostError::kOk:
            return true;
        case hca::PostError::kFull:
            return false;  // Until one of those before is done.
        case hca::PostError::kInvalid:
            break;
    }
    // The program's library let it pass, and the adapter does not know it.
    complete(hca::CqId{ring.cq},
             {.wr_id = at,
              .qpn = of.qpn,
              .status = hca::WcStatus::kLocQpOpErr,
              .opcode = hca::completion_opcode(posted.opcode)},
             true);
    hca::QpAttr to_error;
    to_error.state = QpState::kErr;
    hcas_[of.hca]->modify_qp(of.qpn, to_error, hca::qp_attr::kState);
    return true;
}

void Adapters::fetch_receives(Pair& of) {
    if (of.srq != 0) {
        if (Shared* queue = shared(of.srq - 1)) {
            fetch_receives(*queue);
        }
        return;
    }
    if (of.receives.exists() && record(of).state.load() != QpState::kReset) {
        of.receives.fetch(process_.arena, [&](std::uint32_t token, std::span<const hca::Sge> sges) {
            return hcas_[of.hca]->post_receive(of.qpn, name_of(0, token), sges) ==
                   hca::PostError::kOk;
        });
    }
}

void Adapters::fetch_receives(Shared& queue) {
    live::RecvRing& ring = process_.arena.srqs[queue.index].ring;
    if (!queue.receives.has_more()) {
        return;
    }
    // Its owner may be moving it to a larger place.
    if (!live::shm_lock(process_.arena, ring.lock, process_.lock_word).taken) {
        return;
    }
    queue.receives.fetch(process_.arena, [&](std::uint32_t token, std::span<const hca::Sge> sges) {
        return hcas_[queue.hca]->post_receive(hca::SrqId{queue.index},
                                              name_of(queue.index + 1, token),
                                              sges) == hca::PostError::kOk;
    });
    live::shm_unlock(ring.lock);
}

void Adapters::release_receives(Pair& of) {
    if (of.srq != 0) {
        if (Shared* queue = shared(of.srq - 1)) {
            queue->receives.release(hcas_[queue->hca]->receives_waiting(hca::SrqId{queue->index}));
        }
    } else if (of.receives.exists() && record(of).state.load() != QpState::kReset) {
        of.receives.release(hcas_[of.hca]->receives_waiting(of.qpn));
    }
}

// At the ends of the network.

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

void Adapters::deliver(sim::Engine& net, std::uint32_t port, const sim::Packet& packet) {
    if (trunks_ != nullptr && hca_at(port) == nullptr && !body(packet).unknown) {
        trunks_->leave(port, packet, body(packet));
        let_go(packet.body);
        return;
    }
    TransportHosts::deliver(net, port, packet);
}

void Adapters::sent(sim::Engine& net, std::uint32_t port, const sim::Packet& packet) {
    if (trunks_ != nullptr && is_raw(packet)) {
        trunks_->entered(port);
    }
    TransportHosts::sent(net, port, packet);
}

void Adapters::dropped(sim::Engine& net, const sim::Packet& packet) {
    if (trunks_ != nullptr && is_raw(packet) && !body(packet).left) {
        trunks_->entered(body(packet).port);
    }
    TransportHosts::dropped(net, packet);
}

void Adapters::tapped(sim::Engine&, std::uint32_t port, const sim::Packet& packet) {
    watchers_.show(port, packet, body(packet));
}

void Adapters::refused(sim::Engine&, std::uint32_t port, bool inbound, const sim::Packet& packet) {
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
    if (done.status != hca::WcStatus::kSuccess) {
        // Who sees the completion shall see the state that comes with it.
        const QpType type = record(*of).type;
        const bool only_sends =
            !done.is_receive && (type == QpType::kUd || type == QpType::kUc) &&
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

// Time and tables.

void Adapters::arm(sim::Engine&, std::uint32_t port) {
    next_timeout_ns_ = std::min(next_timeout_ns_, hca_at(port)->next_timeout_ns());
}

void Adapters::set_time(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    if (now_ns < next_timeout_ns_) {
        return;
    }
    next_timeout_ns_ = hca::kNever;
    for (std::uint32_t i = 0; i < hcas_.size(); ++i) {
        if (hcas_[i]->next_timeout_ns() <= now_ns) {
            hcas_[i]->handle_timeout(now_ns);
            send_from(i);
        }
        next_timeout_ns_ = std::min(next_timeout_ns_, hcas_[i]->next_timeout_ns());
    }
}

void Adapters::read_ports() {
    for (std::uint32_t i = 0; i < hcas_.size(); ++i) {
        const live::HcaRecord& from = process_.arena.hcas[i];
        hca::Port port{.link_layer = process_.arena.header->link_layer,
                       .lid = Lid{from.lid.load(std::memory_order_relaxed)},
                       .lmc = from.lmc,
                       .mtu_bytes = hca::mtu_bytes(from.mtu_code)};
        port.pkeys.clear();
        for (const auto& pkey : from.pkeys) {
            port.pkeys.push_back(PKey{pkey.load(std::memory_order_relaxed)});
        }
        port.gids.clear();
        for (std::uint32_t g = 0; g < live::kGidsPerPort; ++g) {
            port.gids.push_back(live::gid_at(from, g));
        }
        hcas_[i]->set_port(port);
    }
}

void Adapters::read_groups() {
    for (const auto& of : pairs_) {
        if (of != nullptr && of->listens) {
            hcas_[of->hca]->detach_all(of->qpn);
            of->listens = false;
        }
    }
    // A group that is being written now will be read again: its generation moves afterwards.
    const auto load = []<typename T>(T& word) {
        return std::atomic_ref<T>(word).load(std::memory_order_relaxed);
    };
    for (std::uint32_t g = 0; g < live::kMcastGroupsMax; ++g) {
        live::McastGroup& group = process_.arena.mcast[g];
        const std::uint32_t members =
            std::min<std::uint32_t>(load(group.members), live::kMcastMembersMax);
        Gid mgid;
        for (std::size_t i = 0; i < mgid.bytes.size(); ++i) {
            mgid.bytes[i] = load(group.mgid[i]);
        }
        for (std::uint32_t m = 0; m < members; ++m) {
            if (Pair* const of = pair(Qpn{load(group.qpns[m])})) {
                of->listens |= hcas_[of->hca]->attach(of->qpn, mgid, Lid{load(group.mlid)});
            }
        }
    }
}

}  // namespace softib::packet
