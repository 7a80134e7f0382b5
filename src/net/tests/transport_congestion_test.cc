// SPDX-License-Identifier: BSD-2-Clause
// 32 hosts write to one, by reliable or unreliable connections. A flow that goes elsewhere shares a
// cable with some of them, as in congestion_test.cc, but here HCAs with the real transport answer
// marks and slow down.
#include <gtest/gtest.h>

#include <deque>

#include "core/topo/spec.h"
#include "net/hosts/transport_hosts.h"
#include "net/tests/test_fabrics.h"
#include "net/tests/test_incast.h"

namespace softib::net {
namespace {

constexpr std::uint32_t kMuch = 1U << 30;
constexpr TimePs kTransportEnd = 2'500'000'000;
constexpr hca::Pd kPd{1};

/// An HCA whose memory has no bytes.
struct Host {
    explicit Host(Lid lid)
        : hca(memory, {.lid = lid}, {.qps = 40, .cqs = 1, .srqs = 1, .events = 8}),
          cq(*hca.create_cq(64)),
          key(memory.add_region({.pd = kPd,
                                 .addr = 0,
                                 .length = kMuch,
                                 .access = hca::kLocalWrite | hca::kRemoteWrite,
                                 .bytes = nullptr})) {}
    hca::MemoryTable memory{2};
    hca::Hca hca;
    hca::CqId cq;
    std::uint32_t key;
};

Qpn make_qp(Host& host, hca::QpType type) {
    return *host.hca.create_qp({.type = type,
                                .pd = kPd,
                                .send_cq = host.cq,
                                .recv_cq = host.cq,
                                .max_send_wr = 1,
                                .max_recv_wr = 1});
}

void connect(Host& host, Qpn qpn, hca::QpType type, Lid to, Qpn peer) {
    using namespace hca::qp_attr;
    const bool reliable = type == hca::QpType::kRc;
    hca::QpAttr attr;
    attr.state = hca::QpState::kInit;
    attr.port = 1;
    attr.access = hca::kRemoteWrite;
    ASSERT_TRUE(host.hca.modify_qp(qpn, attr, kState | kPkeyIndex | kPort | kAccessFlags));
    attr.state = hca::QpState::kRtr;
    attr.av.dlid = to;
    attr.path_mtu = 5;
    attr.dest_qpn = peer.value;
    ASSERT_TRUE(host.hca.modify_qp(qpn, attr,
                                   kState | kAv | kPathMtu | kDestQpn | kRqPsn |
                                       (reliable ? kMaxDestRdAtomic | kMinRnrTimer : 0U)));
    attr.state = hca::QpState::kRts;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    ASSERT_TRUE(host.hca.modify_qp(
        qpn, attr,
        kState | kSqPsn | (reliable ? kTimeout | kRetryCnt | kRnrRetry | kMaxQpRdAtomic : 0U)));
}

struct TransportResult {
    double victim = 0;
    double incast = 0;
    std::uint64_t becns = 0;
    std::uint64_t marked = 0;
    std::uint64_t heeding = 0;  ///< Words sent by those of the 32 that heed BECNs.
    std::uint64_t others = 0;   ///< Words sent by those of the 32 that do not.
};

/// `slow`: how many of the 32 heed BECNs. Their ports have parameters, those of the others none.
TransportResult run(hca::QpType type, std::uint32_t slow) {
    auto routed = Routed::make(*topo::generate(tree(128, 16)), "ftree", 1);
    EXPECT_TRUE(routed);
    Fabric<TransportHosts> fabric(*std::move(routed), {.data_vls = 1}, 0);
    Engine& net = fabric.engine();
    std::deque<Host> hosts;
    for (std::uint32_t i = 0; i < fabric.host_count(); ++i) {
        hosts.emplace_back(fabric.lid(i));
        fabric.ends().attach(fabric.port(i), hosts.back().hca);
    }
    for (std::uint32_t node = 0; node < net.plant().node_count(); ++node) {
        if (net.plant().is_switch(node)) {
            net.plant().set_marking(node, {.threshold = 1, .packet_blocks = 8});
        }
    }
    // As in congestion_test.cc.
    link::InjectionControl control{.rules = {}, .table = link::DelayTable::geometric(12, 13, 127)};
    control.rules.fill({.timer = 5});
    const auto start = [&](std::uint32_t from, std::uint32_t to, bool heeds) {
        if (heeds) {
            fabric.ends().control_congestion(fabric.port(from), control);
        }
        const Qpn here = make_qp(hosts[from], type);
        const Qpn there = make_qp(hosts[to], type);
        connect(hosts[from], here, type, fabric.lid(to), there);
        connect(hosts[to], there, type, fabric.lid(from), here);
        const hca::Sge all{0, kMuch, hosts[from].key};
        hca::WorkRequest write;
        write.opcode = hca::WrOpcode::kWrite;
        write.sges = std::span(&all, 1);
        write.rkey = hosts[to].key;
        ASSERT_EQ(hosts[from].hca.post_send(here, write), hca::PostError::kOk);
        fabric.ends().pump(net, fabric.port(from));
    };
    start(kVictim, kVictimTo, slow != 0);
    for (std::uint32_t from = 17; from <= 48; ++from) {
        start(from, kTarget, from - 17 < slow);
    }
    fabric.net().run(kBegin);
    const std::uint64_t victim = net.counts(fabric.port(kVictimTo)).rcv_words;
    const std::uint64_t incast = net.counts(fabric.port(kTarget)).rcv_words;
    fabric.net().run(kTransportEnd);
    const double whole = static_cast<double>(kTransportEnd - kBegin) / 81'920 * 1024;
    TransportResult result;
    result.victim =
        static_cast<double>(net.counts(fabric.port(kVictimTo)).rcv_words - victim) / whole;
    result.incast =
        static_cast<double>(net.counts(fabric.port(kTarget)).rcv_words - incast) / whole;
    for (std::uint32_t from = 17; from <= 48; ++from) {
        (from - 17 < slow ? result.heeding : result.others) +=
            net.counts(fabric.port(from)).xmit_words;
    }
    for (Host& host : hosts) {
        result.becns += host.hca.counter(hca::Counted::kBecn);
        EXPECT_EQ(host.hca.counter(hca::Counted::kTimeout), 0U);
    }
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        result.marked += net.plant().odd_counts(port).marked;
    }
    EXPECT_EQ(lines(Inspector(net).check_credits()), "");
    EXPECT_EQ(lines(Inspector(net).check_counters()), "");
    return result;
}

TEST(TransportCongestion, AnHcaThatIgnoresBecnSlowsTheVictim) {
    const TransportResult result = run(hca::QpType::kRc, 0);
    EXPECT_LT(result.victim, 0.3 * kFairShare);
    EXPECT_GT(result.becns, 0U);
}

TEST(TransportCongestion, ReliableConnectionsLeaveTheVictimItsShare) {
    const TransportResult result = run(hca::QpType::kRc, 32);
    EXPECT_GT(result.victim, 0.8 * kFairShare);
    EXPECT_GT(result.incast, 0.9);
}

TEST(TransportCongestion, UnreliableConnectionsToo) {
    const TransportResult result = run(hca::QpType::kUc, 32);
    EXPECT_GT(result.victim, 0.8 * kFairShare);
    EXPECT_GT(result.incast, 0.9);
    // There is a CNP for each mark, except those on their way.
    EXPECT_GT(result.becns, result.marked * 9 / 10);
}

/// Every port has its own parameters: a port without any takes what the others leave.
TEST(TransportCongestion, APortWithoutParametersTakesWhatOthersLeave) {
    const TransportResult result = run(hca::QpType::kUc, 16);
    EXPECT_LT(result.heeding, result.others * 2 / 3);
    EXPECT_GT(result.incast, 0.99);
}

}  // namespace
}  // namespace softib::net
