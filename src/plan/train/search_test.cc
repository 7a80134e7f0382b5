// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/search.h"

#include <gtest/gtest.h>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

class Search : public testing::Test {
  protected:
    std::vector<Candidate> tried() const {
        std::vector<Candidate> all;
        for (const Mapping& mapping : candidates(model_, cluster_, space_)) {
            if (const auto one =
                    try_mapping(model_, cluster_, mapping, LinkCommunication(cluster_))) {
                all.push_back(*one);
            }
        }
        return all;
    }
    void SetUp() override {
        space_.base.gpus = 256;
        space_.base.batch = 512;
        space_.base.sequence = 8192;
    }
    Cluster cluster_ = *find_preset("superpod-h100");
    Model model_ = *find_model("llama3.1-70b");
    SearchSpace space_;
};

TEST_F(Search, EveryCandidateHasNoFaultAndIsThereOnce) {
    const auto all = candidates(model_, cluster_, space_);
    EXPECT_GT(all.size(), 100U);
    std::vector<std::string> names;
    for (const Mapping& mapping : all) {
        EXPECT_EQ(find_fault(model_, cluster_, mapping), std::nullopt);
        EXPECT_LE(mapping.tp, cluster_.domain_gpus());
        names.push_back(describe(mapping));
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST_F(Search, TheBestIsAsQuickAsTheQuickestThatFits) {
    const auto all = tried();
    const auto best = best_of(all, 5);
    ASSERT_EQ(best.size(), 5U);
    for (const Candidate& each : all) {
        EXPECT_LE(best[0].seconds, each.seconds);
        EXPECT_LE(each.memory_bytes, static_cast<double>(cluster_.gpu.memory_bytes));
    }
    EXPECT_TRUE(std::ranges::is_sorted(best, {}, &Candidate::seconds));
}

TEST_F(Search, FieldsThatAreSetStay) {
    space_.tp = 4;
    space_.pp = 2;
    space_.micro_batch = 2;
    space_.recompute = Recompute::kFull;
    space_.zero = 0;
    const auto all = candidates(model_, cluster_, space_);
    EXPECT_FALSE(all.empty());
    for (const Mapping& mapping : all) {
        EXPECT_EQ(mapping.tp, 4U);
        EXPECT_EQ(mapping.pp, 2U);
        EXPECT_EQ(mapping.micro_batch, 2U);
        EXPECT_EQ(mapping.recompute, Recompute::kFull);
        EXPECT_EQ(mapping.zero, 0U);
    }
}

TEST_F(Search, ExpertsAreDividedAmongReplicas) {
    model_ = *find_model("deepseek-v3");
    space_.base.gpus = 1024;
    space_.base.batch = 2048;
    space_.base.sequence = 4096;
    bool divided = false;
    for (const Mapping& mapping : candidates(model_, cluster_, space_)) {
        divided |= mapping.ep > 8;
        EXPECT_EQ(mapping.replicas() % mapping.ep, 0U);
    }
    EXPECT_TRUE(divided);
}

}  // namespace
}  // namespace softib::plan
