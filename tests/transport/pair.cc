// SPDX-License-Identifier: BSD-2-Clause
#include "pair.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::transport {

namespace {

constexpr std::uint32_t kTenThousand = 10'000;
constexpr std::uint32_t kRights =
    kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kMwBind;

Port port_of(int number) {
    Port port;
    port.lid = Lid{static_cast<std::uint16_t>(number + 1)};
    port.gids = {Gid::from(kSubnetPrefixDefault, Guid{static_cast<std::uint64_t>(number) + 1})};
    return port;
}

}  // namespace

End::End(const PairOptions& options, int number)
    : lid(port_of(number).lid),
      gid(port_of(number).gids[0]),
      base(number == 0 ? 0x10000 : 0x7000'0000'0000),
      bytes(options.without_bytes ? 0 : options.memory_bytes),
      memory(64),
      hca(memory, port_of(number), {.qps = 16, .cqs = 8, .srqs = 8, .events = 256}) {
    key = memory.add_region({.pd = kPd,
                             .addr = base,
                             .length = options.memory_bytes,
                             .access = kRights,
                             .bytes = options.without_bytes ? nullptr : bytes.data()});
    send_cq = *hca.create_cq(4 * options.max_wr + 16);
    recv_cq = *hca.create_cq(4 * options.max_wr + 16);
    const bool xrc = options.type == QpType::kXrcSend;
    if (options.srq || xrc) {
        srq = hca.create_srq({.max_wr = options.max_wr,
                              .max_sge = options.sges,
                              .pd = kPd,
                              .xrcd = xrc ? kXrcd : 0,
                              .cq = recv_cq});
    }
    QpInit init{.type = options.type,
                .pd = kPd,
                .send_cq = send_cq,
                .recv_cq = recv_cq,
                .srq = xrc ? std::nullopt : srq,
                .max_send_wr = options.max_wr,
                .max_recv_wr = options.max_wr,
                .max_send_sge = options.sges,
                .max_recv_sge = options.sges,
                .max_inline = 64,
                .xrcd = kXrcd,
                .window_packets = options.window,
                .end_to_end_credits = options.credits};
    qpn = *hca.create_qp(init);
    recv_qpn = qpn;
    if (xrc) {
        init.type = QpType::kXrcRecv;
        recv_qpn = *hca.create_qp(init);
    }
}

PostError End::receive(std::uint64_t wr_id, std::uint64_t offset, std::uint32_t length) {
    const Sge place = sge(offset, length);
    return srq ? hca.post_receive(*srq, wr_id, std::span(&place, 1))
               : hca.post_receive(qpn, wr_id, std::span(&place, 1));
}

Pair::Pair(const PairOptions& o) : options(o), ends{End(o, 0), End(o, 1)}, prng_(o.seed) {
    connect();
}

void Pair::to_init(int end) {
    QpAttr attr;
    attr.state = QpState::kInit;
    attr.port = 1;
    attr.access = options.access;
    attr.qkey = kQKey.value;
    const bool datagram = options.type == QpType::kUd;
    const std::uint32_t mask = qp_attr::kState | qp_attr::kPkeyIndex | qp_attr::kPort |
                               (datagram ? qp_attr::kQkey : qp_attr::kAccessFlags);
    End& e = ends[end];
    SOFTIB_CHECK(e.hca.modify_qp(e.qpn, attr, mask));
    if (e.recv_qpn != e.qpn) {
        SOFTIB_CHECK(e.hca.modify_qp(e.recv_qpn, attr, mask));
    }
}

void Pair::to_rtr(int end) {
    End& e = ends[end];
    const End& peer = ends[1 - end];
    QpAttr attr;
    attr.state = QpState::kRtr;
    attr.av.dlid = peer.lid;
    attr.av.global = options.global;
    attr.av.dgid = peer.gid;
    attr.path_mtu = options.mtu_code;
    attr.rq_psn = options.psn;
    attr.max_dest_rd_atomic = options.rd_atomic;
    attr.min_rnr_timer = options.min_rnr_timer;
    using namespace qp_attr;
    std::uint32_t mask = kState;
    if (options.type != QpType::kUd) {
        mask |= kAv | kPathMtu | kDestQpn | kRqPsn;
    }
    if (options.type == QpType::kRc || options.type == QpType::kXrcSend) {
        mask |= kMaxDestRdAtomic | kMinRnrTimer;
    }
    attr.dest_qpn = peer.recv_qpn.value;
    SOFTIB_CHECK(e.hca.modify_qp(e.qpn, attr, mask));
    if (e.recv_qpn != e.qpn) {
        attr.dest_qpn = peer.qpn.value;
        SOFTIB_CHECK(e.hca.modify_qp(e.recv_qpn, attr, mask));
    }
}

void Pair::to_rts(int end) {
    End& e = ends[end];
    QpAttr attr;
    attr.state = QpState::kRts;
    attr.sq_psn = options.psn;
    attr.timeout = options.timeout;
    attr.retry_cnt = options.retry_cnt;
    attr.rnr_retry = options.rnr_retry;
    attr.max_rd_atomic = options.rd_atomic;
    using namespace qp_attr;
    std::uint32_t mask = kState | kSqPsn;
    if (options.type == QpType::kRc || options.type == QpType::kXrcSend) {
        mask |= kTimeout | kRetryCnt | kRnrRetry | kMaxQpRdAtomic;
    }
    SOFTIB_CHECK(e.hca.modify_qp(e.qpn, attr, mask));
    if (e.recv_qpn != e.qpn) {
        SOFTIB_CHECK(e.hca.modify_qp(e.recv_qpn, attr, mask));
    }
}

void Pair::connect() {
    for (int end : {0, 1}) {
        QpAttr reset;
        SOFTIB_CHECK(ends[end].hca.modify_qp(ends[end].qpn, reset, qp_attr::kState));
        SOFTIB_CHECK(ends[end].hca.modify_qp(ends[end].recv_qpn, reset, qp_attr::kState));
        to_init(end);
    }
    for (int end : {0, 1}) {
        to_rtr(end);
    }
    for (int end : {0, 1}) {
        to_rts(end);
    }
    hot_[0] = hot_[1] = true;
}

std::size_t Pair::take_flight() {
    if (free_.empty()) {
        flights_.emplace_back();
        return flights_.size() - 1;
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    return index;
}

void Pair::send(int from, const Transmit& transmit) {
    ++packets;
    flight_.to = 1 - from;
    flight_.headers = transmit.headers;
    flight_.length = transmit.payload.length();
    flight_.payload.resize(options.without_bytes ? 0 : flight_.length);
    if (!options.without_bytes) {
        transmit.payload.copy_to(flight_.payload);
    }
    if (filter && !filter(flight_)) {
        return;
    }
    const Knobs& knobs = options.knobs;
    if (prng_.chance(knobs.drop, kTenThousand)) {
        return;
    }
    if (knobs.as_bytes) {
        std::vector<std::uint8_t> wire_bytes(wire::kPacketBytesMax);
        const auto size = wire::emit_packet(flight_.headers, flight_.payload, wire_bytes);
        SOFTIB_CHECK(size.has_value());
        wire_bytes.resize(*size);
        flight_.payload = std::move(wire_bytes);
    }
    if (prng_.chance(knobs.corrupt, kTenThousand)) {
        ++corrupted;
        if (!knobs.as_bytes) {
            return;  // The CRCs would find the damage.
        }
        const std::uint64_t bit = prng_.below(8 * flight_.payload.size());
        flight_.payload[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    }
    launch(flight_);
    if (prng_.chance(knobs.duplicate, kTenThousand)) {
        launch(flight_);
    }
}

void Pair::launch(const Flight& flight) {
    const Knobs& knobs = options.knobs;
    const std::uint64_t held =
        prng_.chance(knobs.reorder, kTenThousand) ? prng_.below(knobs.delay_max_ns) : 0;
    const std::size_t index = take_flight();
    flights_[index] = flight;
    due_.push({now_ns + knobs.latency_ns + held, order_++, index});
}

void Pair::inject(int to, const wire::PacketHeaders& headers,
                  std::span<const std::uint8_t> payload) {
    ends[to].hca.handle_packet(headers, Payload(payload), now_ns);
    hot_[to] = true;
}

void Pair::arrive(std::size_t index) {
    const Flight& flight = flights_[index];
    Hca& hca = ends[flight.to].hca;
    if (options.knobs.as_bytes) {
        if (const auto packet = wire::parse_packet(flight.payload)) {
            hca.handle_packet(*packet, now_ns);
        }
    } else {
        Payload payload;
        payload.add(options.without_bytes ? nullptr : flight.payload.data(), flight.length);
        hca.handle_packet(flight.headers, payload, now_ns);
    }
    hot_[flight.to] = true;
    free_.push_back(index);
}

bool Pair::pump() {
    bool sent = false;
    for (int end : {0, 1}) {
        if (hot_[end] && busy_until_ns_[end] <= now_ns) {
            hot_[end] = ends[end].hca.poll_transmit(transmit_, now_ns);
            if (hot_[end]) {
                send(end, transmit_);
                busy_until_ns_[end] = now_ns + options.knobs.packet_ns;
                sent = true;
            }
        }
    }
    return sent;
}

bool Pair::step() {
    pump();
    std::uint64_t next = kNever;
    for (int end : {0, 1}) {
        next = std::min(next, ends[end].hca.next_timeout_ns());
        if (hot_[end]) {
            next = std::min(next, busy_until_ns_[end]);
        }
    }
    if (!due_.empty()) {
        next = std::min(next, due_.top().at_ns);
    }
    if (next == kNever) {
        return false;
    }
    now_ns = std::max(now_ns, next);
    while (!due_.empty() && due_.top().at_ns <= now_ns) {
        const std::size_t index = due_.top().flight;
        due_.pop();
        arrive(index);
    }
    for (int end : {0, 1}) {
        if (ends[end].hca.next_timeout_ns() <= now_ns) {
            ends[end].hca.handle_timeout(now_ns);
            hot_[end] = true;
        }
    }
    return true;
}

void Pair::drive() {
    while (step()) {
    }
}

void Pair::drive_while(const std::function<bool()>& more) {
    while (more() && step()) {
    }
}

WorkRequest Pair::request(int from, WrOpcode opcode, std::uint64_t offset, std::uint32_t length) {
    WorkRequest wr;
    sge_ = ends[from].sge(offset, length);
    wr.opcode = opcode;
    wr.flags = kSendSignaled;
    wr.sges = std::span(&sge_, 1);
    wr.remote_addr = ends[1 - from].addr(offset);
    wr.rkey = ends[1 - from].key;
    wr.remote_srqn = ends[1 - from].srq.value_or(SrqId{}).value;
    wr.remote_qpn = ends[1 - from].qpn.value;
    wr.remote_qkey = kQKey.value;
    wr.av.dlid = ends[1 - from].lid;
    wr.av.global = options.global;
    wr.av.dgid = ends[1 - from].gid;
    return wr;
}

PostError Pair::post(int from, const WorkRequest& wr) {
    hot_[from] = true;
    return ends[from].hca.post_send(ends[from].qpn, wr);
}

std::vector<Completion> Pair::completions(int end, bool receives) {
    std::vector<Completion> all;
    while (const auto one =
               ends[end].hca.poll_completion(receives ? ends[end].recv_cq : ends[end].send_cq)) {
        all.push_back(*one);
    }
    return all;
}

}  // namespace softib::transport
