// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace softib::plan {
namespace {

TEST(Model, EveryPresetIsWholeAndNamesItsSource) {
    for (const Model& model : model_presets()) {
        SCOPED_TRACE(model.name);
        EXPECT_EQ(find_fault(model), std::nullopt);
        EXPECT_FALSE(model.source.empty());
        EXPECT_EQ(find_model(model.name)->hidden, model.hidden);
    }
}

TEST(Model, ParametersRoundToThoseThatPapersPrint) {
    const struct {
        const char* model;
        const char* total;
    } printed[] = {
        {"megatron-1.7b", "1.7"},   {"megatron-3.6b", "3.6"},   {"megatron-7.5b", "7.5"},
        {"megatron-18b", "18.4"},   {"megatron-39b", "39.1"},   {"megatron-76b", "76.1"},
        {"megatron-145b", "145.6"}, {"megatron-310b", "310.1"}, {"megatron-530b", "529.6"},
        {"megatron-1t", "1008.0"},  {"llama3.1-8b", "8.0"},     {"llama3.1-70b", "70.6"},
        {"llama3.1-405b", "405.9"}, {"deepseek-v3", "671.0"}};
    for (const auto& [model, total] : printed) {
        EXPECT_EQ(fmt::format("{:.1f}", total_parameters(*find_model(model)) / 1e9), total);
    }
}

TEST(Model, LlamaHasExactlyThePublishedParameters) {
    EXPECT_EQ(total_parameters(*find_model("llama3.1-8b")), 8'030'261'248.0);
    EXPECT_EQ(total_parameters(*find_model("llama3.1-70b")), 70'553'706'496.0);
    EXPECT_EQ(total_parameters(*find_model("llama3.1-405b")), 405'853'388'800.0);
}

TEST(Model, ATokenOfDeepSeekMeets37BillionParameters) {
    EXPECT_EQ(fmt::format("{:.0f}", active_parameters(*find_model("deepseek-v3")) / 1e9), "38");
    const Model dense = *find_model("gpt3-175b");
    EXPECT_EQ(active_parameters(dense), total_parameters(dense));
}

/// Equation 3 of the Megatron paper has four passes; a step without recomputation has three.
TEST(Model, FlopsAreThoseOfTheMegatronPaper) {
    const Model model = *find_model("megatron-145b");
    const double h = model.hidden;
    const double l = model.layers;
    const double s = model.sequence;
    const double v = model.vocabulary;
    const double layers = 72 * l * h * h * (1 + s / (6 * h));
    EXPECT_NEAR(flops_per_token(model, model.sequence, true) / (layers + 6 * v * h), 1, 1e-9);
    const double scores = score_flops_per_token(model, model.sequence, true);
    EXPECT_EQ(score_flops_per_token(model, model.sequence, false), scores / 2);
}

TEST(Model, AMisspeltNameGetsTheNearestOne) {
    const auto found = find_model("gpt3-175");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error(), "unknown model 'gpt3-175'; did you mean 'gpt3-175b'?");
}

TEST(Model, AFaultNamesTheHyperParameter) {
    Model model = *find_model("llama3.1-8b");
    model.kv_heads = 5;
    EXPECT_EQ(find_fault(model), "kv_heads 5 must divide the 32 heads");
    model = *find_model("llama3.1-8b");
    model.vocabulary = 0;
    EXPECT_EQ(find_fault(model), "vocabulary is missing: give it a number of at least 1");
    model = *find_model("deepseek-v3");
    model.top_k = 300;
    EXPECT_EQ(find_fault(model), "top_k 300 must be at most the 256 experts");
}

TEST(Model, NumbersOfExpertsAndOfLatentAttentionAreRefusedWithoutThem) {
    std::uint32_t Model::* const experts[] = {&Model::top_k, &Model::expert_ffn,
                                              &Model::shared_experts, &Model::dense_layers,
                                              &Model::nodes_per_token};
    std::uint32_t Model::* const latent[] = {&Model::q_rank, &Model::rope_dim, &Model::value_dim};
    const auto refused = [](std::uint32_t Model::* number) {
        Model model = *find_model("llama3.1-8b");
        model.*number = 4;
        return find_fault(model).value_or("accepted");
    };
    for (const auto number : experts) {
        EXPECT_TRUE(refused(number).contains(" 4 is for models with experts, which is 0"));
    }
    for (const auto number : latent) {
        EXPECT_TRUE(refused(number).contains(" 4 is for models with kv_rank, which is 0"));
    }
}

}  // namespace
}  // namespace softib::plan
