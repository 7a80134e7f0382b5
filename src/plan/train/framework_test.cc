// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/framework.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace softib::plan {
namespace {

std::string_view by_of(const std::vector<Choice>& choices, std::string_view name) {
    return std::ranges::find(choices, name, &Choice::name)->by;
}

TEST(Frameworks, WhatTheUserSaysStays) {
    const Framework& fsdp = **find_framework("fsdp2");
    constexpr std::string_view kGiven[]{"grad_bytes", "no_overlap_dp"};
    Mapping mapping{.gpus = 8, .grad_bytes = 4, .overlap_dp = false};
    apply_framework(fsdp, kGiven, mapping);
    EXPECT_EQ(mapping.zero, 3U);
    EXPECT_EQ(mapping.grad_bytes, 4U);
    EXPECT_FALSE(mapping.overlap_dp);
    const auto choices = choices_of(mapping, &fsdp, kGiven);
    EXPECT_EQ(by_of(choices, "zero"), "framework");
    EXPECT_EQ(by_of(choices, "grad_bytes"), "user");
    EXPECT_EQ(by_of(choices, "overlap_dp"), "user");
    EXPECT_EQ(by_of(choices, "recompute"), "planner");
    EXPECT_EQ(by_of(choices_of(mapping, nullptr, {}), "zero"), "planner");
}

TEST(Frameworks, DefaultsFollowTheRecipeAndTheChunks) {
    const Framework& bridge = **find_framework("megatron-bridge");
    Mapping mapping{.gpus = 8, .recipe = Recipe::kFp8};
    apply_framework(bridge, {}, mapping);
    EXPECT_EQ(mapping.param_bytes, 1U);
    EXPECT_FALSE(mapping.overlap_pp);
    mapping.recipe = Recipe::kBf16;
    mapping.interleave = 2;
    apply_framework(bridge, {}, mapping);
    EXPECT_EQ(mapping.param_bytes, 2U);
    EXPECT_TRUE(mapping.overlap_pp);
    EXPECT_EQ(mapping.tp_overlap, TensorOverlap::kAll);
}

TEST(Frameworks, AnUnknownNameIsToldTheNearest) {
    EXPECT_NE(find_framework("megatron-ml").error().find("did you mean 'megatron-lm'"),
              std::string::npos);
}

}  // namespace
}  // namespace softib::plan
