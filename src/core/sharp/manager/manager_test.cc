// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/routing/engine.h"
#include "core/routing/test_graphs.h"
#include "core/sharp/aggregation_node.h"
#include "core/sharp/manager/test_subnet.h"
#include "core/sharp/tree_walk.h"
#include "core/topo/spec.h"
#include "core/wire/sharp/sharp_qp_allocation.h"

namespace softib::sharp {
namespace {

topo::Spec small_tree() {
    return {.shape = topo::Shape::kFatTree, .hosts = 32, .radix = 8, .levels = 2};
}
topo::Spec tall_tree() {
    return {.shape = topo::Shape::kFatTree, .hosts = 54, .radix = 6, .levels = 3};
}

std::vector<std::uint32_t> everybody(std::size_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    return all;
}

TEST(SharpManager, AJobUnderOneLeafHasATreeOfOneSwitch) {
    Subnet subnet(small_tree());
    const JobId job = subnet.make_job({subnet.hosts()[0], subnet.hosts()[1], subnet.hosts()[2]});
    ASSERT_EQ(subnet.manager.job(job)->phase, JobState::kActive);
    EXPECT_EQ(subnet.manager.job(job)->plan.nodes.size(), 1U);
    EXPECT_EQ(subnet.manager.job(job)->plan.depth, 1U);
}

TEST(SharpManager, ATreeIsAsDeepAsTheRoutesNeed) {
    for (const auto& [spec, depth] : {std::pair(small_tree(), 2U), std::pair(tall_tree(), 3U)}) {
        Subnet subnet(spec);
        const JobId job = subnet.make_job(subnet.hosts());
        ASSERT_EQ(subnet.manager.job(job)->phase, JobState::kActive);
        EXPECT_EQ(subnet.manager.job(job)->plan.depth, depth);
    }
}

TEST(SharpManager, TreesSpreadOverTheSpines) {
    Subnet subnet(small_tree());
    std::set<Guid> roots;
    for (int i = 0; i < 4; ++i) {
        const JobId job = subnet.make_job(subnet.hosts());
        roots.insert(subnet.manager.job(job)->plan.nodes[0].guid);
    }
    EXPECT_EQ(roots.size(), 4U);
}

TEST(SharpManager, TheSwitchesLeadToEveryMember) {
    Subnet subnet(tall_tree());
    const JobId job = subnet.make_job(subnet.hosts());
    const GroupId whole = subnet.make_group(job, everybody(54));
    const GroupId some = subnet.make_group(job, {3, 1, 50, 20});
    const auto tree = subnet.walk(job, whole);
    ASSERT_TRUE(tree) << tree.error();
    EXPECT_NE(stack_depth(tree->steps, 54), 0U);
    const auto part = subnet.walk(job, some);
    ASSERT_TRUE(part) << part.error();
    EXPECT_EQ(stack_depth(part->steps, 4) != 0, true);
    EXPECT_LT(part->edges.size(), tree->edges.size());
}

/// Moves data packets between nodes and members until none is left, and returns what members got.
class DataPath {
  public:
    DataPath(Subnet& subnet, JobId job) : job_(*subnet.manager.job(job)) {
        for (auto& [lid, tables] : subnet.tables()) {
            nodes_.emplace(lid, std::pair(&tables, AggregationNode(tables)));
        }
        for (std::uint32_t m = 0; m < job_.members.size(); ++m) {
            member_of_[{job_.members[m].lid, job_.members[m].qpn}] = m;
        }
        for (auto& [lid, node] : nodes_) {
            for (const auto& [id, tree] : node.first->trees()) {
                for (const Qpn child : tree.children) {
                    const auto* const context = node.first->qp(child);
                    door_of_[{context->rlid, context->rqpn}] = {lid, child};
                }
            }
        }
    }

    void send(std::uint32_t member, const DataPacket& packet) {
        const auto door = door_of_.at({job_.members[member].lid, job_.members[member].qpn});
        nodes_.at(door.first).second.handle_packet(door.second, emit_packet(packet));
    }
    std::map<std::uint32_t, DataPacket> run() {
        std::map<std::uint32_t, DataPacket> got;
        for (bool moved = true; moved;) {
            moved = false;
            for (auto& [lid, node] : nodes_) {
                while (const auto out = node.second.poll_transmit()) {
                    moved = true;
                    const auto* const context = node.first->qp(out->from);
                    const std::pair to{context->rlid, context->rqpn};
                    if (const auto member = member_of_.find(to); member != member_of_.end()) {
                        got[member->second] = *parse_packet(out->bytes);
                    } else {
                        nodes_.at(context->rlid).second.handle_packet(context->rqpn, out->bytes);
                    }
                }
            }
        }
        return got;
    }

  private:
    const JobState& job_;
    std::map<Lid, std::pair<AggregationTables*, AggregationNode>> nodes_;
    std::map<std::pair<Lid, Qpn>, std::uint32_t> member_of_;
    std::map<std::pair<Lid, Qpn>, std::pair<Lid, Qpn>> door_of_;
};

TEST(SharpManager, PacketsAndProgramGiveTheSameBits) {
    Subnet subnet(tall_tree());
    const JobId job = subnet.make_job(subnet.hosts());
    const GroupId group = subnet.make_group(job, everybody(54));
    const auto tree = subnet.walk(job, group);
    ASSERT_TRUE(tree) << tree.error();
    DataPath path(subnet, job);
    Prng prng(1);
    std::uint32_t sequence = 0;
    for (const Reduction reduction :
         {Reduction{DataType::kF32, ReduceOp::kSum}, Reduction{DataType::kBf16, ReduceOp::kSum},
          Reduction{DataType::kF64, ReduceOp::kProd}, Reduction{DataType::kI16, ReduceOp::kMin},
          Reduction{DataType::kF16, ReduceOp::kMaxLoc, DataType::kU16}}) {
        const std::size_t bytes = reduction.element_bytes() * 24;
        std::vector<std::vector<std::uint8_t>> data(54);
        std::vector<const std::byte*> in;
        for (auto& one : data) {
            one.resize(bytes);
            // The exponents are near each other, so that sums are rounded and none is a NaN.
            for (std::size_t i = 0; i < bytes; ++i) {
                one[i] = static_cast<std::uint8_t>(prng.next() & 0x3F);
            }
            in.push_back(reinterpret_cast<const std::byte*>(one.data()));
        }
        std::vector<std::byte> wanted(bytes);
        std::vector<std::byte> scratch(bytes * stack_depth(tree->steps, 54));
        execute(tree->steps, reduction, in, wanted, scratch);
        ++sequence;
        std::vector<std::uint32_t> order = everybody(54);
        for (std::size_t i = order.size(); i > 1; --i) {
            std::swap(order[i - 1], order[prng.below(i)]);
        }
        for (const std::uint32_t member : order) {
            DataPacket packet;
            packet.header.kind = wire::SharpDataHeader::Kind::kUp;
            packet.header.contributes = true;
            packet.header.wants_result = true;
            packet.header.data_type = static_cast<std::uint8_t>(reduction.type);
            packet.header.tag_type = static_cast<std::uint8_t>(reduction.tag);
            packet.header.reduce_op = static_cast<std::uint8_t>(reduction.op);
            packet.header.tree_id = subnet.manager.job(job)->tree_id;
            packet.header.group_id = group;
            packet.header.sequence = sequence;
            packet.header.length = static_cast<std::uint32_t>(bytes);
            packet.payload = data[member];
            path.send(member, packet);
        }
        const auto got = path.run();
        ASSERT_EQ(got.size(), 54U);
        for (const auto& [member, packet] : got) {
            ASSERT_EQ(packet.payload.size(), bytes);
            EXPECT_EQ(std::memcmp(packet.payload.data(), wanted.data(), bytes), 0);
        }
    }
}

TEST(SharpManager, AnEndedJobLeavesNothingBehind) {
    Subnet subnet(tall_tree());
    const JobId job = subnet.make_job(subnet.hosts());
    const GroupId group = subnet.make_group(job, everybody(54));
    EXPECT_EQ(subnet.manager.lock_group(job, group), Error::kNone);
    subnet.pump();
    EXPECT_EQ(subnet.manager.job(job)->groups.at(group).lock, GroupState::kLocked);
    subnet.manager.end_job(job);
    subnet.pump();
    EXPECT_TRUE(subnet.is_clean());
    EXPECT_TRUE(subnet.manager.jobs().empty());
}

TEST(SharpManager, ALostMemberEndsTheJobAtAnyStep) {
    for (int step = 0; step < 60; ++step) {
        Subnet subnet(small_tree());
        const auto job = subnet.manager.create_job({.key = 1, .size = 32});
        for (std::uint32_t rank = 0; rank < 32; ++rank) {
            subnet.manager.join(*job, rank, subnet.hosts()[rank], Qpn{0x800000 + rank});
        }
        subnet.manager.start(*job);
        for (int i = 0; i < step; ++i) {  // This many MADs are answered before the loss.
            if (const auto packet = subnet.manager.poll_transmit(0)) {
                mad::Packet answer = *packet;
                answer.mad = *subnet.tables().at(packet->dlid).answer(packet->mad);
                subnet.manager.handle(answer);
            }
        }
        subnet.manager.fail_job(*job, Error::kFailed, "killed");
        subnet.pump();
        EXPECT_TRUE(subnet.is_clean()) << "after " << step << " MADs";
        EXPECT_EQ(subnet.manager.job(*job)->error, Error::kFailed);
        subnet.manager.end_job(*job);
        subnet.pump();
        const JobId next = subnet.make_job(subnet.hosts());
        EXPECT_EQ(subnet.manager.job(next)->phase, JobState::kActive);
    }
}

TEST(SharpManager, ALostCableEndsTheJobsThatUseItAndOthersGetAnotherTree) {
    Subnet subnet(small_tree());
    const JobId job = subnet.make_job(subnet.hosts());
    const JobId local = subnet.make_job({subnet.hosts()[0], subnet.hosts()[1]});
    const JobState& state = *subnet.manager.job(job);
    ASSERT_EQ(state.phase, JobState::kActive);
    const TreePlan::Node& leaf = state.plan.nodes.back();
    const auto node = std::ranges::find(subnet.fabric().nodes, leaf.guid, &topo::Node::node_guid);
    routing::unplug(subnet.fabric(),
                    static_cast<std::uint32_t>(node - subnet.fabric().nodes.begin()),
                    leaf.port_to_parent);
    subnet.route();
    subnet.pump();
    EXPECT_EQ(subnet.manager.job(job)->phase, JobState::kFailed);
    EXPECT_EQ(subnet.manager.job(job)->error, Error::kConnectTree);
    EXPECT_EQ(subnet.manager.job(local)->phase, JobState::kActive) << "it does not use the cable";
    const JobId next = subnet.make_job(subnet.hosts());
    EXPECT_EQ(subnet.manager.job(next)->phase, JobState::kActive);
}

TEST(SharpManager, ALostCableEndsAJobWhoseTreeIsBeingConfigured) {
    Subnet subnet(small_tree());
    subnet.pump();  // All nodes are known.
    const auto job = subnet.manager.create_job({.key = 1, .size = 32});
    for (std::uint32_t rank = 0; rank < 32; ++rank) {
        subnet.manager.join(*job, rank, subnet.hosts()[rank], Qpn{0x800000 + rank});
    }
    subnet.manager.start(*job);
    const JobState& state = *subnet.manager.job(*job);
    ASSERT_EQ(state.phase, JobState::kConfiguring);
    const TreePlan::Node leaf = state.plan.nodes.back();
    const auto node = std::ranges::find(subnet.fabric().nodes, leaf.guid, &topo::Node::node_guid);
    routing::unplug(subnet.fabric(),
                    static_cast<std::uint32_t>(node - subnet.fabric().nodes.begin()),
                    leaf.port_to_parent);
    subnet.route();
    subnet.pump();
    EXPECT_EQ(state.phase, JobState::kFailed);
    EXPECT_EQ(state.error, Error::kConnectTree);
    EXPECT_TRUE(subnet.is_clean());
}

TEST(SharpManager, ASilentSwitchFailsTheJob) {
    Subnet subnet(small_tree());
    subnet.pump();  // All nodes are known.
    const JobId first = subnet.make_job(subnet.hosts());
    subnet.silent = subnet.manager.job(first)->plan.nodes.back().lid;
    const JobId job = subnet.make_job(subnet.hosts());
    EXPECT_EQ(subnet.manager.job(job)->phase, JobState::kFailed);
    subnet.silent = Lid{0};
}

TEST(SharpManager, QuotasAreKept) {
    Subnet subnet(small_tree());
    const auto much = subnet.manager.create_job({.size = 2, .quota = {.osts = 100000}});
    ASSERT_FALSE(much);
    EXPECT_EQ(much.error(), Error::kQuota);
    const JobId job = subnet.make_job({subnet.hosts()[0], subnet.hosts()[1]}, {.groups = 1});
    subnet.make_group(job, {0, 1});
    const auto more = subnet.manager.create_group(job, 2);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error(), Error::kQuota);
}

TEST(SharpManager, FullNodesRefuseAJobAndNothingStays) {
    wire::SharpAnInfo info = default_an_info();
    info.operation_table_size = 100;
    Subnet subnet(small_tree(), info);
    const JobId first = subnet.make_job({subnet.hosts()[0], subnet.hosts()[1]}, {.osts = 64});
    EXPECT_EQ(subnet.manager.job(first)->phase, JobState::kActive);
    const JobId second = subnet.make_job({subnet.hosts()[0], subnet.hosts()[1]}, {.osts = 64});
    EXPECT_EQ(subnet.manager.job(second)->error, Error::kNoResource);
    subnet.manager.end_job(second);
    subnet.manager.end_job(first);
    subnet.pump();
    EXPECT_TRUE(subnet.is_clean());
}

TEST(SharpManager, ASecondStreamThroughAPortIsRefusedUntilTheFirstEnds) {
    Subnet subnet(small_tree());
    const std::vector<Lid> two{subnet.hosts()[0], subnet.hosts()[1]};
    const JobId a = subnet.make_job(two);
    const JobId b = subnet.make_job(two);
    const GroupId group_a = subnet.make_group(a, {0, 1});
    const GroupId group_b = subnet.make_group(b, {0, 1});
    subnet.manager.lock_group(a, group_a);
    subnet.manager.lock_group(b, group_b);
    subnet.pump();
    EXPECT_EQ(subnet.manager.job(a)->groups.at(group_a).lock, GroupState::kLocked);
    EXPECT_EQ(subnet.manager.job(b)->groups.at(group_b).lock, GroupState::kRefused);
    subnet.manager.end_group(a, group_a);
    subnet.pump();
    EXPECT_EQ(subnet.manager.lock_group(b, group_b), Error::kNone);
    subnet.pump();
    EXPECT_EQ(subnet.manager.job(b)->groups.at(group_b).lock, GroupState::kLocked);
}

TEST(SharpManager, AQueuePairThatComesAfterTheJobFailedGoesBack) {
    for (int step = 0; step < 20; ++step) {
        Subnet subnet(small_tree());
        subnet.pump();  // All nodes are known.
        const auto job = subnet.manager.create_job({.key = 1, .size = 32});
        for (std::uint32_t rank = 0; rank < 32; ++rank) {
            subnet.manager.join(*job, rank, subnet.hosts()[rank], Qpn{0x800000 + rank});
        }
        subnet.manager.start(*job);
        mad::Packet answer;
        for (int i = 0; i <= step; ++i) {  // The answer to the last one is still on its way.
            const auto packet = subnet.manager.poll_transmit(0);
            ASSERT_TRUE(packet);
            answer = *packet;
            answer.mad = *subnet.tables().at(packet->dlid).answer(packet->mad);
            if (i != step) {
                subnet.manager.handle(answer);
            }
        }
        subnet.manager.fail_job(*job, Error::kFailed, "killed");
        if (step % 2 == 0) {
            subnet.manager.end_job(*job);
        }
        subnet.manager.handle(answer);
        subnet.pump();
        EXPECT_TRUE(subnet.is_clean()) << "after " << step << " MADs";
    }
}

TEST(SharpManager, ANodeThatGivesTooFewQueuePairsFailsTheJob) {
    Subnet subnet(small_tree());
    subnet.pump();
    const auto job = subnet.manager.create_job({.key = 1, .size = 2});
    subnet.manager.join(*job, 0, subnet.hosts()[0], Qpn{0x800000});
    subnet.manager.join(*job, 1, subnet.hosts()[1], Qpn{0x800001});
    subnet.manager.start(*job);
    const auto packet = subnet.manager.poll_transmit(0);
    ASSERT_TRUE(packet);
    mad::Packet answer = *packet;
    answer.mad = *subnet.tables().at(packet->dlid).answer(packet->mad);
    const auto data = wire::Sharp<std::uint8_t>(answer.mad).data();
    auto given = wire::parse<wire::SharpQpAllocation>(data);
    ASSERT_EQ(given.count, 2);
    given.count = 1;
    wire::emit(given, std::span<std::uint8_t>(data));
    subnet.manager.handle(answer);
    EXPECT_EQ(subnet.manager.job(*job)->phase, JobState::kFailed);
    EXPECT_EQ(subnet.manager.job(*job)->error, Error::kNoResource);
    subnet.pump();
}

TEST(SharpManager, ASwitchThatWasSilentIsAskedAgainWhenRoutesChange) {
    Subnet subnet(small_tree());
    subnet.silent = subnet.tables().begin()->first;
    subnet.pump();
    const std::size_t known = subnet.manager.nodes().size();
    subnet.silent = Lid{0};
    subnet.route();
    subnet.pump();
    EXPECT_EQ(subnet.manager.nodes().size(), known + 1);
}

/// Jobs and groups come, go and fail at random, while MADs are late, lost or doubled.
class RandomLife {
  public:
    explicit RandomLife(std::uint64_t seed) : prng_(seed), subnet_(small_tree()) {}

    void step() {
        now_ += lose ? 100 : 0;
        switch (prng_.below(12)) {
            case 0:
                return create();
            case 1:
                return subnet_.manager.fail_job(any_job(), Error::kFailed, "random");
            case 2:
                return subnet_.manager.end_job(any_job());
            case 3:
                return group();
            case 4:
                subnet_.manager.lock_group(any_job(), any_group());
                return;
            case 5:
                return subnet_.manager.end_group(any_job(), any_group());
            case 6:
                return subnet_.manager.handle_timeout(now_);
            default:
                return carry();
        }
    }
    void end() {
        while (!subnet_.manager.jobs().empty()) {
            subnet_.manager.end_job(subnet_.manager.jobs().begin()->first);
        }
        while (subnet_.manager.poll_event()) {
        }
        for (int i = 0; i < 100000 && subnet_.manager.next_timeout_ns() != UINT64_MAX; ++i) {
            now_ += lose ? 10 : 0;
            carry();
        }
        subnet_.pump();
        for (int i = 0; i < 10 && subnet_.manager.next_timeout_ns() != UINT64_MAX; ++i) {
            // The manager asks the nodes again that were silent.
            subnet_.pump(subnet_.manager.next_timeout_ns());
        }
    }
    Subnet& subnet() { return subnet_; }
    bool lose = false;

  private:
    JobId any_job() { return 1 + static_cast<JobId>(prng_.below(jobs_ + 1)); }
    GroupId any_group() { return 1 + static_cast<GroupId>(prng_.below(groups_ + 1)); }

    void create() {
        const auto size = static_cast<std::uint32_t>(1 + prng_.below(12));
        const auto job = subnet_.manager.create_job({.key = 1, .size = size});
        ASSERT_TRUE(job);
        jobs_ = *job;
        for (std::uint32_t rank = 0; rank < size; ++rank) {
            subnet_.manager.join(*job, rank, subnet_.hosts()[prng_.below(32)], Qpn{++qpn_});
        }
        subnet_.manager.start(*job);
    }
    void group() {
        const JobId job = any_job();
        const JobState* const state = subnet_.manager.job(job);
        const std::size_t most = state == nullptr ? 1 : state->members.size();
        const auto size = static_cast<std::uint32_t>(1 + prng_.below(most));
        if (const auto made = subnet_.manager.create_group(job, size)) {
            groups_ = *made;
            for (std::uint32_t rank = 0; rank < size; ++rank) {
                subnet_.manager.join_group(job, *made, rank, rank);
            }
            subnet_.manager.start_group(job, *made);
        }
    }
    /// Moves one MAD up or down.
    void carry() {
        if (!back_.empty() && prng_.below(2) == 0) {
            const std::size_t at = prng_.below(back_.size());
            const mad::Packet answer = back_[at];
            if (prng_.below(8) != 0) {  // Otherwise the answer comes again later.
                back_.erase(back_.begin() + static_cast<std::ptrdiff_t>(at));
            }
            return subnet_.manager.handle(answer);
        }
        if (const auto packet = subnet_.manager.poll_transmit(now_)) {
            if (lose && prng_.below(10) == 0) {
                return;
            }
            back_.push_back(*packet);
            back_.back().mad = *subnet_.tables().at(packet->dlid).answer(packet->mad);
        }
        subnet_.manager.handle_timeout(now_);
    }

    Prng prng_;
    Subnet subnet_;
    std::uint64_t now_ = 0;
    std::uint32_t qpn_ = 0x800000;
    JobId jobs_ = 0;
    GroupId groups_ = 0;
    std::vector<mad::Packet> back_;
};

TEST(SharpManager, JobsAtRandomLeaveNothingBehind) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        RandomLife life(seed);
        for (int i = 0; i < effort(5000, 1500); ++i) {
            life.step();
        }
        life.end();
        EXPECT_TRUE(life.subnet().manager.jobs().empty());
        EXPECT_TRUE(life.subnet().is_clean()) << "seed " << seed;
    }
}

TEST(SharpManager, LostMadsFailJobsAndNothingElse) {
    for (const std::uint64_t seed : {11U, 12U, 13U, 14U}) {
        RandomLife life(seed);
        life.lose = true;
        for (int i = 0; i < effort(5000, 1500); ++i) {
            life.step();
        }
        life.end();
        EXPECT_TRUE(life.subnet().manager.jobs().empty());
        EXPECT_EQ(life.subnet().manager.next_timeout_ns(), UINT64_MAX);
        for (const auto& [lid, tables] : life.subnet().tables()) {
            EXPECT_TRUE(tables.trees().empty() && tables.groups().empty()) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace softib::sharp
