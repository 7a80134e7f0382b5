// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs with different service levels at one HCA: their packets wait for their own lane.
#include <gtest/gtest.h>

#include "net/tests/test_cluster.h"

namespace softib::net {
namespace {

constexpr std::uint32_t kSender = 16;
constexpr std::uint32_t kReceiver = 17;

/// Two connections between two hosts, with service levels 0 and 1.
struct TwoLevels {
    TwoLevels() : cluster(1, 16, 4), from(cluster.hosts[kSender]), to(cluster.hosts[kReceiver]) {
        for (std::uint8_t sl = 0; sl < 2; ++sl) {
            connect(from, sl, to, sl, cluster.fabric->lid(kReceiver), sl);
            connect(to, sl, from, sl, cluster.fabric->lid(kSender), sl);
        }
    }
    void post_all() {
        for (std::uint32_t n = 0; n < kOperations; ++n) {
            for (std::size_t sl = 0; sl < 2; ++sl) {
                const hca::Sge sge{from.offset(sl, n), kSliceBytes, from.key};
                hca::WorkRequest write;
                write.wr_id = sl;
                write.opcode = hca::WrOpcode::kWrite;
                write.flags = hca::kSendSignaled;
                write.sges = std::span(&sge, 1);
                write.remote_addr = to.offset(sl, n);
                write.rkey = to.key;
                ASSERT_EQ(from.hca.post_send(from.qpns[sl], write), hca::PostError::kOk);
            }
        }
        cluster.fabric->ends().pump(engine(), port());
    }
    /// Counts the completions of both connections since the last call.
    void poll() {
        while (const auto done = from.hca.poll_completion(from.sends)) {
            ++(done->status == hca::WcStatus::kSuccess ? good : bad)[done->wr_id];
        }
    }
    Network<TransportHosts>& net() { return cluster.fabric->net(); }
    Engine& engine() { return cluster.fabric->engine(); }
    std::uint32_t port() const { return cluster.fabric->port(kSender); }

    Cluster<> cluster;
    Host& from;
    Host& to;
    std::array<std::uint32_t, 2> good{};
    std::array<std::uint32_t, 2> bad{};
};

TEST(AdapterLanes, ALaneWithoutCreditsHoldsNoOtherUp) {
    TwoLevels two;
    two.engine().ports().steal_credits(two.port(), 1, two.engine().plant().buffer_blocks());
    two.post_all();
    two.net().run(100'000'000);
    two.poll();
    EXPECT_EQ(two.good[0], kOperations);
    EXPECT_EQ(two.good[1], 0U);
}

TEST(AdapterLanes, LanesTakeTurnsByTheirWeights) {
    TwoLevels two;
    link::ArbitrationTable table;
    table.low[0] = {0, 40};
    table.low[1] = {1, 120};
    table.low_count = 2;
    two.engine().ports().set_arbitration(two.port(), table);
    two.post_all();
    while (two.good[1] < kOperations && !two.engine().idle()) {
        two.net().run(two.engine().now() + 10'000);
        two.poll();
    }
    EXPECT_EQ(two.good[1], kOperations);
    EXPECT_GE(two.good[0], kOperations / 3 - 3);
    EXPECT_LE(two.good[0], kOperations / 3 + 3);
}

TEST(AdapterLanes, AListThatLetsALaneSendAgainIsObeyedAtOnce) {
    TwoLevels two;
    link::ArbitrationTable only_first;
    only_first.low[0] = {0, 40};
    only_first.low_count = 1;
    two.engine().ports().set_arbitration(two.port(), only_first);
    two.post_all();
    two.net().run(50'000'000);
    two.poll();
    EXPECT_EQ(two.good[0], kOperations);
    EXPECT_EQ(two.good[1], 0U);
    two.engine().ports().set_arbitration(two.port(), link::ArbitrationTable::equal(2));
    two.net().run(100'000'000);
    two.poll();
    EXPECT_EQ(two.good[1], kOperations);
}

TEST(AdapterLanes, ALevelWithoutALaneSendsNothing) {
    TwoLevels two;
    std::array<std::uint8_t, 16> row{};
    row[1] = link::kVl15;
    two.engine().plant().set_lanes(two.engine().plant().node_of(two.port()), 0, 1, row);
    two.post_all();
    two.net().run();
    two.poll();
    EXPECT_EQ(two.good[0], kOperations);
    EXPECT_EQ(two.good[1], 0U);
    EXPECT_EQ(two.bad[1], kOperations);
    EXPECT_EQ(two.engine().counts(two.engine().plant().peer(two.port())).rcv_packets,
              two.engine().counts(two.port()).xmit_packets);
    EXPECT_EQ(two.engine().queues().packets().live(), 0U);
    EXPECT_EQ(two.cluster.fabric->ends().bodies(), 0U);
}

}  // namespace
}  // namespace softib::net
