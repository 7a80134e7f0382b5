// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/player.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "plan/collective/collective_model.h"
#include "plan/trace/expand.h"
#include "plan/trace/test_jobs.h"

namespace softib::plan::trace {
namespace {

constexpr TimePs kUs = 1'000'000;

TEST(TracePlayer, ComputationsOfOneLaneRunOneAfterTheOther) {
    Job job = empty_job(1);
    job.programs[0].add(compute(10 * kUs));
    job.programs[0].add(compute(20 * kUs));
    Operation other = compute(25 * kUs);
    other.lane = 1;
    job.programs[0].add(other);
    const Playing playing = play(hgx(1), {job});
    ASSERT_TRUE(playing.run());
    EXPECT_EQ(playing.makespan(), 30 * kUs);
    EXPECT_EQ(playing.player->times(0, 0).compute_ps, 30 * kUs);
}

TEST(TracePlayer, AnOperationBeginsWhenWhatItDependsOnEndedOrStarted) {
    for (const bool started : {false, true}) {
        Job job = empty_job(1);
        job.programs[0].add(compute(10 * kUs));
        Operation other = compute(20 * kUs);
        other.lane = 1;
        job.programs[0].add(other);
        job.programs[0].depend(1, 0, started ? Waits::kForStart : Waits::kForEnd);
        const Playing playing = play(hgx(1), {job});
        ASSERT_TRUE(playing.run());
        EXPECT_EQ(playing.makespan(), (started ? 20 : 30) * kUs);
    }
}

/// A computation that follows a message may be due before the network's next event.
TEST(TracePlayer, ComputationsGoOnWhileTheNetworkIsBusy) {
    Job job = empty_job(32);
    job.programs[0].add(send(8, 8));
    job.programs[8].add(recv(0, 8));
    job.programs[8].add(compute(10 * kUs));
    job.programs[8].depend(1, 0);
    job.programs[8].add(send(0, 8));
    job.programs[8].depend(2, 1);
    job.programs[0].add(recv(8, 8));
    job.programs[16].add(send(24, 1 << 30));
    job.programs[24].add(recv(16, 1 << 30));
    const Playing playing = play(hgx(4), {job});
    ASSERT_TRUE(playing.run());
    EXPECT_GT(playing.player->times(0, 24).ended_at, 10'000 * kUs);
    EXPECT_LT(playing.player->times(0, 0).ended_at, 20 * kUs);
    EXPECT_GT(playing.player->times(0, 0).ended_at, 10 * kUs);
}

TEST(TracePlayer, MessagesTakeTheRateOfTheirLinks) {
    const Cluster cluster = hgx(2);
    constexpr std::uint64_t kBytes = 1 << 30;
    for (const std::uint32_t to : {1U, 8U}) {
        Job job = empty_job(16);
        job.programs[0].add(send(to, kBytes));
        job.programs[to].add(recv(0, kBytes));
        const Playing playing = play(cluster, {job}, {.keep_flows = true});
        ASSERT_TRUE(playing.run());
        const double rate = to == 1 ? nvlink_rate(cluster) : cluster.nic_bytes_per_s();
        EXPECT_NEAR(static_cast<double>(playing.makespan()), kBytes / rate * 1e12, 1e8);
        ASSERT_EQ(playing.player->flows().size(), 1U);
        EXPECT_EQ(playing.player->flows()[0].nvlink, to == 1);
        EXPECT_EQ(playing.player->times(0, 0).fabric_bytes, to == 1 ? 0 : kBytes);
    }
}

/// Returns when messages of 4 MB, which rank 0 sends at once to these ranks, are delivered.
std::vector<double> delivered_ms(std::initializer_list<std::uint32_t> to, bool nic_in_order) {
    constexpr std::uint64_t kBytes = 4'000'000;
    Job job = empty_job(32);
    std::uint32_t tag = 0;
    for (const std::uint32_t rank : to) {
        job.programs[0].add(send(rank, kBytes, tag));
        job.programs[rank].add(recv(0, kBytes, tag++));
    }
    const Playing playing = play(hgx(4), {job}, {.nic_in_order = nic_in_order, .keep_flows = true});
    EXPECT_TRUE(playing.run());
    std::vector<double> ends;
    for (const FlowRecord& flow : playing.player->flows()) {
        ends.push_back(static_cast<double>(flow.delivered_at) * 1e-9);
    }
    std::ranges::sort(ends);
    return ends;
}

TEST(TracePlayer, MessagesOfOnePairLeaveOneAfterTheOther) {
    for (const bool nic_in_order : {false, true}) {
        const auto ends = delivered_ms({8, 8, 8}, nic_in_order);
        ASSERT_EQ(ends.size(), 3U);
        EXPECT_NEAR(ends[0] / ends[2], 1.0 / 3, 0.02);
        EXPECT_NEAR(ends[1] / ends[2], 2.0 / 3, 0.02);
    }
}

TEST(TracePlayer, MessagesToSeveralRanksShareTheNicUnlessItSendsInOrder) {
    const auto shared = delivered_ms({8, 16, 24}, false);
    const auto in_order = delivered_ms({8, 16, 24}, true);
    ASSERT_EQ(shared.size(), 3U);
    ASSERT_EQ(in_order.size(), 3U);
    EXPECT_NEAR(shared[0] / shared[2], 1, 0.02);
    EXPECT_NEAR(in_order[0] / in_order[2], 1.0 / 3, 0.02);
    EXPECT_NEAR(in_order[2], shared[2], 0.02 * shared[2]) << "the NIC is busy as long";
}

TEST(TracePlayer, AReceiveFromAnyRankTakesWhatComesFirst) {
    Job job = empty_job(24);
    job.programs[8].add(compute(50 * kUs));
    job.programs[8].add(send(0, 8, 7));
    job.programs[8].depend(1, 0);
    job.programs[16].add(send(0, 8, 9));
    job.programs[0].add(recv(kAnyRank, 8, kAnyTag));
    job.programs[0].add(recv(8, 8, 7));
    job.programs[0].depend(1, 0);
    const Playing playing = play(hgx(3), {job});
    ASSERT_TRUE(playing.run());
    EXPECT_GT(playing.player->times(0, 0).ended_at, 50 * kUs);
}

TEST(TracePlayer, LongMessagesWaitForTheirReceiveIfAsked) {
    for (const std::uint64_t bytes : {8U, 1U << 20}) {
        for (const bool rendezvous : {false, true}) {
            Job job = empty_job(9);
            job.programs[0].add(send(8, bytes));
            job.programs[8].add(compute(500 * kUs));
            job.programs[8].add(recv(0, bytes));
            job.programs[8].depend(1, 0);
            const Playing playing = play(hgx(2), {job}, {.rendezvous = rendezvous});
            ASSERT_TRUE(playing.run());
            EXPECT_EQ(playing.player->times(0, 0).ended_at > 500 * kUs, bytes != 8 && rendezvous);
        }
    }
}

/// Two ranks that first send and then receive, as the ranks of Chakra's rings do.
TEST(TracePlayer, SendsThatAreReceivedLaterDoNotBlock) {
    Job job = empty_job(16);
    for (const std::uint32_t rank : {0U, 8U}) {
        job.programs[rank].add(send(8 - rank, 1 << 20));
        job.programs[rank].add(recv(8 - rank, 1 << 20));
        job.programs[rank].depend(1, 0);
    }
    EXPECT_TRUE(play(hgx(2), {job}).run());
    EXPECT_EQ(
        play(hgx(2), {job}, {.rendezvous = true}).run().error(),
        "4 of 4 operations never end: a send of rank 0 waits for its receive, and nobody does "
        "the other half");
}

TEST(TracePlayer, WhatNeverEndsIsNamed) {
    Job job = empty_job(2);
    job.programs[0].add(recv(1, 8, 3));
    EXPECT_EQ(play(hgx(1), {job}).run().error(),
              "1 of 1 operations never end: rank 0 waits in 'recv 8 bytes from rank 1, tag 3', and "
              "nobody does the other half");
    job = one_collective(2, collective(Collective::kAllReduce, 8));
    job.programs[1].operations()[0].collective = Collective::kBarrier;
    EXPECT_EQ(play(hgx(1), {job}).run().error(),
              "rank 1 does 'barrier of 8 bytes in world' where rank 0 of its group does "
              "'all-reduce of 8 bytes in world': ranks of a communicator must call its operations "
              "in one order");
}

TEST(TracePlayer, AComputationOfMonthsIsRefused) {
    Job job = empty_job(1);
    for (std::uint32_t i = 0; i < 20; ++i) {
        job.programs[0].add(compute(1ULL << 60));
    }
    EXPECT_TRUE(play(hgx(1), {job}).run().error().starts_with("the jobs take longer"));
}

/// An operation alone takes the time that the planner computes for it.
TEST(TracePlayer, ACollectiveAloneTakesThePlannersTime) {
    Cluster cluster = hgx(4);
    cluster.fabric.sharp = false;
    auto model = *CollectiveModel::make(cluster, {});
    const std::pair<Op, Collective> kPairs[] = {{Op::kAllReduce, Collective::kAllReduce},
                                                {Op::kAllGather, Collective::kAllGather},
                                                {Op::kReduceScatter, Collective::kReduceScatter},
                                                {Op::kBroadcast, Collective::kBroadcast},
                                                {Op::kBroadcast, Collective::kReduce},
                                                {Op::kAllToAll, Collective::kAllToAll}};
    for (const auto& [op, what] : kPairs) {
        for (const std::uint64_t bytes : {1ULL << 12, 1ULL << 30}) {
            const nccl::Choice choice = model->choose(op, bytes);
            const double expected = model->time(op, choice.algorithm, bytes)->us;
            const Playing playing = play(cluster, {one_collective(32, collective(what, bytes))});
            ASSERT_TRUE(playing.run());
            const double ours = static_cast<double>(playing.makespan()) / 1e6;
            EXPECT_NEAR(ours, expected, expected * 0.05)
                << to_string(op) << " " << to_string(choice.algorithm) << " " << bytes;
        }
    }
}

TEST(TracePlayer, EveryCollectiveIsPlayed) {
    for (const Collective what : kCollectives) {
        const Playing playing = play(hgx(2), {one_collective(16, collective(what, 1 << 20))});
        ASSERT_TRUE(playing.run()) << to_string(what);
        EXPECT_GT(playing.makespan(), kUs) << to_string(what);
    }
}

TEST(TracePlayer, GatherAndScatterMoveTheirPartsOnly) {
    for (const Collective what : {Collective::kGather, Collective::kScatter}) {
        const Playing playing =
            play(hgx(2), {one_collective(16, collective(what, 16 << 20))}, {.keep_flows = true});
        ASSERT_TRUE(playing.run());
        ASSERT_EQ(playing.player->flows().size(), 8U);
        for (const FlowRecord& flow : playing.player->flows()) {
            EXPECT_EQ(flow.bytes, 1U << 20);
            EXPECT_EQ(what == Collective::kGather ? flow.to : flow.from, 0U);
        }
    }
}

TEST(TracePlayer, AllToAllWithSplitsMovesThem) {
    Job job = one_collective(16, collective(Collective::kAllToAll, 0));
    for (Program& program : job.programs) {
        program.operations()[0].splits = 0;
        program.splits.assign(16, 0);
    }
    job.programs[3].splits[12] = 5000;
    const Playing playing = play(hgx(2), {job}, {.keep_flows = true});
    ASSERT_TRUE(playing.run());
    ASSERT_EQ(playing.player->flows().size(), 1U);
    EXPECT_EQ(playing.player->flows()[0].from, 3U);
    EXPECT_EQ(playing.player->flows()[0].to, 12U);
    EXPECT_EQ(playing.player->flows()[0].bytes, 5000U);
}

TEST(TracePlayer, GroupsDoNotWaitForEachOther) {
    Job job = empty_job(16);
    job.add_communicator("tp", {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}});
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        job.programs[rank].add(compute(rank == 15 ? 900 * kUs : kUs));
        job.programs[rank].add(collective(Collective::kAllReduce, 1 << 20));
        job.programs[rank].depend(1, 0);
    }
    const Playing playing = play(hgx(2), {job});
    ASSERT_TRUE(playing.run());
    EXPECT_LT(playing.player->times(0, 0).ended_at, 200 * kUs);
    EXPECT_GT(playing.player->times(0, 8).ended_at, 900 * kUs);
    EXPECT_GT(playing.player->times(0, 8).exposed_ps, 890 * kUs);
}

TEST(TracePlayer, CollectivesOfACommunicatorRunInOneOrder) {
    Job job = one_collective(16, collective(Collective::kAllReduce, 1 << 26));
    for (Program& program : job.programs) {
        program.add(collective(Collective::kAllReduce, 1 << 26));
    }
    const Playing one =
        play(hgx(2), {one_collective(16, collective(Collective::kAllReduce, 1 << 26))});
    const Playing two = play(hgx(2), {job}, {.keep_spans = true});
    ASSERT_TRUE(one.run());
    ASSERT_TRUE(two.run());
    EXPECT_NEAR(static_cast<double>(two.makespan()), 2.0 * static_cast<double>(one.makespan()),
                static_cast<double>(kUs));
    EXPECT_NEAR(static_cast<double>(two.player->spans().front().ended_at),
                static_cast<double>(one.makespan()), static_cast<double>(kUs));
}

TEST(TracePlayer, JobsShareTheFabric) {
    Cluster cluster = hgx(4);
    cluster.fabric.spec.oversubscription = {4, 1};
    cluster.fabric.adaptive = false;
    Job job = empty_job(2);
    job.programs[0].add(send(1, 1 << 28));
    job.programs[1].add(recv(0, 1 << 28));
    const Playing alone = play(cluster, {job}, {}, net::ModelKind::kFlow, {.per_node = 1});
    ASSERT_TRUE(alone.run());
    // Both messages arrive at the NIC of one GPU.
    Job both = empty_job(3);
    both.programs[0].add(send(2, 1 << 28));
    both.programs[1].add(send(2, 1 << 28, 1));
    both.programs[2].add(recv(0, 1 << 28));
    both.programs[2].add(recv(1, 1 << 28, 1));
    const Playing shared = play(cluster, {both}, {}, net::ModelKind::kFlow, {.per_node = 1});
    ASSERT_TRUE(shared.run());
    EXPECT_NEAR(static_cast<double>(shared.makespan()), 2.0 * static_cast<double>(alone.makespan()),
                0.02 * static_cast<double>(shared.makespan()));
}

TEST(TracePlayer, PacketsAndFlowsAgree) {
    const auto job = one_collective(16, collective(Collective::kAllReduce, 1 << 22));
    const Playing flows = play(hgx(2), {job});
    const Playing packets = play(hgx(2), {job}, {}, net::ModelKind::kPacket);
    ASSERT_TRUE(flows.run());
    ASSERT_TRUE(packets.run());
    EXPECT_NEAR(static_cast<double>(packets.makespan()), static_cast<double>(flows.makespan()),
                0.1 * static_cast<double>(flows.makespan()));
}

/// Returns the bytes that the fabric carried between ranks, without the messages of one byte by
/// which ranks wait for each other.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> fabric_bytes(
    const Playing& playing) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> bytes;
    for (const FlowRecord& flow : playing.player->flows()) {
        if (!flow.nvlink) {
            bytes[{flow.from, flow.to}] += flow.bytes;
        }
    }
    return bytes;
}

Playing play_steps(const Cluster& cluster, const Job& job, PlayOptions options = {}) {
    std::vector<bool> taken;
    const auto gpus = *place(cluster, job.ranks(), {}, taken);
    const auto expanded = expand(job, cluster, gpus);
    EXPECT_TRUE(expanded);
    for (const Program& program : expanded->programs) {
        for (const Operation& op : program.operations()) {
            EXPECT_NE(op.kind, Kind::kCollective);
        }
    }
    return play(cluster, {*expanded}, options);
}

/// Steps move the same bytes between the same ranks, in about the same time.
TEST(TraceExpand, StepsStandForACollective) {
    const Cluster cluster = hgx(4);
    Job job = one_collective(32, collective(Collective::kAllReduce, 1 << 28));
    job.programs[5].add(compute(300 * kUs));
    job.programs[5].depend(0, 1);
    for (Program& program : job.programs) {
        const std::uint32_t after = program.add(compute(100 * kUs));
        program.depend(after, 0);
    }
    const Playing whole = play(cluster, {job}, {.keep_flows = true});
    ASSERT_TRUE(whole.run());
    const Playing steps = play_steps(cluster, job, {.keep_flows = true});
    ASSERT_TRUE(steps.run());
    EXPECT_EQ(fabric_bytes(whole), fabric_bytes(steps));
    EXPECT_NEAR(static_cast<double>(steps.makespan()), static_cast<double>(whole.makespan()),
                0.1 * static_cast<double>(whole.makespan()));
    for (std::uint32_t rank = 0; rank < 32; ++rank) {
        EXPECT_GT(steps.player->times(0, rank).ended_at, 300 * kUs);
    }
}

TEST(TraceExpand, AMemberWithoutSplitsSendsEqualParts) {
    const Cluster cluster = hgx(2);
    Job job = one_collective(16, collective(Collective::kAllToAll, 16 << 20));
    job.programs[3].operations()[0].splits = 0;
    job.programs[3].splits.assign(16, 1 << 20);
    job.programs[3].splits[12] = 9 << 20;
    const Playing whole = play(cluster, {job}, {.keep_flows = true});
    ASSERT_TRUE(whole.run());
    const Playing steps = play_steps(cluster, job, {.keep_flows = true});
    ASSERT_TRUE(steps.run());
    EXPECT_EQ(fabric_bytes(whole), fabric_bytes(steps));
}

/// For every operation, steps that wait for each other take at least as long as the links of NICs
/// need, and about as long as the planner says.
TEST(TraceExpand, StepsTakeNoLessThanTheBoundAndAboutThePlannersTime) {
    const Cluster cluster = hgx(8);
    for (const Collective what :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
          Collective::kBroadcast, Collective::kReduce, Collective::kAllToAll}) {
        for (const std::uint64_t bytes : {1ULL << 12, 1ULL << 20, 1ULL << 28}) {
            const Job job = one_collective(64, collective(what, bytes));
            const Playing whole = play(cluster, {job}, {.keep_flows = true});
            const Playing steps = play_steps(cluster, job);
            ASSERT_TRUE(whole.run());
            ASSERT_TRUE(steps.run());
            std::map<std::uint32_t, std::uint64_t> sent;
            for (const auto& [ends, moved] : fabric_bytes(whole)) {
                sent[ends.first] += moved;
            }
            std::uint64_t most = 0;
            for (const auto& [rank, moved] : sent) {
                most = std::max(most, moved);
            }
            const auto ours = static_cast<double>(steps.makespan());
            const auto expected = static_cast<double>(whole.makespan());
            EXPECT_GE(ours, static_cast<double>(most) / cluster.nic_bytes_per_s() * 1e12)
                << to_string(what) << " " << bytes;
            EXPECT_NEAR(ours, expected, 0.2 * expected) << to_string(what) << " " << bytes;
        }
    }
}

/// Without NVLS an operation within one domain is messages between its GPUs.
TEST(TraceExpand, OperationsOfOneDomainAreMessagesOverNvlink) {
    Cluster cluster = hgx(1);
    cluster.nvlink.nvls = false;
    for (const Collective what : kCollectives) {
        for (const std::uint64_t bytes : {1ULL << 12, 1ULL << 28}) {
            const Job job = one_collective(8, collective(what, bytes));
            const Playing whole = play(cluster, {job});
            const Playing steps = play_steps(cluster, job, {.keep_flows = true});
            ASSERT_TRUE(whole.run());
            ASSERT_TRUE(steps.run());
            std::map<std::uint32_t, std::uint64_t> sent;
            for (const FlowRecord& flow : steps.player->flows()) {
                EXPECT_TRUE(flow.nvlink);
                sent[flow.from] += flow.bytes;
            }
            EXPECT_FALSE(sent.empty()) << to_string(what);
            std::uint64_t most = 0;
            for (const auto& [rank, moved] : sent) {
                most = std::max(most, moved);
            }
            const auto ours = static_cast<double>(steps.makespan());
            const auto expected = static_cast<double>(whole.makespan());
            EXPECT_GE(ours, static_cast<double>(most) / nvlink_rate(cluster) * 1e12);
            EXPECT_NEAR(ours, expected, 0.2 * expected) << to_string(what) << " " << bytes;
        }
    }
}

TEST(TraceExpand, WhatNvswitchesAddUpIsNoMessage) {
    const Job job = one_collective(8, collective(Collective::kAllReduce, 1 << 28));
    const Playing whole = play(hgx(1), {job});
    const Playing steps = play_steps(hgx(1), job, {.keep_flows = true});
    ASSERT_TRUE(whole.run());
    ASSERT_TRUE(steps.run());
    for (const FlowRecord& flow : steps.player->flows()) {
        EXPECT_EQ(flow.bytes, 1U);  // A message by which members wait for each other.
    }
    const auto expected = static_cast<double>(whole.makespan());
    EXPECT_NEAR(static_cast<double>(steps.makespan()), expected, 0.1 * expected);
    Job rings = job;
    for (Program& program : rings.programs) {
        program.operations()[0].rings = true;
    }
    const Playing around = play_steps(hgx(1), rings, {.keep_flows = true});
    ASSERT_TRUE(around.run());
    EXPECT_EQ(around.player->flows().size(), 8U * 14);
}

/// Data go around a ring: a rank that begins late holds up only those steps of others that need its
/// data.
TEST(TraceExpand, AStepLeavesWhenTheOneBeforeItHasCome) {
    const Cluster cluster = hgx(4);
    Job job = one_collective(4, collective(Collective::kAllGather, 4 << 20));
    std::vector<bool> taken;
    const auto gpus = *place(cluster, 4, {.per_node = 1}, taken);
    const Job expanded = *expand(job, cluster, gpus);
    const Playing steps =
        play(cluster, {expanded}, {.keep_flows = true}, net::ModelKind::kFlow, {.per_node = 1});
    ASSERT_TRUE(steps.run());
    std::map<std::uint32_t, std::vector<FlowRecord>> to;
    std::map<std::uint32_t, std::vector<FlowRecord>> from;
    for (const FlowRecord& flow : steps.player->flows()) {
        to[flow.to].push_back(flow);
        from[flow.from].push_back(flow);
    }
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        std::ranges::sort(to[rank], {}, &FlowRecord::delivered_at);
        std::ranges::sort(from[rank], {}, &FlowRecord::started_at);
        ASSERT_EQ(from[rank].size(), 3U);
        for (std::size_t k = 1; k < 3; ++k) {
            EXPECT_GE(from[rank][k].started_at, to[rank][k - 1].delivered_at);
        }
    }
}

}  // namespace
}  // namespace softib::plan::trace
