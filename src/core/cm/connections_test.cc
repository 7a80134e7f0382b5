// SPDX-License-Identifier: BSD-2-Clause
// Connections between two hosts in virtual time.
#include <gtest/gtest.h>

#include "core/cm/test_pair.h"

namespace softib::cm {
namespace {

TEST(CmConnections, BothSidesLearnWhatTheOtherSaid) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    ASSERT_EQ(pair.connect(pair.a, id, 42), 0);

    const Event* const request = pair.b.last(EventType::kConnectRequest);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->parameters.private_data_bytes, 56);
    EXPECT_EQ(request->parameters.private_data[0], 42);
    EXPECT_EQ(request->parameters.qpn, Qpn{100 + id});
    // One side's responder resources are the other side's initiator depth.
    EXPECT_EQ(request->parameters.initiator_depth, 4);
    EXPECT_EQ(request->parameters.responder_resources, 3);
    EXPECT_EQ(request->info.source, with_port(ip4(10, 0, 0, 2), kPort));
    EXPECT_TRUE(same_host(request->info.destination, ip4(10, 0, 0, 1)));

    ASSERT_EQ(pair.accept(pair.b, request->id), 0);
    const Event* const response = pair.a.last(EventType::kConnectResponse);
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->parameters.private_data_bytes, 196);
    EXPECT_EQ(pair.b.count(EventType::kEstablished), 0U);
    ASSERT_EQ(pair.simple(pair.a, Operation::kAccept, id), 0);
    EXPECT_EQ(pair.b.count(EventType::kEstablished), 1U);
}

TEST(CmConnections, AttributesFollowTheState) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    const auto attributes = [&](QpState state) {
        Command query = pair.command(Operation::kQpAttr, id);
        query.value = static_cast<std::uint32_t>(state);
        return pair.execute(pair.a, query);
    };
    EXPECT_EQ(attributes(QpState::kInit).attributes.access_flags, 0U);
    EXPECT_EQ(attributes(QpState::kRtr).status, EINVAL);
    pair.connect(pair.a, id);
    EXPECT_EQ(attributes(QpState::kRtr).status, EINVAL);
    pair.accept(pair.b, pair.b.last(EventType::kConnectRequest)->id);
    EXPECT_EQ(attributes(QpState::kInit).attributes.access_flags, 0xEU);
    const QpAttributes rtr = attributes(QpState::kRtr).attributes;
    EXPECT_EQ(rtr.mask, 0x121181U | 1U << 15);
    EXPECT_EQ(rtr.dest_qpn, Qpn{500 + pair.b.last(EventType::kConnectRequest)->id});
    EXPECT_EQ(rtr.destination.dlid, Lid{2});
    EXPECT_EQ(rtr.path_mtu, 5);
    EXPECT_EQ(rtr.max_dest_rd_atomic, 4);
    const QpAttributes rts = attributes(QpState::kRts).attributes;
    EXPECT_EQ(rts.mask, 0x12E01U);
    EXPECT_EQ(rts.max_rd_atomic, 3);
    EXPECT_EQ(rts.timeout, 19);
}

/// A path within a host takes no time, but the HCA at its end still needs time to acknowledge,
/// above all one that is a process among others.
TEST(CmConnections, AnAdapterHasTimeToAcknowledge) {
    TestPair pair;
    pair.packet_life_time = 0;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    const IdHandle request = pair.b.last(EventType::kConnectRequest)->id;
    pair.accept(pair.b, request);
    for (const auto& [host, handle] : {std::pair{&pair.a, id}, {&pair.b, request}}) {
        Command query = pair.command(Operation::kQpAttr, handle);
        query.value = static_cast<std::uint32_t>(QpState::kRts);
        EXPECT_EQ(pair.execute(*host, query).attributes.timeout, 16);
    }
}

TEST(CmConnections, DisconnectIsSeenByBothOnce) {
    TestPair pair;
    be_polite(pair);
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    EXPECT_EQ(pair.simple(pair.a, Operation::kDisconnect, id), 0);
    EXPECT_EQ(
        pair.simple(pair.b, Operation::kDisconnect, pair.b.last(EventType::kConnectRequest)->id),
        0);
    pair.run_for(kMinute);
    for (const TestHost* each : {&pair.a, &pair.b}) {
        EXPECT_EQ(each->count(EventType::kDisconnected), 1U);
        EXPECT_EQ(each->count(EventType::kTimewaitExit), 1U);
        EXPECT_EQ(each->host.connections().size(), 0U);
    }
}

TEST(CmConnections, NobodyListensIsReasonEight) {
    TestPair pair;
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    EXPECT_EQ(pair.a.count(EventType::kRejected), 0U);
    pair.run_for(kEarlyNs);
    ASSERT_EQ(pair.a.count(EventType::kRejected), 1U);
    EXPECT_EQ(pair.a.last(EventType::kRejected)->status, 8);
}

TEST(CmConnections, ARequestMayComeBeforeItsListener) {
    TestPair pair;
    be_polite(pair);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    pair.run_for(kEarlyNs / 2);
    pair.listener(pair.b, kPort);
    pair.run_for(kNsPerSecond);
    EXPECT_EQ(pair.b.count(EventType::kEstablished), 1U);
    EXPECT_EQ(pair.a.count(EventType::kRejected), 0U);
}

TEST(CmConnections, AConsumersRejectCarriesItsData) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    Command reject = pair.command(Operation::kReject, pair.b.last(EventType::kConnectRequest)->id);
    reject.parameters.private_data_bytes = 2;
    reject.parameters.private_data[1] = 9;
    EXPECT_EQ(pair.execute(pair.b, reject).status, 0);
    const Event* const rejected = pair.a.last(EventType::kRejected);
    ASSERT_NE(rejected, nullptr);
    EXPECT_EQ(rejected->status, 28);
    EXPECT_EQ(rejected->parameters.private_data_bytes, 148);
    EXPECT_EQ(rejected->parameters.private_data[1], 9);
}

TEST(CmConnections, SilenceEndsAsUnreachable) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.cut = true;
    pair.connect(pair.a, id);
    pair.run_for(kMinute);
    ASSERT_EQ(pair.a.count(EventType::kUnreachable), 1U);
    EXPECT_EQ(pair.a.last(EventType::kUnreachable)->status, -ETIMEDOUT);
    // The REQ, its repetitions, and the REJ that says that the host has given up.
    EXPECT_EQ(pair.sent, 1U + kMaxCmRetries + 1U);
}

TEST(CmConnections, AServerMayTakeItsTime) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    // The server's MRA asked for this time, which is longer than all repetitions together.
    pair.run_for(kMinute);
    EXPECT_EQ(pair.a.count(EventType::kUnreachable), 0U);
    EXPECT_EQ(pair.accept(pair.b, pair.b.last(EventType::kConnectRequest)->id), 0);
    EXPECT_EQ(pair.a.count(EventType::kConnectResponse), 1U);
}

TEST(CmConnections, DisconnectWithoutAnswerEndsToo) {
    TestPair pair;
    be_polite(pair);
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    pair.cut = true;
    pair.simple(pair.a, Operation::kDisconnect, id);
    pair.run_for(kMinute);
    ASSERT_EQ(pair.a.count(EventType::kDisconnected), 1U);
    EXPECT_EQ(pair.a.last(EventType::kDisconnected)->status, -ETIMEDOUT);
    EXPECT_EQ(pair.a.host.connections().size(), 0U);
}

TEST(CmConnections, DataBeforeTheRtuEstablishes) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    const IdHandle passive = pair.b.last(EventType::kConnectRequest)->id;
    pair.accept(pair.b, passive);
    EXPECT_EQ(pair.simple(pair.b, Operation::kNotify, passive), 0);
    EXPECT_EQ(pair.b.count(EventType::kEstablished), 1U);
    pair.simple(pair.a, Operation::kAccept, id);
    EXPECT_EQ(pair.b.count(EventType::kEstablished), 1U);
}

/// A program ends at each step of the handshake: the other side is told, and no connection is left.
class CmEndings : public testing::TestWithParam<int> {};

TEST_P(CmEndings, TheOtherSideHearsOfIt) {
    const int steps = GetParam() % 4;
    const bool client_ends = GetParam() < 4;
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    pair.connect(pair.a, id);
    const IdHandle passive = pair.b.last(EventType::kConnectRequest)->id;
    if (steps >= 1) {
        pair.accept(pair.b, passive);
    }
    if (steps >= 2) {
        pair.simple(pair.a, Operation::kAccept, id);
    }
    if (steps >= 3) {
        pair.simple(pair.a, Operation::kDisconnect, id);
    }
    TestHost& dying = client_ends ? pair.a : pair.b;
    const TestHost& living = client_ends ? pair.b : pair.a;
    pair.simple(dying, Operation::kDestroyId, client_ends ? id : passive);
    pair.run_for(kMinute);
    EXPECT_EQ(living.count(EventType::kRejected) + living.count(EventType::kDisconnected), 1U);
    EXPECT_EQ(pair.a.host.connections().size() + pair.b.host.connections().size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(AtEachStep, CmEndings, testing::Range(0, 8));

/// Messages are lost, doubled and out of order: every connection is reported once, as established
/// or as failed.
TEST(CmConnections, ABadChannelLosesNoConnection) {
    std::uint32_t established = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        TestPair pair(seed);
        be_polite(pair);
        pair.listener(pair.b, kPort);
        const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
        pair.lose_percent = 30;
        pair.double_percent = 30;
        pair.delay_max_ns = 3 * kNsPerSecond;
        pair.connect(pair.a, id);
        pair.run_for(5 * kMinute);
        ASSERT_EQ(pair.a.count(EventType::kConnectResponse) + pair.a.count(EventType::kRejected) +
                      pair.a.count(EventType::kUnreachable),
                  1U)
            << "seed " << seed;
        ASSERT_LE(pair.b.count(EventType::kConnectRequest), 2U) << "seed " << seed;
        ASSERT_LE(pair.b.count(EventType::kEstablished), 1U) << "seed " << seed;
        established += pair.b.count(EventType::kEstablished);
        pair.simple(pair.a, Operation::kDestroyId, id);
        pair.run_for(5 * kMinute);
        EXPECT_EQ(pair.a.host.connections().size(), 0U) << "seed " << seed;
    }
    EXPECT_GT(established, 190U);
}

/// Any bit of any message may be wrong: no host crashes, and endpoints that both sides destroy are
/// gone.
TEST(CmConnections, HostileMessagesHurtNobody) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        TestPair pair(seed);
        be_polite(pair);
        pair.listener(pair.b, kPort);
        const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
        pair.tamper = [&pair](wire::MadBytes& mad) {
            if (pair.prng.chance(1, 2)) {
                for (std::uint64_t n = pair.prng.below(8); n > 0; --n) {
                    mad[pair.prng.below(mad.size())] ^=
                        static_cast<std::uint8_t>(1U << pair.prng.below(8));
                }
            }
            if (pair.prng.chance(1, 10)) {
                mad[17] = static_cast<std::uint8_t>(0x10 + pair.prng.below(11));
            }
        };
        pair.double_percent = 50;
        pair.connect(pair.a, id);
        pair.run_for(kMinute);
        pair.simple(pair.a, Operation::kDisconnect, id);
        pair.run_for(kMinute);
        pair.tamper = nullptr;
        pair.simple(pair.a, Operation::kDestroyId, id);
        for (const Event& event : std::vector<Event>(pair.b.events)) {
            if (event.type == EventType::kConnectRequest) {
                pair.simple(pair.b, Operation::kDestroyId, event.id);
            }
        }
        pair.run_for(5 * kMinute);
        EXPECT_EQ(pair.a.host.ids(), 0U) << "seed " << seed;
        EXPECT_EQ(pair.b.host.ids(), 1U) << "seed " << seed;
        EXPECT_EQ(pair.a.host.connections().size() + pair.b.host.connections().size(), 0U)
            << "seed " << seed;
    }
}

}  // namespace
}  // namespace softib::cm
