// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/pipeline.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace softib::plan {
namespace {

constexpr TimePs kForward = 1000;
constexpr TimePs kBackward = 2000;

Pipeline uniform(std::uint32_t stages, std::uint32_t chunks, std::uint32_t micro_batches,
                 TimePs send = 0) {
    Pipeline pipeline{.stages = stages, .chunks = chunks, .micro_batches = micro_batches};
    pipeline.work.assign(
        std::size_t{stages} * chunks,
        {.forward = kForward / chunks, .backward = kBackward / chunks, .send = send, .layers = 1});
    return pipeline;
}

TEST(Pipeline, TheBubbleIsThatOfTheFormula) {
    for (const std::uint32_t stages : {1U, 2U, 4U, 8U}) {
        for (const std::uint32_t chunks : {1U, 2U, 5U}) {
            for (const std::uint32_t rounds : {1U, 3U, 8U}) {
                if (stages == 1 && chunks > 1) {
                    continue;
                }
                const std::uint32_t micro_batches = stages * rounds;
                const TimePs ideal = micro_batches * (kForward + kBackward);
                const TimePs bubble = (stages - 1) * (kForward + kBackward) / chunks;
                EXPECT_EQ(play(uniform(stages, chunks, micro_batches)).end, ideal + bubble)
                    << stages << " stages, " << chunks << " chunks, " << micro_batches;
            }
        }
    }
}

TEST(Pipeline, MoreMicroBatchesNeverRaiseTheBubblesShare) {
    for (const std::uint32_t chunks : {1U, 3U}) {
        double last = 1;
        for (std::uint32_t rounds = 1; rounds < 20; ++rounds) {
            const Pipeline pipeline = uniform(6, chunks, 6 * rounds, 70);
            const double busy = 6.0 * rounds * (kForward + kBackward);
            const double share = 1 - busy / static_cast<double>(play(pipeline).end);
            EXPECT_LE(share, last);
            last = share;
        }
    }
}

TEST(Pipeline, AStageRunsEveryPassOnceAndBackwardAfterForward) {
    const Pipeline pipeline = uniform(4, 3, 8);
    for (std::uint32_t stage = 0; stage < 4; ++stage) {
        std::set<std::tuple<std::uint32_t, std::uint32_t, bool>> seen;
        for (const PassStep& step : schedule_of(pipeline, stage)) {
            EXPECT_TRUE(seen.insert({step.micro_batch, step.chunk, step.forward}).second);
            if (!step.forward) {
                EXPECT_TRUE(seen.contains({step.micro_batch, step.chunk, true}));
            }
        }
        EXPECT_EQ(seen.size(), 2U * 3 * 8);
    }
}

TEST(Pipeline, InFlightPassesAreTheMostThatTheScheduleHolds) {
    for (const std::uint32_t chunks : {1U, 3U}) {
        for (const std::uint32_t micro_batches : {4U, 16U}) {
            const Pipeline pipeline = uniform(4, chunks, micro_batches);
            for (std::uint32_t stage = 0; stage < 4; ++stage) {
                std::uint32_t held = 0;
                std::uint32_t most = 0;
                for (const PassStep& step : schedule_of(pipeline, stage)) {
                    held += step.forward ? 1 : -1U;
                    most = std::max(most, held);
                }
                EXPECT_EQ(passes_in_flight(pipeline, stage), most);
            }
        }
    }
}

TEST(Pipeline, NoTwoPassesOfAStageOverlapAndInputsComeFirst) {
    const PlayedPasses played = play(uniform(4, 2, 8, 130));
    std::vector<TimePs> free(4, 0);
    for (const PassEvent& event : played.events) {
        EXPECT_GE(event.start, free[event.stage]);
        free[event.stage] = event.end;
    }
}

TEST(Pipeline, SendsThatOverlapCostNoMoreThanThoseThatDoNot) {
    for (const TimePs send : {TimePs{0}, TimePs{50}, TimePs{400}}) {
        Pipeline pipeline = uniform(4, 1, 16, send);
        const TimePs blocking = play(pipeline).end;
        pipeline.overlap_sends = true;
        EXPECT_LE(play(pipeline).end, blocking);
    }
}

TEST(Pipeline, AStageAloneSendsNothing) {
    EXPECT_EQ(play(uniform(1, 1, 4, 500)).end, 4 * (kForward + kBackward));
}

TEST(Pipeline, TheFirstMicroBatchWaitsForParametersLayerByLayer) {
    Pipeline pipeline = uniform(1, 1, 2);
    pipeline.work[0].layers = 4;
    pipeline.work[0].gather = 100;  // Less than a layer's 250: the stage waits only for the first.
    EXPECT_EQ(play(pipeline).end, 2 * (kForward + kBackward) + 100);
    pipeline.work[0].gather = 400;  // All four arrive at 1600, then the last layer runs.
    EXPECT_EQ(play(pipeline).end, 2 * (kForward + kBackward) + 4 * 400 + 250 - kForward);
}

}  // namespace
}  // namespace softib::plan
