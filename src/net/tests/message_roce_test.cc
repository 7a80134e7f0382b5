// SPDX-License-Identifier: BSD-2-Clause
// Messages over RoCEv2: what is sent again after a loss, and what senders do about marks.
#include <gtest/gtest.h>

#include <memory>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/topo/spec.h"
#include "net/hosts/message_hosts.h"
#include "net/sim/fabric.h"
#include "net/sim/test_simulation.h"

namespace softib::net {
namespace {

constexpr TimePs kFrame = link::transmit_time(4096 + kRoceHeaderBytes, 1280);
constexpr TimePs kCable = 500'000;
constexpr TimePs kSwitch = 200'000;
/// Time from the first bit of a data packet sent until its last bit has arrived.
constexpr TimePs kThere = 2 * kCable + kSwitch + kFrame;
/// Time from the first bit of an answer sent until its last bit has arrived.
constexpr TimePs kBack = 2 * kCable + kSwitch + link::transmit_time(kRoceAckBytes, 1280);

/// Two hosts at a switch, of which the first sends to the second.
class RocePair : public MessageListener {
  public:
    explicit RocePair(const RoceConfig& roce, std::uint32_t ack_every = 256)
        : fabric_(routed(), plant(), 0, hosts(roce, ack_every)) {
        fabric_.engine().use_ethernet({});
        fabric_.ends().set_listener(this);
    }
    Engine& engine() { return fabric_.engine(); }
    const MessageHosts::Stats& stats() const { return fabric_.ends().stats(); }
    std::uint32_t port(std::uint32_t host) const { return fabric_.port(host); }
    void send(std::uint32_t packets) {
        fabric_.ends().post(fabric_.engine(),
                            {.port = fabric_.port(0),
                             .to_port = fabric_.port(1),
                             .source = fabric_.lid(0),
                             .destination = fabric_.lid(1),
                             .bytes = packets * 4096U,
                             .tag = 0},
                            fabric_.engine().now());
    }
    void run(TimePs until = kNever) { fabric_.net().run(until); }
    /// Makes a host's port lose all that it begins to send from one time to another.
    void lose(std::uint32_t host, TimePs from, TimePs to) {
        run(from);
        fabric_.engine().ports().set_errors(port(host), {.lost_ppm = 1'000'000, .seed = 1});
        run(to);
        fabric_.engine().ports().set_errors(port(host), {});
    }
    /// Makes the port of the first host, which sends all the time, lose some packets.
    void lose_packets(std::uint32_t first, std::uint32_t count) {
        lose(0, first * kFrame - kFrame / 2, (first + count) * kFrame - kFrame / 2);
    }
    void handle_message(std::uint64_t, MessageEvent event, TimePs at) override {
        (event == MessageEvent::kDelivered      ? delivered_at
         : event == MessageEvent::kAcknowledged ? acknowledged_at
                                                : failed_at) = at;
        delivered += event == MessageEvent::kDelivered ? 1 : 0;
    }
    TimePs delivered_at = kNever;
    TimePs acknowledged_at = kNever;
    TimePs failed_at = kNever;
    int delivered = 0;

  private:
    static Routed routed() { return *Routed::make(*topo::generate(single_switch(2)), "minhop", 1); }
    static PlantConfig plant() { return {.data_vls = 1, .cable_ps = kCable, .switch_ps = kSwitch}; }
    static MessageConfig hosts(const RoceConfig& roce, std::uint32_t ack_every) {
        return {.header_bytes = kRoceHeaderBytes,
                .first_header_bytes = 0,
                .ack_bytes = kRoceAckBytes,
                .ack_every = ack_every,
                .retries = 3,
                .roce = roce};
    }

    Fabric<MessageHosts> fabric_;
};

TEST(RoceHosts, WithoutLossAMessageTakesItsFramesAndOneWay) {
    RocePair pair({});
    pair.send(100);
    pair.run();
    EXPECT_EQ(pair.delivered_at, 99 * kFrame + kThere);
    EXPECT_EQ(pair.acknowledged_at, pair.delivered_at + kBack);
    EXPECT_EQ(pair.stats().resent + pair.stats().duplicates + pair.stats().timeouts, 0U);
}

TEST(RoceHosts, GoBackNSendsAllAgainThatFollowedTheLoss) {
    RocePair pair({});
    pair.send(200);
    pair.lose_packets(50, 1);
    pair.run();
    EXPECT_EQ(pair.engine().stats().lost, 1U);
    // Packet 51 shows the gap; what the sender sends until it hears of that is in vain.
    const TimePs hears = 51 * kFrame + kThere + kBack;
    const std::uint64_t in_vain = (hears + kFrame - 1) / kFrame - 50;
    EXPECT_GE(pair.stats().resent, in_vain);
    EXPECT_LE(pair.stats().resent, in_vain + 1);
    EXPECT_EQ(pair.stats().timeouts, 0U);
    EXPECT_NEAR(static_cast<double>(pair.delivered_at),
                static_cast<double>((199 + pair.stats().resent) * kFrame + kThere), 1.0 * kFrame);
}

TEST(RoceHosts, SelectiveRepeatSendsOnlyTheLostAgain) {
    RocePair pair({.selective = true});
    pair.send(200);
    pair.lose_packets(50, 3);
    pair.lose_packets(60, 1);
    pair.run();
    EXPECT_EQ(pair.engine().stats().lost, 4U);
    EXPECT_EQ(pair.stats().resent, 4U);
    EXPECT_EQ(pair.stats().duplicates, 0U);
    EXPECT_EQ(pair.stats().timeouts, 0U);
    EXPECT_EQ(pair.delivered_at, (199 + 4) * kFrame + kThere);
}

TEST(RoceHosts, ALossThatNothingFollowsIsFoundByTheTimeout) {
    for (const bool selective : {false, true}) {
        SCOPED_TRACE(selective);
        RocePair pair({.selective = selective}, 1);
        pair.send(20);
        pair.lose_packets(17, 3);
        pair.run();
        EXPECT_EQ(pair.stats().timeouts, 1U);
        EXPECT_EQ(pair.stats().resent, 3U);
        EXPECT_EQ(pair.delivered, 1);
        const TimePs timeout = MessageConfig{}.timeout_ps;
        EXPECT_GT(pair.delivered_at, timeout);
        EXPECT_LT(pair.delivered_at, timeout + 4 * (kThere + kBack));
    }
}

TEST(RoceHosts, AnAcknowledgementThatIsLostIsAskedForAgain) {
    for (const bool selective : {false, true}) {
        SCOPED_TRACE(selective);
        RocePair pair({.selective = selective});
        pair.send(20);
        pair.lose(1, kFrame, 19 * kFrame + kThere + kFrame);
        pair.run();
        EXPECT_EQ(pair.engine().stats().lost, 1U);
        EXPECT_EQ(pair.stats().timeouts, 1U);
        EXPECT_GT(pair.stats().duplicates, 0U);
        EXPECT_EQ(pair.delivered, 1);
        EXPECT_NE(pair.acknowledged_at, kNever);
    }
}

TEST(RoceHosts, ARequestForMoreThatIsLostIsMadeUpForByTheTimeout) {
    RocePair pair({});
    pair.send(200);
    pair.lose_packets(50, 1);
    pair.lose(1, 51 * kFrame, 51 * kFrame + kThere + 5 * kFrame);
    pair.run();
    EXPECT_EQ(pair.stats().timeouts, 1U);
    EXPECT_EQ(pair.delivered, 1);
    EXPECT_NE(pair.acknowledged_at, kNever);
}

TEST(RoceHosts, AMessageIsGivenUpAfterItsRetries) {
    RocePair pair({});
    pair.send(20);
    pair.lose(0, 5 * kFrame, 10'000'000'000);
    pair.run();
    EXPECT_EQ(pair.delivered_at, kNever);
    EXPECT_EQ(pair.stats().timeouts, 4U);
    EXPECT_NE(pair.failed_at, kNever);
}

SimulationOptions roce(const RoceOptions& wanted) {
    SimulationOptions options;
    options.roce = wanted;
    return options;
}

/// Lets each of some hosts send a message to the first host.
std::unique_ptr<TestSimulation> incast(std::uint32_t senders, std::uint64_t bytes,
                                       const RoceOptions& wanted) {
    auto star = std::make_unique<TestSimulation>(single_switch(senders + 1), roce(wanted));
    for (std::uint32_t from = 1; from <= senders; ++from) {
        star->send({.from = from, .to = 0, .bytes = bytes});
    }
    star->run();
    star->expect_sound();
    return star;
}

TEST(RoceHosts, TwoFlowsUnderDcqcnConvergeToHalfOfTheLinkEach) {
    constexpr std::uint64_t kPackets = 40'000;
    const auto star = incast(2, kPackets * 4096, {});
    const ModelStats stats = star->simulation().stats();
    EXPECT_GT(stats.marked, 0U);
    EXPECT_GT(stats.notifications, 0U);
    const auto both = static_cast<double>(2 * kPackets * kFrame);
    for (const TestSimulation::Outcome& each : star->outcomes()) {
        // The rest of the time is lost while rates recover from their first, large cuts.
        EXPECT_NEAR(static_cast<double>(each.delivered_at), both, 0.18 * both);
    }
}

TEST(RoceHosts, AReceiverSendsNoMoreNotificationsThanItsIntervalAllows) {
    RoceOptions always;
    always.links.ecn = {.low_blocks = 64, .high_blocks = 65, .most = 1};
    const auto star = incast(4, 2000 * 4096, always);
    const ModelStats stats = star->simulation().stats();
    const std::uint64_t most = star->last_delivered() / link::DcqcnRule{}.notification_gap_ps + 1;
    EXPECT_GE(stats.notifications, 4U);
    EXPECT_LE(stats.notifications, 4 * most);
    EXPECT_GT(stats.marked, 2 * stats.notifications) << "or the interval would not matter";
}

TEST(RoceHosts, ManyMessagesOfAConnectionShareItsRate) {
    // Two senders of one message each beside a sender of a hundred: each sender gets a third.
    TestSimulation star(single_switch(4), roce({}));
    constexpr std::uint64_t kPackets = 10'000;
    for (int i = 0; i < 100; ++i) {
        star.send({.from = 1, .to = 0, .bytes = kPackets / 100 * 4096});
    }
    star.send({.from = 2, .to = 0, .bytes = kPackets * 4096});
    star.send({.from = 3, .to = 0, .bytes = kPackets * 4096});
    star.run();
    EXPECT_EQ(star.simulation().unfinished(), 0U);
    const auto all = static_cast<double>(3 * kPackets * kFrame);
    EXPECT_GT(static_cast<double>(star.outcome(99).delivered_at), 0.8 * all);
    EXPECT_LT(static_cast<double>(star.last_delivered()), 1.3 * all);
}

TEST(RoceHosts, WithoutDcqcnNobodySlowsDownAndPausesDoIt) {
    RoceOptions off;
    off.hosts.algorithm = nullptr;
    const ModelStats without = incast(8, 4000 * 4096, off)->simulation().stats();
    const ModelStats with = incast(8, 4000 * 4096, {})->simulation().stats();
    EXPECT_EQ(without.notifications, 0U);
    EXPECT_GT(without.pauses, 4 * with.pauses);
}

TEST(RoceHosts, AnIncastWithoutPausesLosesAndRecovers) {
    for (const bool selective : {false, true}) {
        SCOPED_TRACE(selective);
        RoceOptions lossy;
        lossy.links.lossless = false;
        lossy.links.buffer_bytes = 1U << 20;
        lossy.hosts.selective = selective;
        TestSimulation star(single_switch(17), roce(lossy));
        for (std::uint32_t from = 1; from <= 16; ++from) {
            star.send({.from = from, .to = 0, .bytes = 1'000'000});
        }
        star.run();
        const ModelStats stats = star.simulation().stats();
        EXPECT_GT(stats.discarded, 0U);
        EXPECT_GE(stats.resent, stats.discarded / 2);
        EXPECT_EQ(stats.pauses, 0U);
        for (const TestSimulation::Outcome& each : star.outcomes()) {
            EXPECT_NE(each.acknowledged_at, kNever);
        }
        star.expect_sound();
    }
}

/// Returns a random mixture of options for Ethernet switches and adapters.
SimulationOptions draw_roce(Prng& prng, const topo::Fabric& fabric) {
    RoceOptions wanted;
    wanted.ecmp = static_cast<RoceOptions::Ecmp>(prng.below(5));
    wanted.links.lossless = prng.chance(1, 2);
    wanted.links.buffer_bytes = 2U << 20 >> (wanted.links.lossless ? 0 : prng.below(6));
    wanted.links.seed = prng.below(1000);
    wanted.hosts.selective = prng.chance(1, 2);
    wanted.hosts.reorder_packets = static_cast<std::uint32_t>(prng.below(3) * 20);
    const auto algorithms = link::congestion_algorithms();
    const std::uint64_t drawn = prng.below(algorithms.size());  // The first one is InfiniBand's.
    wanted.hosts.algorithm = drawn == 0 ? nullptr : &algorithms[drawn];
    SimulationOptions options = roce(wanted);
    options.engine = prng.chance(1, 2) ? "ftree" : "updn";
    options.hosts.mtu = static_cast<std::uint16_t>(256 << prng.below(5));
    options.hosts.ack_every = static_cast<std::uint32_t>(1 + prng.below(20));
    options.hosts.window_packets = static_cast<std::uint32_t>(prng.below(20));
    options.hosts.inject_block_ps = prng.chance(1, 3) ? 2000 : 0;
    options.hosts.context_entries = prng.chance(1, 3) ? 3 : 0;
    options.hosts.timeout_ps = 20'000'000;
    options.hosts.retries = 250;
    options.repair_ps = 10'000'000;
    for (const Hop& cable : draw_cables(fabric, static_cast<std::uint32_t>(prng.below(3)), 5)) {
        options.failures.push_back({.what = cable, .at = prng.below(30'000'000)});
    }
    return options;
}

TEST(RoceHosts, EveryMessageArrivesOnceWhateverTheOptions) {
    const auto fabric = topo::generate(fat_tree(32, 8, 2));
    std::uint64_t lost = 0;
    for (std::uint64_t seed = 1; seed <= effort(40, 10); ++seed) {
        SCOPED_TRACE(seed);
        const auto run = [&] {
            Prng prng(seed);
            auto tree =
                std::make_unique<TestSimulation>(fat_tree(32, 8, 2), draw_roce(prng, *fabric));
            for (int i = 0; i < 150; ++i) {
                tree->send({.from = static_cast<std::uint32_t>(prng.below(32)),
                            .to = static_cast<std::uint32_t>(prng.below(8)),
                            .bytes = prng.below(60'000),
                            .connection = static_cast<std::uint32_t>(prng.below(5))},
                           prng.below(20'000'000));
            }
            tree->run();
            return tree;
        };
        const auto tree = run();
        EXPECT_EQ(tree->simulation().unfinished(), 0U);
        for (const TestSimulation::Outcome& each : tree->outcomes()) {
            EXPECT_NE(each.acknowledged_at == kNever, each.failed_at == kNever);
            EXPECT_TRUE(each.acknowledged_at == kNever ||
                        each.delivered_at <= each.acknowledged_at);
        }
        tree->expect_sound();
        lost += tree->simulation().stats().lost + tree->simulation().stats().discarded;
        if (seed % 10 == 0) {
            EXPECT_EQ(run()->simulation().stats().log_hash, tree->simulation().stats().log_hash);
        }
    }
    EXPECT_GT(lost, effort(500U, 100U));
}

}  // namespace
}  // namespace softib::net
