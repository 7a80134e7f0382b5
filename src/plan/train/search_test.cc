// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "plan/cluster/presets.h"
#include "plan/train/fabric_communication.h"

namespace softib::plan {
namespace {

class SearchTest : public testing::Test {
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

TEST_F(SearchTest, EveryCandidateHasNoFaultAndIsThereOnce) {
    const auto all = candidates(model_, cluster_, space_);
    EXPECT_GT(all.size(), 100U);
    std::vector<std::string> names;
    for (const Mapping& mapping : all) {
        EXPECT_EQ(find_fault(model_, cluster_, mapping), std::nullopt);
        names.push_back(describe(mapping));
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST_F(SearchTest, TheBestIsAsQuickAsTheQuickestThatFits) {
    space_.base.gpus = 32;
    space_.base.batch = 64;
    const auto all = tried();
    const auto best = best_of(all, 5);
    ASSERT_EQ(best.size(), 5U);
    SearchRun run;
    run.top = 5;
    const auto found = search(model_, cluster_, space_, run);
    EXPECT_EQ(found->fitting, all.size());
    EXPECT_EQ(found->open, 0U);
    for (std::size_t i = 0; i < best.size(); ++i) {
        EXPECT_EQ(describe(found->best[i].mapping), describe(best[i].mapping));
        EXPECT_EQ(found->best[i].seconds, best[i].seconds);
    }
    for (const Candidate& each : all) {
        EXPECT_LE(best[0].seconds, each.seconds);
        EXPECT_LE(each.memory_bytes, static_cast<double>(cluster_.gpu.memory_bytes));
    }
    EXPECT_TRUE(std::ranges::is_sorted(best, {}, &Candidate::seconds));
}

TEST_F(SearchTest, FieldsThatAreSetStay) {
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

TEST_F(SearchTest, ExpertsAreDividedAmongTheRanksOfAStage) {
    model_ = *find_model("deepseek-v3");
    space_.base.gpus = 1024;
    space_.base.batch = 2048;
    space_.base.sequence = 4096;
    bool divided = false;
    for (const Mapping& mapping : candidates(model_, cluster_, space_)) {
        divided |= mapping.ep > 8;
        EXPECT_EQ(mapping.stage_ranks() % mapping.ep, 0U);
    }
    EXPECT_TRUE(divided);
}

TEST_F(SearchTest, NoTimeIsLessThanTheLeast) {
    for (const char* name : {"llama3.1-70b", "deepseek-v3"}) {
        model_ = *find_model(name);
        space_.base.overlap_dp = !space_.base.overlap_dp;
        space_.base.overlap_pp = !space_.base.overlap_pp;
        const auto all = candidates(model_, cluster_, space_);
        const LinkCommunication links(cluster_);
        for (std::size_t i = 0; i < all.size(); i += all.size() / effort(1000, 200)) {
            const TimePs least = least_time(model_, cluster_, all[i], links);
            const Step step = time_step(model_, cluster_, all[i], links);
            ASSERT_LE(least, step.end) << name << ": " << describe(all[i]);
            ASSERT_GT(least, step.end / 20) << name << ": " << describe(all[i]);
        }
    }
}

/// Draws mappings of a job until estimate_step() accepts one, and returns its time.
double draw_accepted(const Model& model, const Cluster& cluster, Mapping mapping, Prng& prng,
                     const Communication& communication) {
    const auto one_to = [&](std::uint32_t most) {
        return 1 + static_cast<std::uint32_t>(prng.below(most));
    };
    for (int tries = 0; tries < 100'000; ++tries) {
        mapping.tp = one_to(16);
        mapping.pp = one_to(16);
        mapping.cp = one_to(4);
        mapping.interleave = one_to(12);
        mapping.ep = model.experts == 0 ? 1 : one_to(32);
        mapping.micro_batch = one_to(8);
        mapping.zero = static_cast<std::uint32_t>(prng.below(4));
        mapping.uneven = prng.below(2) != 0;
        mapping.recompute = static_cast<Recompute>(prng.below(3));
        if (const auto step = estimate_step(model, cluster, mapping, communication)) {
            return step->seconds;
        }
    }
    return std::numeric_limits<double>::infinity();
}

TEST_F(SearchTest, NoMappingThatIsAcceptedBeatsTheBest) {
    const struct {
        const char* model;
        const char* cluster;
        std::uint32_t gpus;
        std::uint32_t batch;
        std::uint32_t sequence;
    } jobs[] = {{"llama3.1-8b", "hgx-h200:2", 16, 32, 8192},
                {"megatron-530b", "nvl72-xdr:4", 288, 288, 2048},
                {"deepseek-v3", "nvl72-xdr:4", 256, 256, 4096},
                {"megatron-3.6b", "superpod-a100:1", 24, 48, 2048}};
    Prng prng(7);
    for (const auto& job : jobs) {
        model_ = *find_model(job.model);
        cluster_ = *find_preset(job.cluster);
        space_.base = {.gpus = job.gpus, .batch = job.batch, .sequence = job.sequence};
        for (const bool fabric : {false, true}) {
            std::unique_ptr<Communication> network = std::make_unique<LinkCommunication>(cluster_);
            SearchRun run{.top = 1};
            if (fabric) {
                run.network = [&] { return *FabricCommunication::make(cluster_, job.gpus, {}); };
                network = *run.network();
            }
            const auto found = search(model_, cluster_, space_, run);
            ASSERT_TRUE(found.has_value());
            ASSERT_EQ(found->best.size(), 1U) << job.model;
            for (int i = 0; i < effort(50, 10); ++i) {
                ASSERT_LE(found->best[0].seconds,
                          draw_accepted(model_, cluster_, space_.base, prng, *network))
                    << job.model << " on " << job.cluster << ", best "
                    << describe(found->best[0].mapping);
            }
            EXPECT_EQ(found->open, 0U) << job.model;
        }
    }
}

/// Times what rates and latencies alone find quicker than the last row on the model of the fabric.
TEST_F(SearchTest, NoMappingIsQuickerThanTheLastThatIsShown) {
    model_ = *find_model("deepseek-v3");
    cluster_ = *find_preset("nvl72-xdr:4");
    space_ = {.base = {.gpus = 256, .batch = 512, .sequence = 4096},
              .tp = 1,
              .ep = 64,
              .micro_batch = 1,
              .recompute = Recompute::kSelective};
    SearchRun run{.top = 2};
    run.network = [&] { return *FabricCommunication::make(cluster_, 256, {}); };
    const auto found = search(model_, cluster_, space_, run);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->best.size(), 2U);
    EXPECT_EQ(found->open_rows, 0U);
    const auto network = *run.network();
    std::size_t quicker = 0;
    for (const Candidate& each : tried()) {
        if (each.seconds < found->best.back().seconds) {
            const auto again = try_mapping(model_, cluster_, each.mapping, *network);
            quicker += again->seconds < found->best.back().seconds ? 1U : 0U;
        }
    }
    EXPECT_LE(quicker, 1U);
}

TEST_F(SearchTest, UnevenStagesAndSelectiveRecomputationAreTried) {
    model_ = *find_model("deepseek-v3");  // 61 layers.
    cluster_ = *find_preset("nvl72-xdr:4");
    space_.base.gpus = 256;
    space_.base.batch = 1024;
    space_.base.sequence = 4096;
    const auto all = candidates(model_, cluster_, space_);
    EXPECT_TRUE(std::ranges::any_of(all, [](const Mapping& mapping) {
        return mapping.pp == 8 && mapping.interleave == 4 && mapping.ep == 32 && mapping.uneven &&
               mapping.recompute == Recompute::kSelective;
    }));
}

TEST_F(SearchTest, SelectiveRecomputationIsTriedWithFusedAttentionToo) {
    space_.base.attention = AttentionKernel::kFlash;
    const auto all = candidates(model_, cluster_, space_);
    for (const Recompute each : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        EXPECT_TRUE(std::ranges::count(all, each, &Mapping::recompute) > 0) << to_string(each);
    }
}

TEST_F(SearchTest, AStoppedSearchReturnsWhatItHas) {
    int asked = 0;
    SearchRun run;
    run.stop = [&] { return ++asked > 200; };
    const auto found = search(model_, cluster_, space_, run);
    EXPECT_TRUE(found->stopped);
    EXPECT_LE(found->best.size(), 10U);
}

}  // namespace
}  // namespace softib::plan
