// SPDX-License-Identifier: BSD-2-Clause
// Which packets reach a queue pair at all; XRC; which queue pair sends next.
#include <array>

#include "probe.h"

namespace softib::transport {
namespace {

using enum Operation;

/// A good WRITE to end 1, spoiled in one place. It must not arrive, and must be counted there.
struct Spoiled {
    const char* what;
    Counted counted;
    std::function<void(Probe&, wire::PacketHeaders&)> spoil;
};

const std::vector<Spoiled> kSpoiled{
    {"DLID", Counted::kBadLid, [](Probe&, auto& h) { h.lrh.dlid = Lid{9}; }},
    {"SLID", Counted::kBadLid, [](Probe&, auto& h) { h.lrh.slid = Lid{9}; }},
    {"QPN", Counted::kNoQp, [](Probe&, auto& h) { h.bth.dest_qp = Qpn{12}; }},
    {"QPN of another use", Counted::kNoQp,
     [](Probe&, auto& h) { h.bth.dest_qp = Qpn{h.bth.dest_qp.value | 1U << 20}; }},
    {"QP0", Counted::kNoQp, [](Probe&, auto& h) { h.bth.dest_qp = Qpn{0}; }},
    {"QPN of multicasts", Counted::kNoQp, [](Probe&, auto& h) { h.bth.dest_qp = kQpnMulticast; }},
    {"multicast", Counted::kWrongService, [](Probe&, auto& h) { h.lrh.dlid = Lid{0xC000}; }},
    {"P_Key", Counted::kBadPKey, [](Probe&, auto& h) { h.bth.p_key = PKey{0x8001}; }},
    {"P_Key of nobody", Counted::kBadPKey, [](Probe&, auto& h) { h.bth.p_key = PKey{0x8000}; }},
    {"service", Counted::kWrongService,
     [](Probe&, auto& h) { h.bth.opcode = wire::opcode(wire::Transport::kUc, kWriteOnly); }},
    {"reserved opcode", Counted::kWrongService, [](Probe&, auto& h) { h.bth.opcode = 0x1F; }},
    {"GRH", Counted::kBadGrh, [](Probe&, auto& h) { h.grh.emplace(); }},
    {"state", Counted::kWrongState,
     [](Probe& p, auto&) {
         QpAttr attr;
         attr.state = QpState::kErr;
         p.ends[1].hca.modify_qp(p.ends[1].qpn, attr, qp_attr::kState);
     }},
    {"payload of a READ", Counted::kBadLength,
     [](Probe&, auto& h) { h.bth.opcode = wire::opcode(wire::Transport::kRc, kReadRequest); }},
};

// 9.6: every header of a packet is checked.
TEST(Hca, SpoiledPacketReachesNobody) {
    for (const Spoiled& s : kSpoiled) {
        Probe p;
        const Bytes before = p.ends[1].bytes;
        auto h = p.headers(1, kWriteOnly, 0);
        h.reth.dma_len = 8;
        s.spoil(p, h);
        p.inject(1, h, Bytes(8, 0xEE));
        p.drive();
        EXPECT_EQ(p.count(1, s.counted), 1U) << s.what;
        EXPECT_EQ(p.ends[1].bytes, before) << s.what;
        EXPECT_TRUE(p.sent.empty()) << s.what;
    }
}

// 9.6: a packet must have the GIDs of its connection.
TEST(Hca, ConnectionWithAGrhWantsItsOwn) {
    Probe p({.global = true});
    auto h = p.headers(1, kWriteOnly, 0);
    p.inject(1, h);
    EXPECT_EQ(p.count(1, Counted::kBadGrh), 1U);
    h.grh = wire::Grh{.sgid = p.ends[0].gid, .dgid = p.ends[0].gid};
    p.inject(1, h);
    EXPECT_EQ(p.count(1, Counted::kBadGrh), 2U);
    h.grh = wire::Grh{.sgid = p.ends[1].gid, .dgid = p.ends[1].gid};
    p.inject(1, h);
    EXPECT_EQ(p.count(1, Counted::kBadGrh), 3U);
    h.grh = wire::Grh{.sgid = p.ends[0].gid, .dgid = p.ends[1].gid};
    p.inject(1, h);
    p.drive();
    EXPECT_EQ(p.sent.size(), 1U);
}

// Annex A17: RoCEv2 has no LIDs; GIDs name the sender and the receiver of a packet.
TEST(Hca, OnEthernetGidsTakeThePlaceOfLids) {
    Probe p({.global = true});
    for (End& end : p.ends) {
        Port port = end.hca.port();
        port.link_layer = LinkLayer::kEthernet;
        end.hca.set_port(port);
    }
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 600));
    p.drive();
    EXPECT_EQ(Bytes(p.ends[1].bytes.begin(), p.ends[1].bytes.begin() + 600),
              Bytes(p.ends[0].bytes.begin(), p.ends[0].bytes.begin() + 600));
    for (const Flight& flight : p.sent) {
        EXPECT_EQ(flight.headers.lrh.dlid, Lid{});
        EXPECT_EQ(flight.headers.lrh.slid, Lid{});
        EXPECT_TRUE(flight.headers.grh);
    }
    const std::size_t sent = p.sent.size();
    auto h = p.headers(1, kWriteOnly, 3);
    const auto inject = [&](std::optional<wire::Grh> grh) {
        h.grh = grh;
        p.inject(1, h);
        p.drive();
    };
    inject(std::nullopt);
    inject(wire::Grh{.sgid = p.ends[0].gid, .dgid = p.ends[0].gid});
    inject(wire::Grh{.sgid = p.ends[1].gid, .dgid = p.ends[1].gid});
    EXPECT_EQ(p.count(1, Counted::kBadGrh), 3U);
    EXPECT_EQ(p.sent.size(), sent);
    inject(wire::Grh{.sgid = p.ends[0].gid, .dgid = p.ends[1].gid});
    EXPECT_EQ(p.sent.size(), sent + 1);
}

// 10.9.3: one of two members must be a full member.
TEST(Hca, LimitedMembersDoNotHearEachOther) {
    Probe p;
    Port port = p.ends[1].hca.port();
    port.pkeys = {PKey{0x7FFF}};
    p.ends[1].hca.set_port(port);
    auto h = p.headers(1, kWriteOnly, 0);
    p.inject(1, h);
    EXPECT_EQ(p.count(1, Counted::kBadPKey), 0U);
    h.bth.p_key = PKey{0x7FFF};
    h.bth.psn = Psn{1};
    p.inject(1, h);
    EXPECT_EQ(p.count(1, Counted::kBadPKey), 1U);
}

// Chapter 4: a port has 2^LMC LIDs.
TEST(Hca, PortHasAllLidsOfItsLmc) {
    Probe p;
    Port port = p.ends[1].hca.port();
    port.lid = Lid{8};
    port.lmc = 2;
    p.ends[1].hca.set_port(port);
    auto h = p.headers(1, kWriteOnly, 0);
    std::uint64_t bad = 0;
    for (std::uint16_t lid = 7; lid <= 12; ++lid) {
        h.lrh.dlid = Lid{lid};
        p.inject(1, h);
        bad += lid < 8 || lid > 11 ? 1 : 0;
        EXPECT_EQ(p.count(1, Counted::kBadLid), bad) << lid;
    }
}

TEST(Hca, PacketsTravelAsBytesToo) {
    PairOptions o;
    o.knobs.as_bytes = true;
    o.global = true;
    Probe p(o);
    p.ends[1].receive(1, 8192, 1001);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 1001));
    p.post(0, p.request(0, WrOpcode::kRead, 4096, 999));
    p.post(0, p.request(0, WrOpcode::kFetchAdd, 64, 8));
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 3U);
    EXPECT_TRUE(p.same(0, 0, 1, 8192, 64));
    EXPECT_TRUE(p.same(0, 72, 1, 8192 + 72, 1001 - 72));
    EXPECT_TRUE(p.same(0, 4096, 1, 4096, 999));
}

TEST(Hca, WorksWithoutBytes) {
    Probe p({.without_bytes = true});
    p.ends[1].receive(1, 0, 5000);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 5000));
    p.post(0, p.request(0, WrOpcode::kRead, 0, 5000));
    p.post(0, p.request(0, WrOpcode::kFetchAdd, 64, 8));
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 3U);
    EXPECT_EQ(p.only_completion(1, true).byte_len, 5000U);
}

TEST(Hca, WithoutBytesTheSamePacketsTravel) {
    std::uint64_t packets[2]{};
    std::uint64_t ended_ns[2]{};
    for (const bool without : {false, true}) {
        PairOptions o{.window = 8, .without_bytes = without, .seed = 5};
        o.knobs.drop = 300;
        Probe p(o);
        for (int i = 0; i < 20; ++i) {
            p.post(0, p.request(0, i % 2 == 0 ? WrOpcode::kRead : WrOpcode::kWrite, 0, 5000));
        }
        p.drive();
        EXPECT_EQ(p.completions(0).size(), 20U);
        packets[without ? 1 : 0] = p.packets;
        ended_ns[without ? 1 : 0] = p.now_ns;
    }
    EXPECT_EQ(packets[0], packets[1]);
    EXPECT_EQ(ended_ns[0], ended_ns[1]);
    EXPECT_GT(packets[0], 300U);
}

TEST(Hca, PayloadOfManyPlacesIsOnePacket) {
    Probe p({.global = true});
    End& a = p.ends[0];
    const std::array<Sge, 4> sges{a.sge(10, 7), a.sge(500, 0), a.sge(90, 100), a.sge(3, 50)};
    WorkRequest wr = p.request(0, WrOpcode::kSend, 0, 0);
    wr.sges = sges;
    p.post(0, wr);
    Transmit out;
    ASSERT_TRUE(a.hca.poll_transmit(out, 0));
    Bytes bytes(wire::kPacketBytesMax);
    EXPECT_FALSE(emit_packet(out, std::span(bytes).first(200)));
    const auto size = emit_packet(out, bytes);
    ASSERT_TRUE(size);
    const auto packet = wire::parse_packet(std::span(bytes).first(*size));
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->headers, out.headers);
    Bytes expected(a.at(10), a.at(17));
    expected.insert(expected.end(), a.at(90), a.at(190));
    expected.insert(expected.end(), a.at(3), a.at(53));
    EXPECT_TRUE(std::ranges::equal(packet->payload, expected));
}

// An HCA's packet to itself comes back through its driver.
TEST(Hca, TalksToItself) {
    Probe p;
    End& a = p.ends[0];
    QpAttr attr;
    a.hca.modify_qp(a.qpn, attr, qp_attr::kState);
    p.to_init(0);
    attr.state = QpState::kRtr;
    attr.av.dlid = a.lid;
    attr.path_mtu = 1;
    attr.dest_qpn = a.qpn.value;
    attr.max_dest_rd_atomic = 1;
    using namespace qp_attr;
    ASSERT_TRUE(a.hca.modify_qp(
        a.qpn, attr,
        kState | kAv | kPathMtu | kDestQpn | kRqPsn | kMaxDestRdAtomic | kMinRnrTimer));
    p.to_rts(0);
    a.receive(1, 2000, 600);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 600));
    Transmit out;
    while (a.hca.poll_transmit(out, 0)) {
        a.hca.handle_packet(out.headers, out.payload, 0);
    }
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_EQ(p.only_completion(0, true).byte_len, 600U);
    EXPECT_TRUE(p.same(0, 0, 0, 2000, 600));
}

TEST(Hca, QueuePairsTakeTurns) {
    Probe p;
    End& a = p.ends[0];
    QpInit init{.type = QpType::kUd,
                .pd = kPd,
                .send_cq = a.send_cq,
                .recv_cq = a.recv_cq,
                .max_send_wr = 4};
    std::vector<Qpn> qpns;
    for (int i = 0; i < 3; ++i) {
        qpns.push_back(*a.hca.create_qp(init));
        QpAttr attr;
        attr.port = 1;
        using namespace qp_attr;
        attr.state = QpState::kInit;
        ASSERT_TRUE(a.hca.modify_qp(qpns.back(), attr, kState | kPkeyIndex | kPort | kQkey));
        attr.state = QpState::kRtr;
        ASSERT_TRUE(a.hca.modify_qp(qpns.back(), attr, kState));
        attr.state = QpState::kRts;
        ASSERT_TRUE(a.hca.modify_qp(qpns.back(), attr, kState | kSqPsn));
    }
    for (const Qpn qpn : qpns) {
        for (int i = 0; i < 2; ++i) {
            ASSERT_EQ(a.hca.post_send(qpn, p.request(0, WrOpcode::kSend, 0, 8)), PostError::kOk);
        }
    }
    std::vector<Qpn> senders;
    Transmit out;
    while (a.hca.poll_transmit(out, 0)) {
        senders.push_back(out.headers.deth.src_qp);
    }
    EXPECT_EQ(senders, (std::vector{qpns[0], qpns[1], qpns[2], qpns[0], qpns[1], qpns[2]}));
}

TEST(Hca, RequestsAndResponsesOfOneQueuePairTakeTurns) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kRead, 0, 2048));
    p.drive_while([&] { return p.sent_to(0).empty(); });
    p.post(1, p.request(1, WrOpcode::kWrite, 4096, 1024));
    p.sent.clear();
    p.drive();
    const auto ops = p.operations_to(0);
    for (std::size_t i = 1; i < 7; ++i) {
        EXPECT_NE(role_of(ops[i]).write, role_of(ops[i - 1]).write);
    }
}

TEST(Hca, DestroyedQueuePairIsGone) {
    Probe p;
    const Qpn qpn = p.ends[1].qpn;
    ASSERT_TRUE(p.ends[1].hca.destroy_qp(qpn));
    EXPECT_FALSE(p.ends[1].hca.destroy_qp(qpn));
    QpInit init{.pd = kPd, .send_cq = p.ends[1].send_cq, .recv_cq = p.ends[1].recv_cq};
    const auto next = p.ends[1].hca.create_qp(init);
    ASSERT_TRUE(next);
    EXPECT_NE(*next, qpn);
    p.inject(1, p.headers(1, kWriteOnly, 0));
    EXPECT_EQ(p.count(1, Counted::kNoQp), 1U);
    EXPECT_EQ(p.ends[1].hca.post_receive(qpn, 1, {}), PostError::kInvalid);
    EXPECT_FALSE(p.ends[1].hca.query_qp(qpn));
}

TEST(Hca, LimitsHold) {
    MemoryTable memory(1);
    Hca hca(memory, Port{}, {.qps = 1, .cqs = 1, .srqs = 1, .events = 1});
    const auto cq = hca.create_cq(1);
    ASSERT_TRUE(cq);
    EXPECT_FALSE(hca.create_cq(1));
    EXPECT_TRUE(hca.create_srq({.max_wr = 1}));
    EXPECT_FALSE(hca.create_srq({.max_wr = 1}));
    EXPECT_FALSE(hca.create_qp({.send_cq = CqId{1}}));
    EXPECT_FALSE(hca.create_qp({.window_packets = 0}));
    EXPECT_FALSE(hca.create_qp({.window_packets = kPsnHalf}));
    EXPECT_TRUE(hca.create_qp({}));
    EXPECT_FALSE(hca.create_qp({}));
}

// 11.6: a completion queue that is full raises an event.
TEST(Hca, FullCompletionQueueRaisesAnEvent) {
    Probe p;
    End& a = p.ends[0];
    const CqId small = *a.hca.create_cq(1);
    QpInit init{.type = QpType::kUd,
                .pd = kPd,
                .send_cq = small,
                .recv_cq = small,
                .max_send_wr = 4,
                .max_recv_wr = 4};
    const Qpn qpn = *a.hca.create_qp(init);
    QpAttr attr;
    attr.port = 1;
    attr.state = QpState::kInit;
    using namespace qp_attr;
    ASSERT_TRUE(a.hca.modify_qp(qpn, attr, kState | kPkeyIndex | kPort | kQkey));
    a.hca.post_receive(qpn, 1, {});
    a.hca.post_receive(qpn, 2, {});
    attr.state = QpState::kErr;
    ASSERT_TRUE(a.hca.modify_qp(qpn, attr, kState));
    EXPECT_EQ(p.count(0, Counted::kCqOverrun), 1U);
    EXPECT_TRUE(p.has_event(0, AsyncKind::kCqErr));
}

// 10.2.4: queue pairs of a completion queue that has lost a completion stop; others do not.
TEST(Hca, OverrunCompletionQueueEndsItsQueuePairs) {
    Probe p;
    End& a = p.ends[0];
    const CqId small = *a.hca.create_cq(2);
    QpInit init{.pd = kPd, .send_cq = small, .recv_cq = a.recv_cq, .max_send_wr = 8};
    const Qpn loud = *a.hca.create_qp(init);
    const Qpn quiet = *a.hca.create_qp(init);
    for (const Qpn qpn : {loud, quiet}) {
        const Qpn own = a.qpn;
        a.qpn = a.recv_qpn = qpn;
        p.to_init(0);
        p.to_rtr(0);
        p.to_rts(0);
        a.qpn = a.recv_qpn = own;
    }
    WorkRequest local;
    local.opcode = WrOpcode::kLocalInv;
    local.flags = kSendSignaled;
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(a.hca.post_send(loud, local), PostError::kOk);
    }
    p.drive();
    EXPECT_EQ(a.hca.query_qp(loud)->state, QpState::kErr);
    EXPECT_EQ(a.hca.query_qp(quiet)->state, QpState::kErr);
    EXPECT_EQ(a.state(), QpState::kRts);
    std::uint32_t fatal = 0;
    std::uint32_t full = 0;
    for (const Event& event : p.events(0)) {
        fatal += event.async == AsyncKind::kQpFatal ? 1U : 0U;
        full += event.async == AsyncKind::kCqErr ? 1U : 0U;
    }
    EXPECT_EQ(full, 1U);
    EXPECT_EQ(fatal, 1U);  // That queue pair had failed by itself.
    // The other queue pairs go on.
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 600));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// Annex A14: the request names the shared receive queue, whose protection domain counts.
TEST(Xrc, RequestNamesItsReceiveQueue) {
    Probe p({.type = QpType::kXrcSend});
    End& b = p.ends[1];
    const CqId other_cq = *b.hca.create_cq(8);
    const SrqId other =
        *b.hca.create_srq({.max_wr = 8, .max_sge = 1, .pd = kPd, .xrcd = kXrcd, .cq = other_cq});
    const Sge place = b.sge(4096, 600);
    b.hca.post_receive(other, 9, std::span(&place, 1));
    b.receive(8, 8192, 600);
    WorkRequest send = p.request(0, WrOpcode::kSend, 0, 600);
    send.remote_srqn = other.value;
    p.post(0, send);
    p.post(0, p.request(0, WrOpcode::kSend, 600, 600));
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 2U);
    const auto done = b.hca.poll_completion(other_cq);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->wr_id, 9U);
    EXPECT_EQ(done->qpn, b.recv_qpn);
    EXPECT_EQ(p.only_completion(1, true).wr_id, 8U);
    EXPECT_TRUE(p.same(0, 0, 1, 4096, 600));
    EXPECT_TRUE(p.same(0, 600, 1, 8192, 600));
    EXPECT_EQ(p.sent_to(1)[1].headers.xrc_eth.xrcsrq, other.value);
}

// Annex A14: the shared receive queue must be of the target's XRC domain.
TEST(Xrc, QueueOfAnotherDomainIsInvalid) {
    for (const std::uint32_t xrcd : {0U, kXrcd + 1}) {
        Probe p({.type = QpType::kXrcSend});
        End& b = p.ends[1];
        const SrqId other = *b.hca.create_srq(
            {.max_wr = 8, .max_sge = 1, .pd = kPd, .xrcd = xrcd, .cq = b.recv_cq});
        const Sge place = b.sge(4096, 64);
        b.hca.post_receive(other, 9, std::span(&place, 1));
        WorkRequest send = p.request(0, WrOpcode::kSend, 0, 8);
        send.remote_srqn = other.value;
        p.post(0, send);
        p.drive();
        EXPECT_EQ(p.only_completion(0).status, WcStatus::kRemInvReqErr);
        EXPECT_TRUE(p.completions(1, true).empty());
    }
}

// Annex A14: the target has no protection domain of its own for keys.
TEST(Xrc, KeysAreOfTheQueuesDomain) {
    Probe p({.type = QpType::kXrcSend});
    End& b = p.ends[1];
    const SrqId other = *b.hca.create_srq(
        {.max_wr = 8, .max_sge = 1, .pd = Pd{99}, .xrcd = kXrcd, .cq = b.recv_cq});
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    WorkRequest write = p.request(0, WrOpcode::kWrite, 0, 8);
    write.remote_srqn = other.value;
    p.post(0, write);
    p.drive();
    const auto done = p.completions(0);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].status, WcStatus::kSuccess);
    EXPECT_EQ(done[1].status, WcStatus::kRemAccessErr);
}

// Annex A14: all packets of a message must name the same shared receive queue.
TEST(Xrc, MessageKeepsToOneQueue) {
    Probe p({.type = QpType::kXrcSend});
    p.ends[1].receive(1, 0, 4096);
    p.inject(1, p.headers(1, kSendFirst, 0), Bytes(256));
    auto last = p.headers(1, kSendLast, 1);
    last.xrc_eth.xrcsrq += 1;
    p.inject(1, last, Bytes(8));
    p.drive();
    EXPECT_EQ(p.last_syndrome(0), nak(NakCode::kInvalidRequest));
}

// Annex A14: an initiator sends, a target receives.
TEST(Xrc, InitiatorTakesNoRequests) {
    Probe p({.type = QpType::kXrcSend});
    auto h = p.headers(1, kWriteOnly, 0);
    h.bth.dest_qp = p.ends[1].qpn;
    p.inject(1, h);
    EXPECT_EQ(p.count(1, Counted::kWrongService), 1U);
    auto ack = p.headers(1, kAcknowledge, 0);
    p.inject(1, ack);
    EXPECT_EQ(p.count(1, Counted::kWrongService), 2U);
}

}  // namespace
}  // namespace softib::transport
