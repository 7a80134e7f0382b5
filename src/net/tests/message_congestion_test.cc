// SPDX-License-Identifier: BSD-2-Clause
// Congestion control of message hosts: its state is a flow's, not a message's.
#include <algorithm>
#include <memory>

#include "net/hosts/roce.h"
#include "net/sim/test_simulation.h"

namespace softib::net {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr TimePs kVictimBegins = 300'000'000;
// In a tree of leaves with four hosts: the target of an incast, a flow past it that uses the same
// spine, and the hosts that send to the target, three of them on the flow's own leaf.
constexpr std::uint32_t kHot = 0;
constexpr std::uint32_t kPasser = 8;
constexpr std::uint32_t kPasserTo = 4;
constexpr std::uint32_t kFirstSender = 9;
constexpr std::uint32_t kLastSender = 31;

SimulationOptions with_control(bool on, bool by_level = false) {
    SimulationOptions options;
    options.engine = "ftree";
    if (on) {
        options.congestion = CongestionControl{.by_level = by_level};
    }
    return options;
}

SimulationOptions on_ethernet(const char* algorithm) {
    SimulationOptions options;
    options.engine = "ftree";
    options.hosts.ack_every = 1;
    options.roce = RoceOptions{.ecmp = RoceOptions::Ecmp::kTables};
    options.roce->hosts.algorithm = link::find_congestion_algorithm(algorithm);
    return options;
}

/// Returns how long 8 MiB from `from` take, in messages of `bytes`, past an incast whose senders
/// have messages of the same length; that of one MiB if it is one of these senders.
TimePs pass(const SimulationOptions& options, std::uint64_t bytes, std::uint32_t from = kPasser) {
    TestSimulation tree(fat_tree(32, 8, 2), options);
    for (std::uint32_t sender = kFirstSender; sender <= kLastSender; ++sender) {
        for (std::uint64_t sent = 0; sent < 4 * kMiB; sent += bytes) {
            tree.send({.from = sender, .to = kHot, .bytes = bytes});
        }
    }
    const std::size_t first = tree.outcomes().size();
    for (std::uint64_t sent = 0; sent < (from == kPasser ? 8 : 1) * kMiB; sent += bytes) {
        tree.send({.from = from, .to = kPasserTo, .bytes = bytes}, kVictimBegins);
    }
    TimePs now = kVictimBegins;
    while (tree.outcomes().back().delivered_at == kNever && now < 20 * kVictimBegins) {
        tree.run(now += 10'000'000);
    }
    TimePs last = 0;
    for (std::size_t i = first; i < tree.outcomes().size(); ++i) {
        last = std::max(last, tree.outcome(i).delivered_at);
    }
    return last - kVictimBegins;
}

TEST(MessageCongestion, AVictimsRateDoesNotDependOnTheLengthOfMessages) {
    const SimulationOptions options[] = {with_control(true), on_ethernet("dcqcn"),
                                         on_ethernet("swift")};
    const TimePs alone = pass(with_control(false), 8 * kMiB);
    for (const SimulationOptions& each : options) {
        const TimePs longest = pass(each, 8 * kMiB);
        EXPECT_LT(2 * longest, alone);
        for (const std::uint64_t bytes : {4U << 10, 64U << 10, 1U << 20}) {
            const auto took = static_cast<double>(pass(each, bytes));
            EXPECT_NEAR(took / static_cast<double>(longest), 1, 0.05) << bytes;
        }
    }
}

/// Returns the bytes that three hosts on a line get to one at its end in 10 ms, the nearest first.
std::vector<double> parking_lot(std::uint64_t bytes) {
    constexpr TimePs kEnd = 10'000'000'000;
    SimulationOptions options = with_control(true);
    options.engine = "minhop";
    TestSimulation ring({.shape = topo::Shape::kTorus, .hosts = 8, .dimensions = {8}}, options);
    std::vector<std::uint32_t> from;
    for (std::uint64_t sent = 0; sent < 256 * kMiB; sent += bytes) {
        for (std::uint32_t sender = 1; sender <= 3; ++sender) {
            ring.send({.from = sender, .to = 0, .bytes = bytes});
            from.push_back(sender - 1);
        }
    }
    ring.run(kEnd);
    std::vector<double> got(3);
    for (std::size_t i = 0; i < from.size(); ++i) {
        got[from[i]] += ring.outcome(i).delivered_at != kNever ? static_cast<double>(bytes) : 0;
    }
    for (const Partial& each : ring.simulation().partial()) {
        got[from[each.tag]] += static_cast<double>(bytes - each.left);
    }
    return got;
}

TEST(MessageCongestion, SharesOfAParkingLotDoNotDependOnTheLengthOfMessages) {
    for (const std::uint64_t bytes : {std::uint64_t{64} << 10, kMiB}) {
        const std::vector<double> got = parking_lot(bytes);
        const double sum = got[0] + got[1] + got[2];
        for (const double each : got) {
            EXPECT_NEAR(each / sum, 1.0 / 3, 0.02) << bytes;
        }
    }
}

TEST(MessageCongestion, AFlowIsAQueuePairUnlessTheManagerSaysServiceLevel) {
    const TimePs own = pass(with_control(true), 64 << 10, kFirstSender);
    const TimePs shared = pass(with_control(true, true), 64 << 10, kFirstSender);
    EXPECT_GT(shared, 2 * own);
}

TEST(MessageCongestion, SwiftKeepsTheLinkFullAndTheQueueBelowThePauses) {
    for (const std::uint64_t bytes : {std::uint64_t{64} << 10, 2 * kMiB}) {
        TestSimulation star(single_switch(17), on_ethernet("swift"));
        for (std::uint32_t from = 1; from <= 16; ++from) {
            for (std::uint64_t sent = 0; sent < 2 * kMiB; sent += bytes) {
                star.send({.from = from, .to = 0, .bytes = bytes});
            }
        }
        star.run();
        star.expect_sound();
        EXPECT_EQ(star.simulation().unfinished(), 0U);
        EXPECT_EQ(star.simulation().stats().pauses, 0U);
        EXPECT_EQ(star.simulation().stats().notifications, 0U);
        const TimePs least =
            link::transmit_time(4096 + kRoceHeaderBytes, 1280) * (32 * kMiB / 4096);
        EXPECT_LT(static_cast<double>(star.last_delivered()), 1.02 * static_cast<double>(least));
    }
}

TEST(MessageCongestion, SwiftsSendersShareFairly) {
    TestSimulation star(single_switch(9), on_ethernet("swift"));
    for (std::uint32_t from = 1; from <= 8; ++from) {
        // Each begins while the ones before have taken the link.
        star.send({.from = from, .to = 0, .bytes = 4 * kMiB}, (from - 1) * 5'000'000);
    }
    star.run();
    const auto [first, last] =
        std::ranges::minmax(star.outcomes(), {}, &TestSimulation::Outcome::delivered_at);
    EXPECT_GT(first.delivered_at * 10, last.delivered_at * 8);
}

TEST(MessageCongestion, SwiftSlowsAVictimsNeighboursDown) {
    const TimePs swift = pass(on_ethernet("swift"), 1 << 20);
    EXPECT_LT(4 * swift, pass(on_ethernet("off"), 1 << 20));
    EXPECT_LT(swift, pass(on_ethernet("dcqcn"), 1 << 20));
}

/// An algorithm that always has a window of one packet.
class OnePacket final : public link::Controller {
  public:
    double window() const override { return 1; }
    TimePs delay(std::uint32_t, TimePs, TimePs) override { return 0; }
};

// The row names all that an algorithm needs: its controller, and nothing else, makes it work.
TEST(MessageCongestion, ARowAloneMakesAnAlgorithm) {
    const link::CongestionAlgorithm row{
        .name = "one-packet",
        .title = "one packet",
        .from_first_packet = true,
        .ack_every = 1,
        .make = [](const link::CongestionRules&, const link::FlowFacts&)
            -> std::unique_ptr<link::Controller> { return std::make_unique<OnePacket>(); }};
    SimulationOptions options = on_ethernet("off");
    const auto took = [&](const link::CongestionAlgorithm* algorithm) {
        options.roce->hosts.algorithm = algorithm;
        TestSimulation pair(single_switch(2), options);
        pair.send({.from = 0, .to = 1, .bytes = kMiB});
        pair.run();
        return pair.outcome(0).delivered_at;
    };
    const TimePs freely = took(nullptr);
    EXPECT_GT(took(&row), 3 * freely) << "each packet waits for the ACK of the one before";
    EXPECT_LT(took(&row), 100 * freely);
}

}  // namespace
}  // namespace softib::net
