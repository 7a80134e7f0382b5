// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/flow_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "net/tests/test_fabrics.h"

namespace softib::net::flow {
namespace {

constexpr std::uint64_t kPacket = 4096;
constexpr TimePs kPacketPs = 81'920;  ///< Time of a packet at 400 Gb/s.

/// A fabric, its network and a model with packets of 4,096 bytes in all.
struct Bed {
    Bed(const topo::Spec& spec, const std::string& engine, bool adaptive = false,
        TimePs stretch_ps = 1000)
        : routed(*Routed::make(*topo::generate(spec), engine, 1)),
          network(routed, {.cable_ps = 25'000, .switch_ps = 200'000}, adaptive),
          model(network, {.wire = WireFormat::bare(), .stretch_ps = stretch_ps}) {}

    void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, TimePs at = 0) {
        EXPECT_TRUE(model.add({.from = from, .to = to, .bytes = bytes, .start = at, .tag = tag++}));
    }
    void run() {
        while (!model.idle()) {
            for (const Completion& completion : model.step()) {
                done[completion.tag] = completion;
            }
        }
    }

    Routed routed;
    FlowNetwork network;
    FlowModel model;
    std::uint64_t tag = 0;
    std::map<std::uint64_t, Completion> done;
};

TEST(WireFormat, AWriteHasHeadersAndScaleHostsPadTheLastPacket) {
    EXPECT_EQ(WireFormat{}.bytes_of(4096), 4096U + 26 + 16);
    EXPECT_EQ(WireFormat{}.bytes_of(4097), 4097U + 2 * 26 + 16);
    EXPECT_EQ(WireFormat{}.bytes_of(0), 26U + 16);
    EXPECT_EQ(WireFormat::bare().bytes_of(4097), 2 * 4096U);
}

TEST(FlowModel, ALoneMessageTakesItsBytesAndTheDelays) {
    Bed bed(star(2), "minhop");
    bed.send(0, 1, 1000 * kPacket, 7);
    bed.run();
    EXPECT_EQ(bed.done[0].start, 7U);
    EXPECT_EQ(bed.done[0].sent, 7 + 1000 * kPacketPs);
    EXPECT_EQ(bed.done[0].delivered, 7 + 1000 * kPacketPs + 2 * 25'000 + 200'000);
}

TEST(FlowModel, AWriteReachesItsWireEfficiency) {
    Bed bed(star(2), "minhop");
    FlowModel model(bed.network, {});
    ASSERT_TRUE(model.add({.from = 0, .to = 1, .bytes = 1'000'000'000}));
    TimePs sent = 0;
    while (!model.idle()) {
        for (const Completion& completion : model.step()) {
            sent = completion.sent;
        }
    }
    EXPECT_NEAR(1e9 / (static_cast<double>(sent) * 1e-12) / 50e9, 0.9937, 0.0001);
}

TEST(FlowModel, TwoToOneHalvesUntilOneHasEnded) {
    Bed bed(star(3), "minhop");
    bed.send(0, 2, 1000 * kPacket);
    bed.send(1, 2, 3000 * kPacket);
    bed.run();
    EXPECT_EQ(bed.done[0].sent, 2000 * kPacketPs);
    EXPECT_EQ(bed.done[1].sent, 4000 * kPacketPs);
}

TEST(FlowModel, AMessageThatWasAloneSharesFromThenOn) {
    // The model first hears of the second message when the first is under way.
    Bed bed(star(3), "minhop");
    bed.send(0, 2, 1000 * kPacket);
    bed.model.step();
    bed.send(1, 2, 1000 * kPacket, 500 * kPacketPs);
    bed.run();
    EXPECT_EQ(bed.done[0].sent, 1500 * kPacketPs);
    EXPECT_EQ(bed.done[1].sent, 2000 * kPacketPs);
}

TEST(FlowModel, MessagesOfOnePairShareAndOvertakeBySize) {
    Bed bed(star(2), "minhop");
    bed.send(0, 1, 1000 * kPacket);
    bed.send(0, 1, 100 * kPacket, 100 * kPacketPs);
    bed.send(0, 1, 300 * kPacket, 100 * kPacketPs);
    bed.run();
    // From packet time 100 on three messages share: the second ends at 400, the third 2 * 200
    // later. A third of a link's rate is no whole number.
    EXPECT_NEAR(static_cast<double>(bed.done[1].sent), 400 * double{kPacketPs}, 2);
    EXPECT_NEAR(static_cast<double>(bed.done[2].sent), 800 * double{kPacketPs}, 2);
    EXPECT_NEAR(static_cast<double>(bed.done[0].sent), 1400 * double{kPacketPs}, 2);
}

TEST(FlowModel, OneMayStopBeforeATime) {
    Bed bed(star(2), "minhop");
    bed.send(0, 1, 1000 * kPacket, 500);
    bed.send(0, 1, 1000 * kPacket, 5000 * kPacketPs);
    while (bed.model.next() < 2000 * kPacketPs) {
        bed.model.step();
    }
    EXPECT_EQ(bed.model.stats().messages, 1U);
    EXPECT_EQ(bed.model.next(), 5000 * kPacketPs);
    bed.run();
    EXPECT_EQ(bed.model.next(), kNever);
}

TEST(FlowModel, WhatAHostSendsToItselfTakesNoTime) {
    Bed bed(star(2), "minhop");
    bed.send(1, 1, 1'000'000, 500);
    bed.run();
    EXPECT_EQ(bed.done[0].delivered, 500U);
}

TEST(FlowModel, AMessageWithoutARouteIsRefused) {
    Bed bed(star(2), "minhop");
    const auto last = bed.routed.topology.hosts[1].hcas[0].value;
    bed.routed.tables.lfts.at(0, bed.routed.lids[last]) = routing::kNoPath;
    EXPECT_FALSE(bed.model.add({.from = 0, .to = 1, .bytes = 1}));
    EXPECT_TRUE(bed.model.idle());
}

TEST(FlowModel, ACompletionMayBeginTheNextMessage) {
    // A chain over four hosts: each sends when the message before has come.
    Bed bed(star(4), "minhop");
    ASSERT_TRUE(bed.model.add({.from = 0, .to = 1, .bytes = 10 * kPacket, .tag = 1}));
    TimePs last = 0;
    while (!bed.model.idle()) {
        for (const Completion& completion : bed.model.step()) {
            last = completion.delivered;
            const auto host = static_cast<std::uint32_t>(completion.tag);
            if (host < 3) {
                ASSERT_TRUE(bed.model.add({.from = host,
                                           .to = host + 1,
                                           .bytes = 10 * kPacket,
                                           .start = completion.delivered,
                                           .tag = host + 1}));
            }
        }
    }
    EXPECT_EQ(last, 3 * (10 * kPacketPs + 250'000));
}

TEST(FlowModel, LinksHaveCarriedWhatWasSentOverThem) {
    Bed bed(star(3), "minhop");
    bed.send(0, 2, 1000 * kPacket);
    bed.send(1, 2, 3000 * kPacket);
    bed.model.step();
    bed.model.step();  // The first message has ended; it had half of the rate.
    const std::uint32_t sender = bed.network.link_of(1);
    EXPECT_EQ(bed.model.link_loads()[sender].bytes, 1000 * kPacket);
    bed.run();
    EXPECT_EQ(bed.model.link_loads()[sender].bytes, 3000 * kPacket);
    // The receiver's cable carried all, and was full as long as both sent.
    std::vector<Hop> way;
    ASSERT_TRUE(bed.network.find_way(0, 2, way));
    const LinkLoad shared = bed.model.link_loads()[way.back().link];
    EXPECT_EQ(shared.bytes, 4000 * kPacket);
    EXPECT_GE(shared.full_ps, 2000 * kPacketPs);
}

TEST(FlowModel, AShiftOnAFullTreeRunsAtFullRate) {
    Bed bed(tree(32, 8), "ftree");
    for (std::uint32_t i = 0; i < 32; ++i) {
        bed.send(i, (i + 5) % 32, 100 * kPacket);
    }
    bed.run();
    for (const auto& [tag, completion] : bed.done) {
        EXPECT_EQ(completion.sent, 100 * kPacketPs) << tag;
    }
}

TEST(FlowModel, AdaptiveRoutesCarryAnyPermutationOfAFullTree) {
    Bed bed(tree(32, 8), "ftree", true);
    for (std::uint32_t i = 0; i < 32; ++i) {
        bed.send(i, (i * 7 + 3) % 32, 100 * kPacket);
    }
    bed.run();
    for (const auto& [tag, completion] : bed.done) {
        EXPECT_EQ(completion.sent, 100 * kPacketPs) << tag;
    }
}

/// Returns the completions of random messages, by tag.
std::map<std::uint64_t, Completion> random_run(TimePs stretch_ps) {
    Bed bed(tree(32, 8), "minhop", false, stretch_ps);
    Prng prng(11);
    for (std::uint32_t i = 0; i < 400; ++i) {
        const auto from = static_cast<std::uint32_t>(prng.below(32));
        const auto to = static_cast<std::uint32_t>(prng.below(32));
        bed.send(from, to, kPacket * (1 + prng.below(200)), prng.below(20'000'000));
    }
    bed.run();
    return bed.done;
}

TEST(FlowModel, LongerStretchesChangeTimesByLittle) {
    const auto exact = random_run(1);
    const auto rough = random_run(1000);
    ASSERT_EQ(exact.size(), 400U);
    for (const auto& [tag, completion] : exact) {
        EXPECT_NEAR(static_cast<double>(rough.at(tag).sent), static_cast<double>(completion.sent),
                    20'000)
            << tag;
    }
}

TEST(FlowModel, TheSameRunTwice) {
    const auto first = random_run(1000);
    const auto second = random_run(1000);
    for (const auto& [tag, completion] : first) {
        EXPECT_EQ(second.at(tag).sent, completion.sent);
    }
}

/// A message in a reference calculation with real numbers, which computes all rates at every event.
struct PlainMessage {
    double start_s;
    double left_bytes;
    std::vector<Hop> way;
    double rate = 0;
    double end_s = -1;

    bool runs(double now_s) const { return end_s < 0 && start_s <= now_s; }
};

void find_plain_rates(const FlowNetwork& network, std::vector<PlainMessage*> running) {
    std::vector<double> left(network.link_count());
    for (std::uint32_t link = 0; link < left.size(); ++link) {
        left[link] = static_cast<double>(network.capacity(link)) / kWorkPerByte;
    }
    while (!running.empty()) {
        std::map<std::uint32_t, double> counts;
        for (const PlainMessage* message : running) {
            for (const Hop& hop : message->way) {
                ++counts[hop.link];
            }
        }
        const auto tightest = std::ranges::min_element(
            counts, {}, [&](const auto& count) { return left[count.first] / count.second; });
        const std::uint32_t link = tightest->first;
        const double level = left[link] / tightest->second;
        std::erase_if(running, [&](PlainMessage* message) {
            if (std::ranges::find(message->way, link, &Hop::link) == message->way.end()) {
                return false;
            }
            message->rate = level;
            for (const Hop& hop : message->way) {
                left[hop.link] -= level;
            }
            return true;
        });
    }
}

void run_plainly(const FlowNetwork& network, std::vector<PlainMessage>& messages) {
    for (double now_s = 0;;) {
        std::vector<PlainMessage*> running;
        double next_s = 1e9;
        for (PlainMessage& message : messages) {
            if (message.runs(now_s)) {
                running.push_back(&message);
            } else if (message.end_s < 0) {
                next_s = std::min(next_s, message.start_s);
            }
        }
        find_plain_rates(network, running);
        for (const PlainMessage* message : running) {
            next_s = std::min(next_s, now_s + message->left_bytes / message->rate);
        }
        if (next_s == 1e9) {
            return;
        }
        for (PlainMessage* message : running) {
            message->left_bytes -= message->rate * (next_s - now_s);
            if (message->left_bytes < 0.01) {
                message->end_s = next_s;
            }
        }
        now_s = next_s;
    }
}

TEST(FlowModel, GivesWhatAPlainCalculationGives) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Bed bed(tree(32, 8), "minhop", false, 1);
        Prng prng(seed);
        std::vector<PlainMessage> plain;
        for (std::uint32_t i = 0; i < 120; ++i) {
            const auto from = static_cast<std::uint32_t>(prng.below(32));
            const auto to = static_cast<std::uint32_t>((from + 1 + prng.below(31)) % 32);
            const std::uint64_t bytes = kPacket * (1 + prng.below(200));
            const TimePs start = prng.below(20'000'000);
            bed.send(from, to, bytes, start);
            plain.push_back({static_cast<double>(start) * 1e-12, static_cast<double>(bytes), {}});
            ASSERT_TRUE(bed.network.find_way(from, to, plain.back().way));
        }
        bed.run();
        run_plainly(bed.network, plain);
        for (std::size_t i = 0; i < plain.size(); ++i) {
            EXPECT_NEAR(static_cast<double>(bed.done[i].sent), plain[i].end_s * 1e12, 100)
                << "message " << i << " of seed " << seed;
        }
    }
}

TEST(FlowModel, PairsThatAreLongIdleAreForgottenWithoutALoss) {
    // There are more pairs than the model keeps.
    Bed bed(tree(300, 40), "ftree");
    std::uint64_t sent = 0;
    for (std::uint32_t shift = 1; shift < 300; ++shift) {
        for (std::uint32_t i = 0; i < 300; ++i) {
            bed.send(i, (i + shift) % 300, kPacket, TimePs{shift} * 1'000'000);
        }
        bed.run();
        sent += kPacket;
    }
    const auto loads = bed.model.link_loads();
    for (std::uint32_t i = 0; i < 300; ++i) {
        EXPECT_EQ(loads[bed.network.link_of(i)].bytes, sent) << i;
    }
}

}  // namespace
}  // namespace softib::net::flow
