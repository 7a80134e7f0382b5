// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/cluster/presets.h"
#include "plan/train/communication.h"
#include "plan/train/memory.h"
#include "plan/train/step.h"

namespace softib::plan {
namespace {

class TrainJob : public testing::Test {
  protected:
    Job timed() const { return job_to_time(model_, cluster_, wish_); }
    Job searched() const { return job_to_search(model_, cluster_, wish_); }

    Model model_ = *find_model("gpt3-175b");             // 2,048 tokens a sequence.
    Cluster cluster_ = *find_preset("superpod-h100:1");  // 31 nodes: 248 GPUs.
    JobWish wish_;
};

TEST_F(TrainJob, TakesAboutFourMiTokens) {
    EXPECT_EQ(timed().mapping.batch, 2232U) << "the first multiple of 248 replicas from 2,048 on";
    wish_.sequence = 8192;
    EXPECT_EQ(timed().mapping.batch, 744U);
    wish_ = {.tp = 8, .pp = 2, .interleave = 2, .micro_batch = 4};
    EXPECT_EQ(timed().mapping.batch % (15 * 4 * 2), 0U) << "interleaving needs a multiple of pp";
    wish_ = {};
    EXPECT_EQ(searched().mapping.batch, 2232U) << "every mapping of 248 GPUs divides it";
}

TEST_F(TrainJob, TakesAllGpusThatItsDegreesDivide) {
    EXPECT_EQ(timed().mapping.gpus, 248U);
    wish_ = {.tp = 8, .pp = 4};
    EXPECT_EQ(timed().mapping.gpus, 224U);
    EXPECT_EQ(searched().mapping.gpus, 248U);
    wish_.gpus = 64;
    EXPECT_EQ(timed().mapping.gpus, 64U);
    EXPECT_EQ(searched().mapping.gpus, 64U);
}

TEST_F(TrainJob, KeepsWhatWasSaidAndSearchesTheRest) {
    wish_ = {.tp = 4, .zero = 3, .batch = 512};
    wish_.framework.overlap_dp = false;
    const SearchSpace space = space_of(searched(), wish_);
    EXPECT_EQ(space.tp, 4U);
    EXPECT_EQ(space.pp, 0U);
    EXPECT_EQ(space.zero, 3U);
    EXPECT_EQ(space.recompute, std::nullopt);
    EXPECT_EQ(space.base.batch, 512U);
    EXPECT_FALSE(space.base.overlap_dp);
}

TEST_F(TrainJob, SaysWhyNothingWasFound) {
    EXPECT_TRUE(why_nothing(searched(), 7).starts_with("none of 7 mappings of gpt3-175b fits in"));
    wish_.tp = 7;
    EXPECT_TRUE(why_nothing(searched(), 0).starts_with("tp 7 must divide the 96 attention heads"));
    wish_ = {.gpus = 100, .batch = 700};
    EXPECT_TRUE(why_nothing(searched(), 0).contains("try --gpus 64"));
}

TEST(TrainJobs, ChunksOfManyMicroBatchesAreThoseOfAllOfThem) {
    const Cluster cluster = *find_preset("superpod-h100");
    const LinkCommunication links(cluster);
    for (const char* const name : {"llama3.1-70b", "gpt3-175b"}) {
        const Model model = *find_model(name);
        for (const std::uint32_t pp : {4U, 8U, 16U}) {
            JobWish wish{.gpus = 1024, .tp = 8, .pp = pp, .batch = 4096};
            const Mapping chosen = job_to_time(model, cluster, wish).mapping;
            double quickest = INFINITY;
            std::uint32_t fewest = 0;
            for (int round = 0; round < 2; ++round) {
                for (wish.interleave = 1; wish.interleave <= model.layers / pp; ++wish.interleave) {
                    const Mapping mapping = job_to_time(model, cluster, wish).mapping;
                    if (find_fault(model, cluster, mapping) ||
                        !memory_use(model, cluster.gpu, mapping).fits()) {
                        continue;
                    }
                    const double seconds = time_step(model, cluster, mapping, links).seconds;
                    quickest = std::min(quickest, seconds);
                    if (round == 1 && fewest == 0 && seconds <= 1.01 * quickest) {
                        fewest = mapping.interleave;
                    }
                }
            }
            EXPECT_EQ(chosen.interleave, fewest) << name << ", pp " << pp;
        }
    }
}

}  // namespace
}  // namespace softib::plan
