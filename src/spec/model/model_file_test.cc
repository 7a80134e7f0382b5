// SPDX-License-Identifier: BSD-2-Clause
#include "spec/model/model_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace softib::spec {
namespace {

constexpr char kSmall[] =
    "name = \"small\"\nlayers = 12\nhidden = 768\nheads = 12\nffn = 3072\n"
    "vocabulary = 50257\nsequence = 1024\nbiases = true\nlearned_positions = true\n"
    "tied_embeddings = true\n";

std::string error_of(const std::string& text) {
    const auto model = parse_model(text, "a.toml");
    return model ? "" : model.error();
}

TEST(ModelFile, HyperParametersGiveTheParametersOfGpt2) {
    const auto model = parse_model(kSmall, "a.toml");
    ASSERT_TRUE(model) << model.error();
    EXPECT_EQ(model->name, "small");
    EXPECT_EQ(model->kv_heads, 12U);
    EXPECT_EQ(model->head_dim, 64U);
    EXPECT_EQ(plan::total_parameters(*model), 124'439'808.0);
}

TEST(ModelFile, AFileOfThePlannerIsItsPreset) {
    for (const plan::Model& preset : plan::model_presets()) {
        const auto model = load_model(fmt::format("{}/{}.toml", SOFTIB_MODELS, preset.name));
        ASSERT_TRUE(model) << model.error();
        EXPECT_EQ(*model, preset) << preset.name;
        EXPECT_FALSE(plan::find_fault(preset)) << preset.name;
    }
}

TEST(ModelFile, ABaseHasWhatTheFileDoesNotSay) {
    const auto model = parse_model("base = \"llama3.1-8b\"\nlayers = 16\n", "a.toml");
    ASSERT_TRUE(model) << model.error();
    EXPECT_EQ(model->layers, 16U);
    EXPECT_EQ(model->ffn, 14'336U);
    EXPECT_EQ(model->name, "a.toml");
}

TEST(ModelFile, ErrorsNameThePlaceTheKeyAndTheNearestOne) {
    EXPECT_EQ(error_of("layer = 12\n"), "a.toml:1:9: unknown key 'layer'; did you mean 'layers'?");
    EXPECT_EQ(error_of("layers = \"12\"\n"),
              "a.toml:1:10: layers must be a whole number from 0 to 100000000");
    EXPECT_EQ(error_of("\ngated = 1\n"), "a.toml:2:9: gated must be true or false");
    EXPECT_EQ(error_of("base = \"llama3.1-8\"\n"),
              "a.toml:1:8: base: unknown model 'llama3.1-8'; did you mean 'llama3.1-8b'?");
    EXPECT_EQ(error_of("layers = 12\n"),
              "a.toml: hidden is missing: give it a number of at least 1");
    EXPECT_TRUE(error_of("layers = = 2\n").starts_with("a.toml:1:"));
}

TEST(ModelFile, APresetOrAFileByItsName) {
    EXPECT_TRUE(named_model("gpt3-175b"));
    EXPECT_EQ(named_model("./none.toml").error(),
              "cannot read ./none.toml: No such file or directory");
}

}  // namespace
}  // namespace softib::spec
