// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/job.h"

#include <gtest/gtest.h>

#include "plan/trace/expand.h"
#include "plan/trace/test_jobs.h"

namespace softib::plan::trace {
namespace {

TEST(TraceJob, OperationsStandBehindWhatTheyDependOn) {
    Program program;
    for (int i = 0; i < 3; ++i) {
        program.add(compute(1));
    }
    program.depend(0, 2);
    EXPECT_EQ(sorted(program), (std::vector<std::uint32_t>{1, 2, 0}));
    program.depend(2, 0);
    EXPECT_FALSE(sorted(program));
}

TEST(TraceJob, FaultsNameRankAndOperation) {
    Job job = empty_job(2);
    job.programs[1].add(send(2, 8));
    EXPECT_EQ(find_fault(job), "rank 1, operation 0: there is no rank 2: the job has 2");
    job = empty_job(2);
    job.programs[0].add(compute(1));
    job.programs[0].depend(0, 0);
    EXPECT_EQ(find_fault(job), "rank 0: operation 0 (compute 1 ps) depends on itself in a circle");
    job = empty_job(3);
    job.add_communicator("tp", {{0, 1}});
    for (Program& program : job.programs) {
        program.add(collective(Collective::kAllReduce, 8));
    }
    EXPECT_EQ(find_fault(job), "rank 2, operation 0: rank 2 is no member of tp");
    job = one_collective(2, collective(Collective::kBroadcast, 8));
    job.programs[0].operations()[0].peer = 2;
    EXPECT_EQ(find_fault(job), "rank 0, operation 0: root 2 is no member of world, which has 2");
}

TEST(TraceJob, MergedJobsKeepTheirPeersAndGroups) {
    Job ring = empty_job(2);
    ring.add_world();
    ring.programs[0].add(send(1, 8));
    ring.programs[1].add(recv(0, 8));
    const Job all = merge(std::vector<Job>{ring, ring});
    EXPECT_EQ(all.ranks(), 4U);
    EXPECT_EQ(all.program(2).operations()[0].peer, 3U);
    EXPECT_EQ(all.program(3).operations()[0].peer, 2U);
    EXPECT_EQ(all.communicators[1].groups[0], (std::vector<std::uint32_t>{2, 3}));
    EXPECT_EQ(find_fault(all), std::nullopt);
}

TEST(TraceJob, MergedAndScaledJobsKeepTheirNotes) {
    Job one = empty_job(2);
    one.notes = {"a", "b"};
    Job other = empty_job(2);
    other.notes = {"b", "c"};
    EXPECT_EQ(merge(std::vector<Job>{one, other}).notes, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(scale(one, 4)->notes, one.notes);
}

TEST(TraceJob, AScaledRingIsOneRing) {
    Job ring = empty_job(4);
    ring.add_world();
    ring.add_communicator("pair", {{0, 1}, {2, 3}});
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
        ring.programs[rank].add(send((rank + 1) % 4, 8));
        ring.programs[rank].add(recv((rank + 3) % 4, 8));
    }
    const auto large = scale(ring, 12);
    ASSERT_TRUE(large);
    for (std::uint32_t rank = 0; rank < 12; ++rank) {
        EXPECT_EQ(large->program(rank).operations()[0].peer, (rank + 1) % 12);
        EXPECT_EQ(large->program(rank).operations()[1].peer, (rank + 11) % 12);
    }
    EXPECT_EQ(large->communicators[0].groups.size(), 1U);
    EXPECT_EQ(large->communicators[0].groups[0].size(), 12U);
    EXPECT_EQ(large->communicators[1].groups.size(), 6U);
    EXPECT_EQ(scale(ring, 10).error(), "4 ranks become a multiple of 4 up to 1048576, not 10");
}

TEST(TraceJob, ScaledPairsHalfAroundStillMeet) {
    Job pairs = empty_job(2);
    pairs.programs[0].add(send(1, 8));
    pairs.programs[1].add(recv(0, 8));
    const auto large = scale(pairs, 4);
    ASSERT_TRUE(large);
    EXPECT_EQ(large->program(2).operations()[0].peer, 3U);
    EXPECT_EQ(large->program(3).operations()[0].peer, 2U);
}

TEST(TracePlacement, NodesAreTakenAsAsked) {
    const Cluster cluster = hgx(4);
    std::vector<bool> taken;
    const auto first = place(cluster, 8, *parse_placement("2-3"), taken);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->front(), 16U);
    const auto second = place(cluster, 2, *parse_placement("round-robin"), taken);
    EXPECT_EQ(*second, (std::vector<std::uint32_t>{0, 8}));
    EXPECT_EQ(place(cluster, 30, {}, taken).error(),
              "30 ranks need as many GPUs, and 22 of the cluster's 32 are free for them: take a "
              "larger cluster or fewer ranks");
    EXPECT_FALSE(parse_placement("3-1"));
    EXPECT_FALSE(place(cluster, 1, *parse_placement("4"), taken));
}

}  // namespace
}  // namespace softib::plan::trace
