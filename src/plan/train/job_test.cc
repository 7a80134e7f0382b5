// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/job.h"

#include <gtest/gtest.h>

#include "plan/cluster/presets.h"

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

}  // namespace
}  // namespace softib::plan
