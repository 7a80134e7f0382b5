// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/mapping.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

/// Returns a mapping of GPT-3 on 1,024 H100 without a fault.
Mapping whole() {
    Mapping mapping;
    mapping.gpus = 1024;
    mapping.tp = 8;
    mapping.pp = 8;
    mapping.interleave = 3;
    mapping.batch = 1536;
    mapping.sequence = 2048;
    return mapping;
}

class MappingFaults : public testing::Test {
  protected:
    std::string fault(auto edit, const char* model = "gpt3-175b") const {
        Mapping mapping = whole();
        edit(mapping);
        return find_fault(*find_model(model), cluster_, mapping).value_or("");
    }
    Cluster cluster_ = *find_preset("superpod-h100");
};

TEST_F(MappingFaults, NoneInAMappingThatDivides) {
    EXPECT_EQ(fault([](Mapping&) {}), "");
}

TEST_F(MappingFaults, NameTheFieldAndTheNearestValue) {
    EXPECT_EQ(fault([](Mapping& m) { m.tp = 7; }),
              "tp 7 must divide the 96 attention heads of gpt3-175b; use 6 or 8");
    EXPECT_EQ(fault([](Mapping& m) {
                  m.pp = 7;
                  m.interleave = 1;
              }),
              "pp 7 must divide the 96 layers of gpt3-175b; use 6 or 8, or --uneven");
    EXPECT_EQ(fault([](Mapping& m) { m.pp = 10; }),
              "pp 10 times interleave 3 must divide the 96 layers of gpt3-175b; use pp 8 or 16, or "
              "--uneven");
    EXPECT_EQ(fault([](Mapping& m) { m.interleave = 5; }),
              "pp 8 times interleave 5 must divide the 96 layers of gpt3-175b; use interleave 4 or "
              "6, or --uneven");
    EXPECT_EQ(fault([](Mapping& m) {
                  m.pp = 10;
                  m.interleave = 7;
              }),
              "pp 10 times interleave 7 must divide the 96 layers of gpt3-175b; use pp 8 or 12 and "
              "interleave 1, or --uneven");
    EXPECT_EQ(fault([](Mapping& m) { m.gpus = 1000; }),
              "gpus 1000 must be a multiple of tp x pp x cp = 64; use 960 or 1024");
    EXPECT_EQ(fault([](Mapping& m) { m.batch = 1000; }),
              "batch 1000 must be a multiple of dp 16 x micro-batch 1; use 992 or 1008");
    EXPECT_EQ(fault([](Mapping& m) { m.batch = 1552; }),
              "batch 1552 gives 97 micro-batches, and interleave 3 needs a multiple of pp 8; use "
              "batch 1536 or 1664, or interleave 1");
    EXPECT_EQ(fault([](Mapping& m) { m.ep = 2; }),
              "ep 2 needs experts, and gpt3-175b has none; use 1");
    EXPECT_EQ(fault([](Mapping& m) { m.gpus = 65'536; }),
              "gpus 65536 is more than the 2048 of cluster superpod-h100; use at most 2048");
    EXPECT_EQ(fault([](Mapping& m) { m.micro_batch = 0; }), "micro-batch must be at least 1");
    EXPECT_EQ(
        fault([](Mapping& m) { m.zero = 3; }),
        "zero 3 sends gradients in each micro-batch, which pipelines do not; use zero 1 or pp "
        "1");
    EXPECT_EQ(fault([](Mapping& m) { m.recipe = Recipe::kNvfp4; }),
              "precision nvfp4 is none of the H100's; use bf16");
}

TEST_F(MappingFaults, AStepOfMillionsOfPassesNamesTheLargestBatch) {
    // 16 replicas, each with 24 virtual stages.
    EXPECT_EQ(fault([](Mapping& m) { m.batch = 16 * 8 * 100'000; }),
              "batch 12800000 gives 800000 micro-batches in each of 24 stages, and at most 4194304 "
              "passes are timed; use batch 2796192 or less, or a larger micro-batch");
    EXPECT_EQ(fault([](Mapping& m) { m.batch = 16 * 8 * 10'000; }), "");
}

TEST(MappingGroups, ExpertsSpreadOverTensorContextAndDataRanks) {
    // 32 ranks of experts where only 16 replicas are: a job that was run so.
    Mapping mapping;
    mapping.gpus = 64;
    mapping.tp = 2;
    mapping.cp = 2;
    mapping.pp = 1;
    mapping.ep = 32;
    EXPECT_EQ(mapping.replicas(), 32U);
    EXPECT_EQ(mapping.stage_ranks(), 64U);
    EXPECT_EQ(mapping.expert_replicas(), 2U);
    const Groups groups = groups_of(mapping);
    std::vector<std::uint32_t> first(32);
    std::iota(first.begin(), first.end(), 0U);
    EXPECT_EQ(groups.expert, first);
    EXPECT_EQ(groups.expert_data, (std::vector<std::uint32_t>{0, 32}));
}

TEST_F(MappingFaults, ExpertsDivideAndFitTheRanksOfAStage) {
    const auto edit = [](Mapping& m) {
        m.tp = 1;
        m.pp = 1;
        m.interleave = 1;
        m.batch = 1024;
    };
    EXPECT_EQ(fault(
                  [&](Mapping& m) {
                      edit(m);
                      m.ep = 3;
                  },
                  "deepseek-v3"),
              "ep 3 must divide the 256 experts of deepseek-v3; use 2 or 4");
    EXPECT_EQ(fault(
                  [&](Mapping& m) {
                      edit(m);
                      m.gpus = 32;
                      m.ep = 64;
                  },
                  "deepseek-v3"),
              "ep 64 must divide the 32 ranks of tp x cp x dp; use 32");
}

TEST(Mapping, UnevenStagesAreShortAtTheEndsFirst) {
    EXPECT_EQ(layers_of_stages(96, 8), std::vector<std::uint32_t>(8, 12));
    EXPECT_EQ(layers_of_stages(14, 4), (std::vector<std::uint32_t>{3, 4, 4, 3}));
    EXPECT_EQ(layers_of_stages(126, 128).front(), 0U);
    EXPECT_EQ(layers_of_stages(126, 128).back(), 0U);
    for (std::uint32_t layers = 1; layers < 40; ++layers) {
        for (std::uint32_t stages = 1; stages <= layers; ++stages) {
            const auto counts = layers_of_stages(layers, stages);
            EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), layers);
        }
    }
}

TEST(Mapping, RanksOfTensorParallelismAreNeighboursAndStagesAreFarApart) {
    Mapping mapping = whole();
    const Groups groups = groups_of(mapping);
    EXPECT_EQ(groups.tensor, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(groups.data.size(), 16U);
    EXPECT_EQ(groups.data[1], 8U);
    EXPECT_EQ(groups.pipeline, (std::vector<std::uint32_t>{0, 128, 256, 384, 512, 640, 768, 896}));
}

TEST(Mapping, ExpertGroupsShareTheRanksOfDataParallelism) {
    Mapping mapping;
    mapping.gpus = 2048;
    mapping.pp = 16;
    mapping.ep = 64;
    const Groups groups = groups_of(mapping);
    EXPECT_EQ(groups.data.size(), 128U);
    EXPECT_EQ(groups.expert.size(), 64U);
    EXPECT_EQ(groups.expert_data, (std::vector<std::uint32_t>{0, 64}));
}

}  // namespace
}  // namespace softib::plan
