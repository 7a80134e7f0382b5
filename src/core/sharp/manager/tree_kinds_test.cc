// SPDX-License-Identifier: BSD-2-Clause
// Tests of low-latency trees (LLT) and streaming trees (SAT): which jobs get which kind, and how
// many there are.
#include <gtest/gtest.h>

#include "core/sharp/manager/test_subnet.h"
#include "core/topo/spec.h"

namespace softib::sharp {
namespace {

topo::Spec one_leaf() {
    return {.shape = topo::Shape::kFatTree, .hosts = 8, .radix = 16};
}

constexpr JobQuota kSmall{.osts = 8, .payload_bytes = 256, .groups = 2};

const AggregationTables::Tree* tree_of(Subnet& subnet, JobId job) {
    const JobState& state = *subnet.manager.job(job);
    return subnet.tables().at(state.plan.nodes[0].lid).tree(state.tree_id);
}

TEST(SharpTreeKinds, AJobGetsTheKindThatItAsksFor) {
    Subnet subnet(one_leaf());
    const JobId stream = subnet.make_job(subnet.hosts(), kSmall, true);
    const JobId datagrams = subnet.make_job(subnet.hosts(), kSmall, false);
    EXPECT_TRUE(subnet.manager.job(stream)->streams);
    EXPECT_FALSE(subnet.manager.job(datagrams)->streams);
    EXPECT_EQ(tree_of(subnet, stream)->mode, wire::SharpTreeConfig::Mode::kSat);
    EXPECT_EQ(tree_of(subnet, datagrams)->mode, wire::SharpTreeConfig::Mode::kLlt);
}

TEST(SharpTreeKinds, EachHasItsOwnLimit) {
    Subnet subnet(one_leaf());
    subnet.manager = Manager({.llt_trees_max = 2, .sat_trees_max = 1, .answer_timeout_ns = 1000});
    subnet.route();
    const auto error_of = [&](bool streams) {
        return subnet.manager.job(subnet.make_job(subnet.hosts(), kSmall, streams))->error;
    };
    const JobId first = subnet.make_job(subnet.hosts(), kSmall, true);
    ASSERT_EQ(subnet.manager.job(first)->phase, JobState::kActive);
    EXPECT_EQ(error_of(true), Error::kNoResource);
    EXPECT_EQ(error_of(false), Error::kNone);
    EXPECT_EQ(error_of(false), Error::kNone);
    EXPECT_EQ(error_of(false), Error::kNoResource);
    subnet.manager.end_job(first);
    subnet.pump();
    EXPECT_EQ(error_of(false), Error::kNoResource) << "that was one of the other kind";
    EXPECT_EQ(error_of(true), Error::kNone);
}

TEST(SharpTreeKinds, OnlyAStreamingTreeHasLocksAndOneAtATimeHasAPort) {
    Subnet subnet(one_leaf());
    const JobId first = subnet.make_job(subnet.hosts(), kSmall, true);
    const JobId second = subnet.make_job(subnet.hosts(), kSmall, true);
    const JobId datagrams = subnet.make_job(subnet.hosts(), kSmall, false);
    const std::vector<std::uint32_t> pair{0, 1};
    const GroupId of_first = subnet.make_group(first, pair);
    const GroupId of_second = subnet.make_group(second, pair);
    const GroupId of_datagrams = subnet.make_group(datagrams, pair);
    EXPECT_EQ(subnet.manager.lock_group(datagrams, of_datagrams), Error::kLockDenied);
    for (const auto& [job, group] : {std::pair(first, of_first), std::pair(second, of_second)}) {
        EXPECT_EQ(subnet.manager.lock_group(job, group), Error::kNone);
        subnet.pump();
    }
    EXPECT_EQ(subnet.manager.job(first)->groups.at(of_first).lock, GroupState::kLocked);
    EXPECT_EQ(subnet.manager.job(second)->groups.at(of_second).lock, GroupState::kRefused);
}

TEST(SharpTreeKinds, SwitchesThatCannotStreamGiveLowLatencyTrees) {
    wire::SharpAnInfo info = default_an_info();
    info.streaming_supported = false;
    Subnet subnet(one_leaf(), info);
    const JobId job = subnet.make_job(subnet.hosts(), kSmall, true);
    ASSERT_EQ(subnet.manager.job(job)->phase, JobState::kActive);
    EXPECT_FALSE(subnet.manager.job(job)->streams);
    const GroupId group = subnet.make_group(job, {0, 1});
    EXPECT_EQ(subnet.manager.lock_group(job, group), Error::kLockDenied);
}

}  // namespace
}  // namespace softib::sharp
