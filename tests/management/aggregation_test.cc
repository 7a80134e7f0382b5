// SPDX-License-Identifier: BSD-2-Clause
// The aggregation manager on a host's port: all that it knows of the fabric comes from the SA and
// from the switches' aggregation nodes, by MADs.
#include <gtest/gtest.h>

#include <numeric>

#include "aggregation_rig.h"
#include "core/base/prng.h"
#include "core/topo/spec.h"

namespace softib::sharp {
namespace {

topo::Spec two_level_tree() {
    return {.shape = topo::Shape::kFatTree, .hosts = 16, .radix = 8};
}

std::vector<std::uint32_t> all_of(std::uint32_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    return all;
}

TEST(Aggregation, AJobHasATreeOnTheRoutesThatTheSaTells) {
    AggregationRig rig(two_level_tree());
    const JobId job = rig.make_job(all_of(16));
    const JobState& state = *rig.service.manager().job(job);
    ASSERT_EQ(state.phase, JobState::kActive) << state.reason;
    EXPECT_EQ(state.plan.depth, 2U);
    EXPECT_EQ(rig.service.manager().nodes().size(), rig.switches().size());
    const Lid root = state.plan.nodes[0].lid;
    for (const TreePlan::Node& node : state.plan.nodes) {
        const agent::Node& at = rig.mesh.node(rig.node_of(node.guid));
        EXPECT_TRUE(at.aggregation()->tree(state.tree_id));
        if (node.parent != TreePlan::kRoot) {
            EXPECT_EQ(at.forward(root), node.port_to_parent) << "as the switch itself";
        }
    }
    rig.service.manager().end_job(job);
    rig.run();
    EXPECT_EQ(rig.trees(), 0U);
}

TEST(Aggregation, ALostCableEndsTheJobAndTheNextOneGoesAround) {
    AggregationRig rig(two_level_tree());
    const JobId job = rig.make_job(all_of(16));
    const JobState& state = *rig.service.manager().job(job);
    ASSERT_EQ(state.phase, JobState::kActive) << state.reason;
    const TreePlan::Node leaf = state.plan.nodes[1];
    rig.mesh.set_plugged({rig.node_of(leaf.guid), leaf.port_to_parent}, false);
    rig.run();
    rig.wait(3'000'000'000);
    EXPECT_EQ(state.phase, JobState::kFailed) << "the SA has reported it";
    EXPECT_EQ(state.error, Error::kConnectTree);
    EXPECT_EQ(rig.trees(), 0U);
    const JobState& next = *rig.service.manager().job(rig.make_job(all_of(16)));
    ASSERT_EQ(next.phase, JobState::kActive) << next.reason;
    const bool uses_it = std::ranges::any_of(next.plan.nodes, [&](const TreePlan::Node& node) {
        return node.guid == leaf.guid && node.port_to_parent == leaf.port_to_parent;
    });
    EXPECT_FALSE(uses_it);
}

TEST(Aggregation, ALostSwitchIsAskedAgainWhenItIsBack) {
    AggregationRig rig(two_level_tree());
    const JobId job = rig.make_job(all_of(16));
    const Guid root = rig.service.manager().job(job)->plan.nodes[0].guid;
    ASSERT_NE(rig.node_of(root), rig.switches()[0]) << "where the subnet manager is";
    rig.mesh.set_powered(rig.node_of(root), false);
    rig.wait(10'000'000'000);
    EXPECT_EQ(rig.service.manager().job(job)->phase, JobState::kFailed);
    EXPECT_FALSE(rig.service.manager().nodes().contains(root));
    rig.service.manager().end_job(job);
    rig.mesh.set_powered(rig.node_of(root), true);
    rig.wait(10'000'000'000);
    const JobState& next = *rig.service.manager().job(rig.make_job(all_of(16)));
    ASSERT_EQ(next.phase, JobState::kActive) << next.reason;
    EXPECT_TRUE(rig.service.manager().nodes().contains(root));
    EXPECT_EQ(rig.trees(), next.plan.nodes.size()) << "what could not be taken from it is gone";
}

TEST(Aggregation, WithoutASubnetAdministrationAJobHasNoTree) {
    AggregationRig rig(two_level_tree());
    rig.subnet.reset();
    const JobId job = rig.make_job(all_of(16));
    EXPECT_EQ(rig.service.manager().job(job)->phase, JobState::kConfiguring);
    rig.wait(10'000'000'000);
    EXPECT_EQ(rig.service.manager().job(job)->error, Error::kNoTree);
    EXPECT_NE(rig.service.manager().job(job)->reason.find("does not answer"), std::string::npos);
}

TEST(Aggregation, AManagerThatComesAfterAnotherTakesItsTreesAway) {
    AggregationRig rig(two_level_tree());
    ASSERT_EQ(rig.service.manager().job(rig.make_job(all_of(16)))->phase, JobState::kActive);
    ASSERT_NE(rig.trees(), 0U);
    rig.replace_manager();
    const JobState& job = *rig.service.manager().job(rig.make_job({0, 1}));
    ASSERT_EQ(job.phase, JobState::kActive) << job.reason;
    EXPECT_EQ(rig.trees(), job.plan.nodes.size());
}

constexpr std::uint8_t kFailedCode = 1;

TEST(Aggregation, AJobIsMadeByMads) {
    using Op = wire::SharpJob::Op;
    AggregationRig rig(two_level_tree());
    const std::uint32_t job =
        rig.ask({.op = Op::kCreateJob, .streams = true, .size = 4, .key = 77}).job;
    ASSERT_NE(job, 0U);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        const auto joined = rig.ask({.op = Op::kJoinJob,
                                     .job = job,
                                     .rank = rank,
                                     .lid = rig.lid(rank * 5),
                                     .qpn = Qpn{0x800000 + rank}});
        EXPECT_EQ(joined.error, 0U);
    }
    const wire::SharpJob started = rig.ask({.op = Op::kStartJob, .job = job});
    ASSERT_EQ(started.error, 0U);
    EXPECT_EQ(started.depth, 2U);
    EXPECT_TRUE(started.streams);
    EXPECT_NE(started.osts, 0U) << "the quota that it was given";
    for (const std::uint32_t sw : rig.switches()) {
        EXPECT_EQ(rig.mesh.node(sw).aggregation()->manager_lid(), rig.lid(0));
    }
    const std::uint32_t group = rig.ask({.op = Op::kCreateGroup, .job = job, .size = 2}).group;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(rig.ask({.op = Op::kJoinGroup,
                           .job = job,
                           .group = group,
                           .rank = rank,
                           .member = rank + 1})
                      .error,
                  0U);
    }
    EXPECT_EQ(rig.ask({.op = Op::kStartGroup, .job = job, .group = group}).error, 0U);
    EXPECT_EQ(rig.ask({.op = Op::kLockGroup, .job = job, .group = group}).error, 0U);
    EXPECT_EQ(rig.service.manager().job(job)->groups.at(group).lock, GroupState::kLocked);
    EXPECT_EQ(rig.ask({.op = Op::kEndGroup, .job = job, .group = group}).error, 0U);
    EXPECT_EQ(rig.ask({.op = Op::kEndJob, .job = job}).error, 0U);
    rig.run();
    EXPECT_EQ(rig.trees(), 0U);
}

TEST(Aggregation, AJobThatNobodyAsksForAnyMoreIsOver) {
    using Op = wire::SharpJob::Op;
    AggregationRig rig(two_level_tree());
    const std::uint32_t job = rig.ask({.op = Op::kCreateJob, .size = 1}).job;
    rig.ask({.op = Op::kJoinJob, .job = job, .lid = rig.lid(3), .qpn = Qpn{9}});
    EXPECT_EQ(rig.ask({.op = Op::kStartJob, .job = job}).error, 0U);
    for (int i = 0; i < 3; ++i) {
        rig.wait(8'000'000'000);
        EXPECT_EQ(rig.ask({.op = Op::kKeepAlive, .job = job}).error, 0U);
    }
    ASSERT_NE(rig.trees(), 0U);
    rig.wait(11'000'000'000);
    EXPECT_EQ(rig.trees(), 0U);
    EXPECT_EQ(rig.ask({.op = Op::kKeepAlive, .job = job}).error, kFailedCode);
}

TEST(Aggregation, ARequestThatComesAgainIsDoneOnceAndAJobIsItsCreators) {
    using Op = wire::SharpJob::Op;
    AggregationRig rig(two_level_tree());
    JobClient other;
    other.ask(1, rig.lid(0), {.op = Op::kCreateJob, .size = 2});
    const auto request = other.poll_transmit(0);
    ASSERT_TRUE(request);
    for (int i = 0; i < 3; ++i) {
        rig.desk.handle({.lid = rig.lid(2)}, request->mad, rig.now_ns);
        other.handle(*rig.desk.poll_transmit());
    }
    EXPECT_EQ(rig.service.manager().jobs().size(), 1U);
    const std::uint32_t job = other.take(1)->job;
    EXPECT_EQ(rig.ask({.op = Op::kJoinJob, .job = job, .lid = rig.lid(1)}).error, kFailedCode);
    rig.ask({.op = Op::kEndJob, .job = job});
    EXPECT_EQ(rig.service.manager().jobs().size(), 1U);
}

TEST(Aggregation, WhoeverAsksForAnythingGetsAnAnswerAndLeavesNothing) {
    AggregationRig rig(two_level_tree());
    Prng prng(1);
    const auto near = [&](std::uint32_t most) {
        return static_cast<std::uint32_t>(prng.chance(1, 50) ? prng.next() : prng.below(most));
    };
    for (int i = 0; i < 3000; ++i) {
        wire::SharpJob request{.op = static_cast<wire::SharpJob::Op>(near(11)),
                               .streams = prng.chance(1, 2),
                               .job = near(6),
                               .group = near(6),
                               .size = near(4),
                               .rank = near(4),
                               .member = near(4),
                               .lid = rig.lid(static_cast<std::uint32_t>(prng.below(16))),
                               .qpn = Qpn{near(100)},
                               .osts = near(100),
                               .groups = near(10)};
        rig.client.ask(1, rig.lid(0), request);
        rig.run();
        ASSERT_TRUE(rig.client.take(1)) << i;
    }
    rig.wait(20'000'000'000);
    EXPECT_TRUE(rig.service.manager().jobs().empty());
    EXPECT_EQ(rig.trees(), 0U);
}

}  // namespace
}  // namespace softib::sharp
