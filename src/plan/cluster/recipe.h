// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The types of numbers that GPUs multiply, and the recipes of training jobs: the type of the
// numbers that enter matrix products, and how these are scaled.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace softib::plan {

/// The types that matrix units multiply.
enum class Precision : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8, kFp4 };
inline constexpr std::array kPrecisions{Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                        Precision::kBf16, Precision::kFp8,  Precision::kFp4};
const char* to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view text);
/// Returns the bytes of one number; FP4 takes half a byte.
double bytes_of(Precision precision);

enum class Recipe : std::uint8_t {
    kBf16,
    kFp16,
    kFp8,       ///< FP8 with a scale for each tensor (current or delayed scaling).
    kFp8Block,  ///< FP8 with scales for blocks of 128 numbers, as DeepSeek-V3 has.
    kMxfp8,     ///< FP8 with scales for 32 numbers, which the matrix units apply.
    kNvfp4,     ///< FP4 with scales for 16 numbers, which the matrix units apply.
};
inline constexpr std::array kRecipes{Recipe::kBf16,     Recipe::kFp16,  Recipe::kFp8,
                                     Recipe::kFp8Block, Recipe::kMxfp8, Recipe::kNvfp4};
const char* to_string(Recipe recipe);
std::optional<Recipe> parse_recipe(std::string_view text);
/// Returns "bf16, fp16, fp8 ... or nvfp4".
std::string_view recipe_names();
/// Returns the type of the numbers that enter matrix products.
Precision precision_of(Recipe recipe);
/// Returns whether numbers are converted before they enter matrix products.
inline bool converts(Recipe recipe) {
    return recipe != Recipe::kBf16 && recipe != Recipe::kFp16;
}

}  // namespace softib::plan
