// SPDX-License-Identifier: BSD-2-Clause
// The transport over links and switches: what links lose the transport delivers, once and in order.
#include "net/hosts/transport_hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/base/test_effort.h"
#include "net/tests/test_cluster.h"

namespace softib::net {
namespace {

TEST(TransportHosts, CreditsLoseNothingAndNothingIsSentTwice) {
    Cluster<> cluster(1);
    cluster.post_all();
    cluster.fabric->net().run();
    cluster.expect_all_done();
    EXPECT_EQ(cluster.count(hca::Counted::kRetransmit), 0U);
    EXPECT_EQ(cluster.count(hca::Counted::kTimeout), 0U);
    EXPECT_EQ(cluster.count(hca::Counted::kOutOfSequence), 0U);
}

TEST(TransportHosts, WhatCablesLoseOrBreakIsBroughtOnce) {
    for (std::uint64_t seed = 1; seed <= effort(20, 5); ++seed) {
        SCOPED_TRACE(seed);
        Cluster<> cluster(seed);
        cluster.set_errors(3000, 3000, seed);
        cluster.post_all();
        cluster.fabric->net().run();
        cluster.expect_all_done();
        EXPECT_GT(cluster.count(hca::Counted::kRetransmit), 0U);
    }
}

TEST(TransportHosts, ALinkThatComesBackCostsTimeOnly) {
    Cluster<> cluster(3);
    Engine& net = cluster.fabric->engine();
    cluster.post_all();
    cluster.fabric->net().run(5'000'000);
    net.ports().set_link(cluster.fabric->port(2), false);
    cluster.fabric->net().run(300'000'000);
    net.ports().set_link(cluster.fabric->port(2), true);
    cluster.fabric->net().run();
    cluster.expect_all_done();
    EXPECT_GT(cluster.count(hca::Counted::kTimeout), 0U);
}

TEST(TransportHosts, SameSeedSameRun) {
    const auto run = [] {
        Cluster<> cluster(4);
        cluster.set_errors(3000, 3000, 4);
        cluster.post_all();
        cluster.fabric->net().run();
        return std::pair(cluster.fabric->engine().stats().log_hash, cluster.fabric->engine().now());
    };
    const auto first = run();
    EXPECT_EQ(run(), first);
    RecordProperty("log_hash", std::to_string(first.first));
}

}  // namespace
}  // namespace softib::net
