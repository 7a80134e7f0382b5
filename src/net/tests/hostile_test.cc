// SPDX-License-Identifier: BSD-2-Clause
// A million packets that no peer would send, thrown into a fabric at work: strangers forge
// addresses, keys, numbers and lengths, or send random bytes, while other hosts talk and cables
// break. Whatever the strangers do, the data of the others arrives once and unchanged, every
// hostile packet ends where its fault is counted, and no credit is lost.
#include <gtest/gtest.h>

#include <array>

#include "core/base/test_effort.h"
#include "net/tests/test_attack.h"
#include "net/tests/test_faults.h"

namespace softib::net {
namespace {

constexpr std::uint64_t kPackets = effort(1'000'000, 40'000);
constexpr std::uint64_t kPerCluster = 10'000;

/// Expects that every packet that was discarded is in a counter of the port that discarded it.
void expect_counted(const Engine& net) {
    std::uint64_t counted = 0;
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        const Odd odd = net.plant().odd_counts(port);
        counted += odd.malformed_packet_errors + odd.all_relay_errors() + odd.inactive_discards +
                   odd.lifetime_discards + odd.hoq_lifetime_discards + odd.vl15_dropped +
                   odd.not_ready;
        const bool takes_whole =
            net.plant().connected(port) &&
            (!net.plant().is_switch(net.plant().node_of(port)) || net.plant().peer(port) == port);
        if (takes_whole) {
            counted += odd.local_physical_errors + odd.rcv_remote_physical_errors;
        }
    }
    EXPECT_EQ(counted, net.stats().discarded);
}

TEST(HostileFabric, NothingForgedIsAcceptedAndEverythingIsCounted) {
    std::uint64_t shot = 0;
    Odd sums;
    std::uint64_t unknown = 0;
    std::array<std::uint64_t, hca::kCountedKinds> counted{};
    for (std::uint64_t seed = 1; shot < kPackets; ++seed) {
        SCOPED_TRACE(seed);
        Attack attack(seed);
        Engine& net = attack.cluster.fabric->engine();
        auto& ends = attack.cluster.fabric->ends();
        attack.cluster.post_all();
        const auto faults = draw_faults(net, {.seed = seed, .count = 8, .until = 40'000'000});
        FaultInjector injector(faults, seed);
        // Strangers send a share of the packets before each fault; these go on during it.
        const auto volley = [&](auto&) {
            for (std::uint64_t i = 0; i < kPerCluster / 17; ++i) {
                attack.shoot_one();
            }
            attack.open_all();
        };
        attack.flood();
        injector.run(attack.cluster.fabric->net(), 60'000'000, volley);
        attack.cluster.fabric->net().run();
        attack.cluster.expect_all_done();
        expect_counted(net);
        EXPECT_EQ(ends.accepted, 0U);
        EXPECT_EQ(ends.shot, ends.delivered + ends.gone);
        const EngineStats& stats = net.stats();
        EXPECT_EQ(stats.injected, stats.delivered + stats.discarded + stats.lost);
        if (testing::Test::HasFailure()) {
            return;
        }
        shot += ends.shot;
        unknown += ends.unknown();
        for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
            const Odd odd = net.plant().odd_counts(port);
            sums.malformed_packet_errors += odd.malformed_packet_errors;
            sums.local_physical_errors += odd.local_physical_errors;
            sums.rcv_remote_physical_errors += odd.rcv_remote_physical_errors;
            sums.dlid_mapping_errors += odd.dlid_mapping_errors;
            sums.looping_errors += odd.looping_errors;
            sums.inactive_discards += odd.inactive_discards;
            sums.vl15_dropped += odd.vl15_dropped;
        }
        for (std::size_t i = 0; i < counted.size(); ++i) {
            counted[i] += attack.cluster.count(static_cast<hca::Counted>(i));
        }
    }
    // Each kind of error came up.
    EXPECT_GT(sums.malformed_packet_errors, 0U);
    EXPECT_GT(sums.local_physical_errors, 0U);
    EXPECT_GT(sums.rcv_remote_physical_errors, 0U);
    EXPECT_GT(sums.dlid_mapping_errors, 0U);
    EXPECT_GT(sums.looping_errors, 0U);
    EXPECT_GT(sums.inactive_discards, 0U);
    EXPECT_GT(sums.vl15_dropped, 0U);
    EXPECT_GT(unknown, 0U);
    using enum hca::Counted;
    for (const hca::Counted what : {kBadLid, kBadGrh, kNoQp, kWrongService, kWrongState, kBadPKey,
                                    kBadQKey, kOutOfSequence, kAccessViolation}) {
        EXPECT_GT(counted[static_cast<std::size_t>(what)], 0U) << hca::to_string(what);
    }
}

}  // namespace
}  // namespace softib::net
