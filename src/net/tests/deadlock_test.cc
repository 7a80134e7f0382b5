// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/routing/verifier.h"
#include "core/topo/spec.h"
#include "net/tests/test_fabrics.h"

namespace softib::net {
namespace {

/// Returns six switches in a ring, whose hosts each send to the one two places on: all packets go
/// round the same way.
std::unique_ptr<TestFabric> ring_of_six(const std::string& engine) {
    auto fabric = make_fabric(ring(6), engine, {.data_vls = 4, .buffer_bytes = 8192});
    send_shift(*fabric, 2, 400'000);
    return fabric;
}

TEST(Deadlock, CyclicRoutesOnARingStopAndTheCycleIsNamed) {
    const auto fabric = ring_of_six("minhop");
    ASSERT_FALSE(routing::verify(fabric->graph(), fabric->tables()).acyclic());
    fabric->net().run();
    ASSERT_TRUE(fabric->engine().idle());
    ASSERT_GT(fabric->ends().unfinished(), 0U);
    const Deadlock found = Inspector(fabric->engine()).find_deadlock();
    ASSERT_TRUE(found.any());
    EXPECT_EQ(found.cycle.size(), 6U) << found.text;
    EXPECT_TRUE(found.without_cause.empty());
    for (std::size_t i = 0; i < found.cycle.size(); ++i) {
        // Each link of the cycle ends where the next begins.
        const Plant& plant = fabric->engine().plant();
        const Stuck& next = found.cycle[(i + 1) % found.cycle.size()];
        EXPECT_EQ(plant.node_of(plant.peer(found.cycle[i].link)), plant.node_of(next.link));
    }
    EXPECT_NE(found.text.find("has no credits"), std::string::npos) << found.text;
    expect_sound(*fabric);  // Stuck, but nothing is lost.
}

TEST(Deadlock, DatelinesKeepTheSameRingMoving) {
    const auto fabric = ring_of_six("dor");
    ASSERT_TRUE(routing::verify(fabric->graph(), fabric->tables()).acyclic());
    EXPECT_GT(fabric->tables().vls, 1);
    for (TimePs at = 1'000'000; !fabric->engine().idle(); at += 1'000'000) {
        fabric->net().run(at);
        const Deadlock found = Inspector(fabric->engine()).find_deadlock();
        ASSERT_FALSE(found.any()) << found.text;
    }
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
    expect_sound(*fabric);
}

TEST(Deadlock, MinhopOnATorusStopsAndAcyclicEnginesDoNot) {
    const topo::Spec torus{.shape = topo::Shape::kTorus, .hosts = 50, .dimensions = {5, 5}};
    for (const auto& [engine, stops] :
         {std::pair{"minhop", true}, {"dor", false}, {"updn", false}, {"nue", false}}) {
        const auto fabric = make_fabric(torus, engine, {.data_vls = 4, .buffer_bytes = 4224},
                                        {.packet_bytes = 4096, .ack_bytes = 0});
        for (const std::uint32_t shift : {4U, 14U, 22U, 26U}) {
            send_shift(*fabric, shift, 400'000);
        }
        fabric->net().run();
        EXPECT_EQ(Inspector(fabric->engine()).find_deadlock().any(), stops) << engine;
        EXPECT_EQ(fabric->ends().unfinished() != 0, stops) << engine;
    }
}

/// Tries random routes: where the verifier finds no loop nothing stops, and where something stops
/// the verifier has found a loop.
TEST(Deadlock, HappensOnlyWhereTheVerifierFindsALoop) {
    std::uint32_t stopped = 0;
    for (std::uint64_t seed = 1; seed <= effort(12U, 4U); ++seed) {
        const topo::Spec specs[] = {
            {.shape = topo::Shape::kTorus, .hosts = 36, .dimensions = {6, 6}},
            {.shape = topo::Shape::kTorus, .hosts = 27, .dimensions = {3, 3, 3}},
            {.shape = topo::Shape::kDragonfly,
             .hosts = 36,
             .hosts_per_switch = 1,
             .groups = 9,
             .switches_per_group = 4},
            {.shape = topo::Shape::kFatTree, .hosts = 32, .radix = 8, .levels = 2},
        };
        for (const topo::Spec& spec : specs) {
            for (const char* engine : {"minhop", "updn", "nue"}) {
                const auto fabric = make_fabric(spec, engine, {.data_vls = 4, .buffer_bytes = 4224},
                                                {.ack_bytes = 0});
                Prng prng(seed);
                for (std::uint32_t i = 0; i < 3 * fabric->host_count(); ++i) {
                    const auto to = static_cast<std::uint32_t>(prng.below(fabric->host_count()));
                    send(*fabric, i % fabric->host_count(), to, 100'000);
                }
                fabric->net().run();
                const bool stuck = Inspector(fabric->engine()).find_deadlock().any();
                EXPECT_EQ(stuck, fabric->ends().unfinished() != 0);
                const auto report =
                    routing::verify(fabric->graph(), fabric->tables(),
                                    {.shifts_max = 0, .shift_samples = 0, .random_samples = 0});
                EXPECT_FALSE(stuck && report.acyclic())
                    << topo::to_string(spec.shape) << ' ' << engine << " seed " << seed;
                stopped += stuck ? 1 : 0;
            }
        }
    }
    EXPECT_GT(stopped, 0U);  // Otherwise the test has shown nothing.
}

TEST(Deadlock, IsSeenWhileOtherTrafficStillRuns) {
    const auto fabric = ring_of_six("minhop");
    fabric->net().run(200'000'000);
    fabric->engine().set_timer(fabric->port(0), 400'000'000, 0);
    EXPECT_FALSE(fabric->engine().idle());
    EXPECT_TRUE(Inspector(fabric->engine()).find_deadlock().any());
}

TEST(Deadlock, AFullFabricThatMovesIsNone) {
    const auto fabric = make_fabric(tree(32, 8), "ftree", {.buffer_bytes = 8192});
    for (std::uint32_t i = 1; i < 32; ++i) {
        send(*fabric, i, 0, 200'000);
    }
    for (TimePs at = 1'000'000; !fabric->engine().idle(); at += 5'000'000) {
        fabric->net().run(at);
        ASSERT_FALSE(Inspector(fabric->engine()).find_deadlock().any());
    }
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
}

}  // namespace
}  // namespace softib::net
