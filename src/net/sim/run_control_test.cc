// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/run_control.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/topo/spec.h"
#include "net/sim/failures.h"

namespace softib::net {
namespace {

/// Notes what it is made to do.
struct NotedRun {
    std::uint64_t all_hops() const { return 0; }
    std::uint64_t all_ports() const { return 1; }
    Engine& running() { return engine; }
    void fail(const Hop& what) {
        failed.push_back(what);
        take_out(fabric, what);
    }
    const topo::Fabric& damaged() const { return fabric; }
    void take_routes(Routed routed) { routes.push_back(std::move(routed)); }

    topo::Fabric fabric =
        *topo::generate({.shape = topo::Shape::kTorus, .hosts = 4, .dimensions = {4}});
    Engine engine{fabric, {}};
    std::vector<Hop> failed;
    std::vector<Routed> routes;
};

TEST(RunControl, WithoutChangesNothingIsDueHoweverLongARunLasts) {
    const RunControl control({}, {}, 1);
    EXPECT_FALSE(control.has_changes());
    EXPECT_FALSE(control.change_due(kNever));
}

TEST(RunControl, AChangeIsDueFromItsTimeOn) {
    const RunControl control({{.at = 500, .repair = true, .what = {}}}, {}, 1);
    EXPECT_TRUE(control.has_changes());
    EXPECT_FALSE(control.change_due(499));
    EXPECT_TRUE(control.change_due(500));
    EXPECT_TRUE(control.change_due(kNever));
    EXPECT_EQ(control.next_stop(400), 400U);
    EXPECT_EQ(control.next_stop(kNever), 500U);
}

TEST(RunControl, ARunFailsAndThenGetsRoutesOfWhatIsLeft) {
    NotedRun run;
    const Hop cable = cables_between_switches(run.fabric).front();
    RunControl control(
        {{.at = 500, .repair = false, .what = cable}, {.at = 900, .repair = true, .what = {}}},
        {.options = {}, .engines = {"minhop"}, .notes = {}}, run.engine.plant().port_count());
    control.stop(499, run);
    EXPECT_TRUE(run.failed.empty());
    control.stop(500, run);
    EXPECT_EQ(run.failed, std::vector<Hop>{cable});
    EXPECT_TRUE(run.routes.empty());
    control.stop(900, run);
    ASSERT_EQ(run.routes.size(), 1U);
    EXPECT_EQ(cables_between_switches(run.routes[0].topology).size(), 3U);
    EXPECT_FALSE(control.change_due(kNever));
}

}  // namespace
}  // namespace softib::net
