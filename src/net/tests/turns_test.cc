// SPDX-License-Identifier: BSD-2-Clause
// The order of packets: inputs of a switch take turns, and nothing depends on the order in which
// flows were started.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "net/tests/test_fabrics.h"

namespace softib::net {
namespace {

/// Records the senders of packets in the order of arrival.
struct Listeners {
    static constexpr unsigned kHears = hears::kNothingElse;
    void deliver(Engine&, std::uint32_t, const Packet& packet) { from.push_back(packet.slid); }
    void sent(Engine&, std::uint32_t, const Packet&) {}
    void timer(Engine&, std::uint32_t, std::uint32_t) {}
    std::vector<std::uint16_t> from;
};
static_assert(Ends<Listeners>);

/// The packets of one host of a star to the last host.
struct Flow {
    std::uint32_t packets;
    std::uint16_t bytes;
};

std::vector<std::uint16_t> arrivals(const std::vector<Flow>& flows) {
    const auto hosts = static_cast<std::uint32_t>(flows.size() + 1);
    auto routed = Routed::make(*topo::generate(star(hosts)), "minhop", 1);
    EXPECT_TRUE(routed);
    Fabric<Listeners> fabric(*std::move(routed), {.data_vls = 1}, 0);
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
        for (std::uint32_t n = 0; n < flows[i].packets; ++n) {
            fabric.engine().inject(fabric.port(i), {.dlid = fabric.lid(hosts - 1).value,
                                                    .slid = static_cast<std::uint16_t>(i),
                                                    .bytes = flows[i].bytes});
        }
    }
    fabric.net().run();
    EXPECT_EQ(lines(Inspector(fabric.engine()).check_credits()), "");
    return fabric.ends().from;
}

std::vector<std::ptrdiff_t> shares(const std::vector<std::uint16_t>& from, std::size_t begin,
                                   std::size_t end, std::uint16_t flows) {
    std::vector<std::ptrdiff_t> count;
    for (std::uint16_t i = 0; i < flows; ++i) {
        count.push_back(std::count(from.begin() + static_cast<std::ptrdiff_t>(begin),
                                   from.begin() + static_cast<std::ptrdiff_t>(end), i));
    }
    return count;
}

/// Inputs that always have something to send get equal shares in bytes, however long their packets.
TEST(Turns, InputsShareAlike) {
    std::vector<Flow> flows;
    for (std::uint16_t i = 0; i < 8; ++i) {
        flows.push_back({480U / (i + 1U), static_cast<std::uint16_t>(512 * (i + 1))});
    }
    const auto from = arrivals(flows);
    std::vector<double> bytes(8);
    double sum = 0;
    for (std::size_t i = 100; sum < 1'000'000 && i < from.size(); ++i) {
        bytes[from[i]] += flows[from[i]].bytes;
        sum += flows[from[i]].bytes;
    }
    ASSERT_GE(sum, 1'000'000);
    for (const double share : bytes) {
        EXPECT_NEAR(share / sum, 1.0 / 8, 0.02);
    }
}

/// Inputs send one packet at a time where packets are as long as a turn.
TEST(Turns, LongPacketsAlternate) {
    const auto from = arrivals({{60, 4096}, {60, 4096}, {60, 4096}});
    ASSERT_EQ(from.size(), 180U);
    for (const std::ptrdiff_t count : shares(from, 30, 90, 3)) {
        EXPECT_EQ(count, 20);
    }
    for (std::size_t i = 31; i < 90; ++i) {
        EXPECT_NE(from[i], from[i - 1]) << i;
    }
}

/// An input that sends little gets its turn at once, whatever the others have queued.
TEST(Turns, ALateComerIsNotPutBehindABacklog) {
    const auto fabric = make_fabric(star(4), "minhop", {.data_vls = 1}, {.ack_bytes = 0});
    send(*fabric, 0, 3, 400 * 4096);
    send(*fabric, 1, 3, 400 * 4096);
    fabric->net().run(20'000'000);
    send(*fabric, 2, 3, 4096);
    fabric->net().run();
    // By then 16 packets of each of the other hosts are in the switch, which take 2.6 us.
    EXPECT_LT(fabric->ends().flows()[2].done_at, 20'000'000U + 700'000U);
    expect_sound(*fabric);
}

/// The order of events is total: whichever flow is started first, the run is the same.
TEST(Turns, TheOrderOfInsertionChangesNothing) {
    const auto hash = [](std::uint64_t seed, bool adaptive) {
        const auto fabric =
            make_fabric(tree(32, 8), "ftree", {.data_vls = 4, .buffer_bytes = 16'384},
                        {.flags = adaptive ? packet_flag::kAdaptive : std::uint8_t{0}});
        Engine& net = fabric->engine();
        if (adaptive) {
            EXPECT_TRUE(fabric->use_adaptive_routing());
        }
        for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
            if (net.plant().connected(port) && net.plant().peer(port) != port) {
                net.ports().set_errors(
                    port, {.lost_ppm = 500, .broken_ppm = 500, .inside_ppm = 500, .seed = 3});
            }
        }
        std::vector<std::uint32_t> hosts(fabric->host_count());
        std::iota(hosts.begin(), hosts.end(), 0U);
        Prng prng(seed);
        for (std::size_t i = hosts.size(); i > 1; --i) {
            std::swap(hosts[i - 1], hosts[prng.below(i)]);
        }
        for (const std::uint32_t i : hosts) {
            fabric->ends().start(net, fabric->port(i), fabric->lid(i),
                                 fabric->lid((i * 5 + 3) % 32), 400'000,
                                 static_cast<std::uint8_t>(i % 4));
        }
        fabric->net().run();
        expect_sound(*fabric);
        return std::pair(net.stats().log_hash, net.stats().hops);
    };
    for (const bool adaptive : {false, true}) {
        const auto first = hash(1, adaptive);
        for (std::uint64_t seed = 2; seed < 8; ++seed) {
            EXPECT_EQ(hash(seed, adaptive), first) << seed;
        }
    }
}

}  // namespace
}  // namespace softib::net
