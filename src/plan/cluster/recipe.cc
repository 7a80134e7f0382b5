// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/recipe.h"

#include <algorithm>

namespace softib::plan {

namespace {

constexpr std::array<const char*, kPrecisions.size()> kPrecisionNames{"fp32", "tf32", "fp16",
                                                                      "bf16", "fp8",  "fp4"};
constexpr std::array kNames{"bf16", "fp16", "fp8", "fp8-block", "mxfp8", "nvfp4"};

}  // namespace

const char* to_string(Precision precision) {
    return kPrecisionNames[static_cast<std::size_t>(precision)];
}

std::optional<Precision> parse_precision(std::string_view text) {
    const auto found = std::ranges::find(kPrecisionNames, text);
    if (found == kPrecisionNames.end()) {
        return std::nullopt;
    }
    return kPrecisions[static_cast<std::size_t>(found - kPrecisionNames.begin())];
}

double bytes_of(Precision precision) {
    switch (precision) {
        case Precision::kFp32:
        case Precision::kTf32:
            return 4;
        case Precision::kFp16:
        case Precision::kBf16:
            return 2;
        case Precision::kFp8:
            return 1;
        case Precision::kFp4:
            break;
    }
    return 0.5;
}

const char* to_string(Recipe recipe) {
    return kNames[static_cast<std::size_t>(recipe)];
}

std::optional<Recipe> parse_recipe(std::string_view text) {
    const auto found = std::ranges::find(kNames, text);
    return found == kNames.end() ? std::nullopt
                                 : std::optional(static_cast<Recipe>(found - kNames.begin()));
}

std::string_view recipe_names() {
    return "bf16, fp16, fp8, fp8-block, mxfp8 or nvfp4";
}

Precision precision_of(Recipe recipe) {
    switch (recipe) {
        case Recipe::kBf16:
            return Precision::kBf16;
        case Recipe::kFp16:
            return Precision::kFp16;
        case Recipe::kFp8:
        case Recipe::kFp8Block:
        case Recipe::kMxfp8:
            return Precision::kFp8;
        case Recipe::kNvfp4:
            break;
    }
    return Precision::kFp4;
}

}  // namespace softib::plan
