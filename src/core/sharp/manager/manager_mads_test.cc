// SPDX-License-Identifier: BSD-2-Clause
// Tests of the manager when answers are lost, and when nodes belong to another manager.
#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "core/sharp/manager/test_subnet.h"

namespace softib::sharp {
namespace {

TEST(SharpManager, AnAnswerThatIsLostCostsNoQueuePair) {
    Subnet subnet({.shape = topo::Shape::kFatTree, .hosts = 16, .radix = 8});
    subnet.loses = 2;
    const JobId job = subnet.make_job(subnet.hosts());
    ASSERT_EQ(subnet.manager.job(job)->phase, JobState::kActive);
    std::size_t planned = 0;
    for (const JobState::NodeQps& node : subnet.manager.job(job)->qps) {
        planned += node.children.size() + (node.to_parent == Qpn{} ? 0 : 1);
    }
    std::size_t given = 0;
    for (const auto& [lid, tables] : subnet.tables()) {
        given += tables.qp_count();
    }
    EXPECT_EQ(given, planned);
    subnet.manager.end_job(job);
    subnet.pump();
    EXPECT_TRUE(subnet.is_clean());
}

TEST(SharpManager, AFatTreeThatLacksCablesHasATreeOfItsRoutes) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Subnet subnet({.shape = topo::Shape::kFatTree, .hosts = 54, .radix = 6, .levels = 3});
        Prng prng(seed);
        for (std::uint32_t node = 0; node < subnet.fabric().nodes.size(); ++node) {
            const topo::Node& at = subnet.fabric().nodes[node];
            // Most leaves and spines lose one of their three cables upwards.
            if (at.kind == topo::NodeKind::kSwitch && at.level < 2 && prng.chance(2, 3)) {
                routing::unplug(subnet.fabric(), node,
                                static_cast<std::uint8_t>(4 + prng.below(3)));
            }
        }
        subnet.route();
        const JobId job = subnet.make_job(subnet.hosts());
        ASSERT_EQ(subnet.manager.job(job)->phase, JobState::kActive) << "seed " << seed;
        std::vector<std::uint32_t> members(subnet.hosts().size());
        for (std::uint32_t i = 0; i < members.size(); ++i) {
            members[i] = i;
        }
        const auto walked = subnet.walk(job, subnet.make_group(job, members));
        ASSERT_TRUE(walked) << "seed " << seed << ": " << walked.error();
        EXPECT_GE(subnet.manager.job(job)->plan.depth, 3U);
    }
}

TEST(SharpManager, ASwitchThatWasCutOffIsCleanedWhenItAnswersAgain) {
    Subnet subnet({.shape = topo::Shape::kFatTree, .hosts = 4, .radix = 4});
    const JobId job = subnet.make_job(subnet.hosts());
    const GroupId group = subnet.make_group(job, {0, 1, 2, 3});
    ASSERT_EQ(subnet.manager.lock_group(job, group), Error::kNone);
    subnet.pump();
    const std::uint16_t tree = subnet.manager.job(job)->tree_id;
    subnet.silent = subnet.manager.job(job)->plan.nodes.back().lid;
    subnet.manager.fail_job(job, Error::kFailed, "a member is gone");
    subnet.pump();
    subnet.manager.end_job(job);
    EXPECT_FALSE(subnet.is_clean()) << "one did not hear of it";

    subnet.silent = Lid{0};
    const JobId other = subnet.make_job({subnet.hosts()[0]});
    EXPECT_NE(subnet.manager.job(other)->tree_id, tree) << "not before all switches are without it";
    subnet.manager.end_job(other);
    subnet.pump();
    ASSERT_NE(subnet.manager.next_timeout_ns(), UINT64_MAX);
    subnet.pump(subnet.manager.next_timeout_ns());
    EXPECT_TRUE(subnet.is_clean());
    EXPECT_EQ(subnet.manager.next_timeout_ns(), UINT64_MAX) << "it comes to rest";
    EXPECT_EQ(subnet.manager.job(subnet.make_job(subnet.hosts()))->tree_id, tree);
}

TEST(SharpManager, ConnectionsOfTwoJobsDifferInTheirNumbersAndTheirFirstPsn) {
    Subnet subnet({.shape = topo::Shape::kFatTree, .hosts = 4, .radix = 4});
    const auto contexts = [&] {
        const JobId job = subnet.make_job(subnet.hosts());
        const Lid root = subnet.manager.job(job)->plan.nodes[0].lid;
        const auto made = subnet.tables().at(root).qps();
        subnet.manager.end_job(job);
        subnet.pump();
        return made;
    };
    const auto first = contexts();
    const auto second = contexts();
    ASSERT_FALSE(first.empty());
    for (const auto& [qpn, context] : first) {
        EXPECT_FALSE(second.contains(qpn)) << "packets of the first job may be on their way";
        EXPECT_NE(second.begin()->second.sq_psn, context.sq_psn);
        EXPECT_EQ(context.sq_psn, context.rq_psn);
    }
}

TEST(SharpManager, NodesAreItsOwnByItsKey) {
    Subnet subnet({.shape = topo::Shape::kFatTree, .hosts = 8, .radix = 8});
    subnet.manager = Manager({.answer_timeout_ns = 1000, .am_key = 0xABC});
    subnet.route();
    const JobId job = subnet.make_job(subnet.hosts());
    ASSERT_EQ(subnet.manager.job(job)->phase, JobState::kActive);
    // Another manager, which does not know the key, gets nothing and changes nothing.
    const auto before = subnet.tables();
    subnet.manager = Manager({.answer_timeout_ns = 1000, .am_key = 0xDEF});
    subnet.route();
    const JobId other = subnet.make_job(subnet.hosts());
    EXPECT_EQ(subnet.manager.job(other)->error, Error::kNoTree);
    EXPECT_TRUE(subnet.tables() == before);
}

}  // namespace
}  // namespace softib::sharp
