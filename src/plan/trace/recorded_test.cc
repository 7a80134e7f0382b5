// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/recorded.h"

#include <gtest/gtest.h>

#include "plan/trace/test_jobs.h"

namespace softib::plan::trace {
namespace {

constexpr std::uint64_t kStart = 1'000'000;

/// Returns two processes; the second answers the message of the first after 5 us.
std::vector<RecordedProcess> bounce() {
    RecordedProcess first{.name = "a", .rank = 0, .pid = 20};
    RecordedProcess second{.name = "b", .rank = 1, .pid = 10};
    first.events = {{kStart - 50, 0, 0, 7, 0, Recorded::kQueuePair},
                    {kStart, 50, 100, 7, 8, Recorded::kSent},
                    {kStart + 100, 150, 0, 0, 0, Recorded::kWaits},
                    {kStart + 5100, 5150, 0, 0, 0, Recorded::kFound}};
    // The second had a processor for 2 of the 5 us.
    second.events = {{kStart - 40, 0, 0, 8, 0, Recorded::kQueuePair},
                     {kStart - 20, 20, 0, 0, 0, Recorded::kWaits},
                     {kStart + 10, 50, 0, 0, 0, Recorded::kFound},
                     {kStart + 5010, 2050, 200, 8, 7, Recorded::kSent}};
    return {second, first};
}

TEST(TraceRecorded, WhatIsPostedDependsOnWhatArrived) {
    const auto job = job_of(bounce());
    ASSERT_TRUE(job);
    ASSERT_EQ(job->ranks(), 2U);
    EXPECT_EQ(find_fault(*job), std::nullopt);
    const Program& second = job->program(1);
    ASSERT_EQ(second.next(), 3U);
    EXPECT_EQ(second.operations()[0].kind, Kind::kRecv);
    EXPECT_EQ(second.operations()[1].compute_ps, 2'000'000U);
    EXPECT_EQ(second.operations()[2].kind, Kind::kSend);
    EXPECT_EQ(second.operations()[2].bytes, 200U);
    // The first waits after 0.1 us; the time after that does not count as its computation.
    const Program& first = job->program(0);
    EXPECT_EQ(first.operations()[1].compute_ps, 100'000U);
    const Playing playing = play(hgx(1), {*job});
    ASSERT_TRUE(playing.run());
    EXPECT_GT(playing.makespan(), 2'000'000U);
}

TEST(TraceRecorded, AReadIsARequestAndItsData) {
    RecordedProcess reader{.pid = 1};
    RecordedProcess server{.pid = 2};
    reader.events = {{kStart, 0, 0, 1, 0, Recorded::kQueuePair},
                     {kStart + 10, 0, 4096, 1, 2, Recorded::kRead}};
    server.events = {{kStart, 0, 0, 2, 0, Recorded::kQueuePair}};
    const auto job = job_of({reader, server});
    ASSERT_TRUE(job);
    EXPECT_EQ(job->program(0).operations()[0].bytes, 16U);
    EXPECT_EQ(job->program(0).operations()[1].kind, Kind::kRecv);
    EXPECT_EQ(job->program(1).operations()[1].bytes, 4096U);
    EXPECT_EQ(job->program(1).edges()[0].operation, 1U);
    EXPECT_TRUE(play(hgx(1), {*job}).run());
}

TEST(TraceRecorded, SilentProcessesAreNoRanks) {
    auto processes = bounce();
    processes.push_back(
        {.name = "daemon", .pid = 5, .events = {{1, 0, 0, 9, 0, Recorded::kQueuePair}}});
    EXPECT_EQ(job_of(processes)->ranks(), 2U);
    EXPECT_EQ(job_of({processes.back()}).error(),
              "no process sent a message to another over InfiniBand verbs");
}

}  // namespace
}  // namespace softib::plan::trace
