// SPDX-License-Identifier: BSD-2-Clause
// What each kind of mapping costs and saves: HSDP, divided experts, the exchanges of context
// parallelism, adapters, recomputation of some layers, activations in the host's memory.
#include <gtest/gtest.h>

#include "plan/cluster/presets.h"
#include "plan/train/job.h"
#include "plan/train/memory.h"
#include "plan/train/step.h"

namespace softib::plan {
namespace {

constexpr auto kData = static_cast<std::size_t>(Dimension::kData);
constexpr auto kContext = static_cast<std::size_t>(Dimension::kContext);
constexpr auto kExpert = static_cast<std::size_t>(Dimension::kExpert);

class Kinds : public testing::Test {
  protected:
    Step step(const Mapping& mapping) const {
        EXPECT_EQ(find_fault(model_, cluster_, mapping), std::nullopt);
        return time_step(model_, cluster_, mapping, LinkCommunication(cluster_));
    }
    std::string fault(const Mapping& mapping) const {
        return find_fault(model_, cluster_, mapping).value_or("");
    }

    Model model_ = *find_model("llama3.1-70b");
    Cluster cluster_ = *find_preset("hgx-h100:8");
    Mapping mapping_{.gpus = 64,
                     .tp = 2,
                     .zero = 3,
                     .batch = 128,
                     .sequence = 8192,
                     .recompute = Recompute::kFull};
};

TEST_F(Kinds, GroupsOfHsdpKeepMoreAndSendLess) {
    Mapping groups = mapping_;
    groups.hsdp = 4;  // Those of a node, whose 8 GPUs are 4 pairs.
    const Step all = step(mapping_);
    const Step some = step(groups);
    EXPECT_NEAR(some.memory.weights / all.memory.weights, 8, 1e-9);
    EXPECT_NEAR(some.memory.optimizer / all.memory.optimizer, 8, 1e-9);
    EXPECT_LT(some.bytes[kData].fabric, all.bytes[kData].fabric / 4);
    // Each rank adds up a quarter of all gradients with those of 8 groups.
    const double part = total_parameters(model_) / 2 / 4 * mapping_.grad_bytes;
    EXPECT_NEAR(some.bytes[kData].fabric / (2 * part * 7 / 8), 1, 0.01);
    EXPECT_LT(some.seconds, all.seconds);
    groups.hsdp = 5;
    EXPECT_NE(fault(groups).find("hsdp 5 must divide the 32 ranks with the same parameters; use 4"),
              std::string::npos);
    groups.hsdp = 4;
    groups.zero = 0;
    EXPECT_NE(fault(groups).find("use zero 1, 2 or 3"), std::string::npos);
}

TEST_F(Kinds, DividedExpertsHoldLessAndExchangeMore) {
    model_ = *find_model("qwen3-30b-a3b");
    mapping_ = {.gpus = 64, .ep = 8, .batch = 512, .sequence = 4096};
    Mapping divided = mapping_;
    divided.etp = 2;
    const auto first = first_layers(model_, mapping_);
    const double whole = held_parameters(model_, mapping_, first, 0).experts;
    EXPECT_NEAR(held_parameters(model_, divided, first, 0).experts / whole, 0.5, 1e-9);
    EXPECT_GT(step(divided).bytes[kExpert].nvlink, 1.5 * step(mapping_).bytes[kExpert].nvlink);
    const Groups groups = groups_of(divided);
    EXPECT_EQ(groups.expert_tensor, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(groups.expert[1], 2U);
    EXPECT_EQ(groups.expert_data, (std::vector<std::uint32_t>{0, 16, 32, 48}));
    divided.etp = 3;
    EXPECT_NE(fault(divided).find("etp 3 must divide"), std::string::npos);
}

TEST_F(Kinds, ContextParallelismExchangesByItsKind) {
    mapping_ = {.gpus = 64, .tp = 2, .cp = 4, .batch = 64, .sequence = 32'768};
    const Step ring = step(mapping_);
    Mapping other = mapping_;
    other.cp_comm = ContextExchange::kGather;
    const Step gather = step(other);
    other.cp_comm = ContextExchange::kAllToAll;
    const Step exchange = step(other);
    // Keys and values of 3 others, forward and twice backward; a2a sends 8 times wider queries.
    EXPECT_NEAR(gather.bytes[kContext].nvlink / ring.bytes[kContext].nvlink, 1, 1e-6);
    EXPECT_GT(exchange.bytes[kContext].nvlink, ring.bytes[kContext].nvlink);
    // A ring hides its exchange; its kernels see short runs of keys.
    EXPECT_EQ(ring.parts.exposed[kContext], 0);
    EXPECT_GT(gather.parts.exposed[kContext], 0);
    EXPECT_GT(exchange.parts.exposed[kContext], 0);
    EXPECT_GE(ring.parts.attention, gather.parts.attention);
    other.cp = 32;
    other.tp = 1;
    other.sequence = 1 << 20;
    other.gpus = 32;
    model_.heads = 48;
    EXPECT_NE(fault(other).find("heads of a rank that a2a exchanges"), std::string::npos);
}

TEST_F(Kinds, AdaptersAreAllThatIsTrained) {
    mapping_ = {.gpus = 64, .tp = 4, .batch = 128, .sequence = 8192};
    Mapping adapted = mapping_;
    adapted.lora = 16;
    const Step whole = step(mapping_);
    const Step few = step(adapted);
    EXPECT_LT(few.memory.gradients, whole.memory.gradients / 100);
    EXPECT_LT(few.memory.optimizer, whole.memory.optimizer / 100);
    EXPECT_LT(few.bytes[kData].nvlink, whole.bytes[kData].nvlink / 100);
    EXPECT_EQ(few.memory.weights, whole.memory.weights);
    // Two of three products are left, and narrow ones.
    EXPECT_NEAR(few.parts.matmul / whole.parts.matmul, 0.72, 0.06);
    EXPECT_NEAR(few.model_flops / whole.model_flops, 0.68, 0.02);
    adapted.lora_targets = AdapterTargets::kAttention;
    EXPECT_LT(step(adapted).parts.matmul, few.parts.matmul);
    adapted.recipe = Recipe::kFp8;  // Frozen parameters are held as products take them.
    EXPECT_NEAR(step(adapted).memory.weights / few.memory.weights, 0.5, 1e-9);
}

TEST_F(Kinds, AsFewLayersAreComputedAgainAsFit) {
    Mapping some = mapping_;
    some.recompute_layers = 40;
    Mapping none = mapping_;
    none.recompute = Recompute::kNone;
    EXPECT_LT(step(none).seconds, step(some).seconds);
    EXPECT_LT(step(some).seconds, step(mapping_).seconds);
    EXPECT_NEAR((step(some).hardware_flops - step(none).hardware_flops) /
                    (step(mapping_).hardware_flops - step(none).hardware_flops),
                0.5, 1e-9);
    Mapping least = mapping_;
    least.micro_batch = 4;
    recompute_least(model_, cluster_.gpu, least);
    ASSERT_EQ(least.recompute, Recompute::kFull);
    ASSERT_GT(least.recompute_layers, 0U);
    EXPECT_TRUE(memory_use(model_, cluster_.gpu, least).fits());
    --least.recompute_layers;
    EXPECT_FALSE(memory_use(model_, cluster_.gpu, least).fits());
    some.recompute = Recompute::kSelective;
    EXPECT_NE(fault(some).find("is for recompute full"), std::string::npos);
}

TEST_F(Kinds, ActivationsInTheHostsMemoryTakeTimeOnlyOverASlowLink) {
    mapping_.recompute = Recompute::kNone;
    Mapping away = mapping_;
    away.offload_layers = 40;
    const Step here = step(mapping_);
    EXPECT_NEAR(step(away).memory.activations / here.memory.activations, 42.0 / 80, 1e-9);
    cluster_.gpu.host_bytes_per_s = 1e12;
    EXPECT_NEAR(step(away).seconds / here.seconds, 1, 1e-9);
    cluster_.gpu.host_bytes_per_s = 1e9;
    EXPECT_GT(step(away).seconds, 1.5 * here.seconds);
    away.pp = 2;
    away.zero = 1;
    EXPECT_NE(fault(away).find("needs pp 1"), std::string::npos);
    mapping_.offload_optimizer = true;
    EXPECT_EQ(step(mapping_).memory.optimizer, 0);
}

TEST_F(Kinds, StagesAreCutIntoChunksWhereThatHelps) {
    const JobWish wish{.gpus = 64, .tp = 4, .pp = 4, .batch = 128};
    const Job job = job_to_time(model_, cluster_, wish);
    EXPECT_GT(job.mapping.interleave, 1U);
    Mapping one = job.mapping;
    one.interleave = 1;
    EXPECT_LT(step(job.mapping).seconds, step(one).seconds);
    JobWish said = wish;
    said.interleave = 1;
    EXPECT_EQ(job_to_time(model_, cluster_, said).mapping.interleave, 1U);
    said.interleave = 0;
    said.preset = *find_framework("megatron-lm");
    EXPECT_EQ(job_to_time(model_, cluster_, with_defaults(said)).mapping.interleave, 1U);
}

TEST_F(Kinds, MetasMappingsOf405BFit) {
    model_ = *find_model("llama3.1-405b");
    cluster_ = *find_preset("meta-roce-24k");
    for (const std::uint32_t gpus : {8192U, 16'384U}) {
        const Job job = job_to_time(
            model_, cluster_,
            {.gpus = gpus, .tp = 8, .pp = 16, .batch = 2048, .framework = {.uneven = true}});
        EXPECT_TRUE(memory_use(model_, cluster_.gpu, job.mapping).fits()) << gpus;
        EXPECT_EQ(job.mapping.interleave, 8U);
    }
    const Job longer = job_to_time(model_, cluster_,
                                   {.gpus = 16'384,
                                    .tp = 8,
                                    .pp = 16,
                                    .cp = 16,
                                    .batch = 128,
                                    .sequence = 131'072,
                                    .framework = {.uneven = true}});
    EXPECT_TRUE(memory_use(model_, cluster_.gpu, longer.mapping).fits());
}

}  // namespace
}  // namespace softib::plan
