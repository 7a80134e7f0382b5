// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

/// A product that was timed on an H200 by itself (PyTorch 2.11, CUDA 13.0).
struct Timed {
    Recipe recipe;
    double m, n, k;
    double seconds;
};
constexpr Timed kTimed[] = {
    {Recipe::kBf16, 8192, 8192, 8192, 1586.7e-6},
    {Recipe::kBf16, 4096, 4096, 4096, 205.2e-6},
    {Recipe::kBf16, 8192, 28672, 4096, 2866.6e-6},
    {Recipe::kBf16, 8192, 4096, 14336, 1400.8e-6},
    {Recipe::kBf16, 8192, 8192, 2048, 428.3e-6},
    {Recipe::kBf16, 512, 4096, 7168, 47.9e-6},
    {Recipe::kBf16, 4096, 1536, 2048, 45.7e-6},
    {Recipe::kBf16, 8192, 512, 2048, 30.4e-6},
    {Recipe::kBf16, 4096, 32768, 512, 238.6e-6},
    {Recipe::kBf16, 4096, 512, 16384, 105.1e-6},
    {Recipe::kFp8, 8192, 8192, 8192, 837.7e-6},
    {Recipe::kFp8, 8192, 4096, 14336, 723.5e-6},
    {Recipe::kFp8, 4096, 7168, 2048, 101.8e-6},
    {Recipe::kFp8, 1024, 4096, 7168, 49.1e-6},
    {Recipe::kFp8, 4096, 24576, 1536, 268.3e-6},
    {Recipe::kFp8Block, 8192, 8192, 7168, 877.8e-6},
    {Recipe::kFp8Block, 2048, 4096, 7168, 113.1e-6},
};

TEST(Kernels, ProductsTakeAsLongAsOnAnH200) {
    const Gpu gpu = *find_gpu("H200");
    double sum = 0;
    for (const Timed& each : kTimed) {
        const Kernels kernels(gpu, each.recipe);
        const double error = kernels.matmul(each.m, each.n, each.k) / each.seconds - 1;
        // The rates are those of seconds of work, 4.6 % less than those of one product, and those
        // of FP8 are means of two kinds of accumulation.
        EXPECT_NEAR(error, 0.05, 0.11)
            << each.m << " " << each.n << " " << each.k << " " << to_string(each.recipe);
        sum += std::abs(error - 0.05);
    }
    EXPECT_LT(sum / std::size(kTimed), 0.05);
}

TEST(Kernels, GroupedProductsTakeAsLongAsOnAnH200) {
    const Kernels kernels(*find_gpu("H200"), Recipe::kBf16);
    // 8 experts of 4,096 tokens each, and 16 of 4,096 with narrow experts.
    EXPECT_NEAR(kernels.matmul(4096, 4096, 7168, 8) / (8 * 2.0 * 4096 * 4096 * 7168 / 675e12), 1,
                0.08);
    EXPECT_NEAR(kernels.matmul(4096, 1536, 2048, 16) / (16 * 2.0 * 4096 * 1536 * 2048 / 608e12), 1,
                0.08);
}

TEST(Kernels, AttentionTakesAsLongAsOnAnH200) {
    const Kernels kernels(*find_gpu("H200"), Recipe::kBf16);
    const double flops = 2.0 * 32 * 8192 * 8192 * 128;  // Causal, 32 heads of 128.
    const Kernels::Attention work{.flops = flops, .tokens = 8192, .width = 128};
    EXPECT_NEAR(kernels.flash_attention(work) / 994.7e-6, 1, 0.03);
    EXPECT_NEAR(kernels.flash_attention_backward(work) / 2809.9e-6, 1, 0.03);
}

TEST(Kernels, ShortRunsOfTokensAndNarrowHeadsTakeLonger) {
    const Kernels kernels(*find_gpu("H200"), Recipe::kBf16);
    const auto seconds = [&](double tokens, double width) {
        const Kernels::Attention work{.flops = 1e12, .tokens = tokens, .width = width};
        return kernels.flash_attention(work) + kernels.flash_attention_backward(work);
    };
    // cuDNN of an H200: forward and backward pass over 4,096 tokens of 32 heads of 128 took 1.20
    // times as long for an operation as over 8,192, and over 8,192 with heads of 64 1.27 times.
    EXPECT_NEAR(seconds(4096, 128) / seconds(8192, 128), 1.20, 0.03);
    EXPECT_NEAR(seconds(8192, 64) / seconds(8192, 128), 1.27, 0.06);
    EXPECT_EQ(seconds(32768, 128), seconds(8192, 128));
}

TEST(Kernels, TheSlowestOfManyGpusIsFurtherFromTheMean) {
    // Means of the greatest of n standard normal numbers (Tippett, 1925).
    EXPECT_EQ(deviations_of_slowest(1), 0);
    EXPECT_NEAR(deviations_of_slowest(8), 1.424, 0.02);
    EXPECT_NEAR(deviations_of_slowest(100), 2.508, 0.02);
    EXPECT_NEAR(deviations_of_slowest(1000), 3.241, 0.02);
    Gpu gpu = *find_gpu("H200");
    gpu.rates.spread = 0.02;
    const double one = Kernels(gpu, Recipe::kBf16).matmul(16384, 16384, 16384);
    const double many = Kernels(gpu, Recipe::kBf16, 0, 1000).matmul(16384, 16384, 16384);
    EXPECT_NEAR(many / one, 1 + 0.02 * 3.241, 0.002);
}

TEST(Kernels, ATileThatIsNotFullTakesAsLongAsAFullOne) {
    const Kernels kernels(*find_gpu("H200"), Recipe::kBf16);
    // By hand: 132 multiprocessors compute 264 tiles of 128 x 256 in two waves of
    // 2 * 128 * 256 * 4096 operations at 0.687 of 989.4 TFLOP/s / 132, and write half beside.
    const double wave = 2.0 * 128 * 256 * 4096 * 132 / (0.687 * 989.4e12);
    const double result = 0.5 * 2 * 128 * 256 * 264 / (0.86 * 4.8e12);
    EXPECT_NEAR(kernels.matmul(128 * 264, 256, 4096), 2 * wave + result + 3e-6, 1e-9);
    EXPECT_GT(kernels.matmul(128 * 265, 256, 4096), kernels.matmul(128 * 264, 256, 4096) * 1.2);
}

TEST(Kernels, MorePowerForAMultiprocessorIsAHigherClock) {
    Gpu gpu = *find_gpu("B200");
    const double before = Kernels(gpu, Recipe::kFp8).matmul(8192, 8192, 8192);
    gpu.power_w *= 2;
    const double after = Kernels(gpu, Recipe::kFp8).matmul(8192, 8192, 8192);
    EXPECT_NEAR(before / after, std::pow(2, 0.4), 0.03);
}

TEST(Kernels, ConversionsTakeTheBytesThatARecipeMoves) {
    const Gpu gpu = *find_gpu("H200");
    EXPECT_EQ(Kernels(gpu, Recipe::kBf16).convert(1e6), 0);
    EXPECT_NEAR(Kernels(gpu, Recipe::kFp8).convert(1e9), 6e9 / (0.86 * 4.8e12) + 3 * 3e-6, 1e-9);
    EXPECT_NEAR(Kernels(gpu, Recipe::kFp8Block).convert(1e9), 4e9 / (0.86 * 4.8e12) + 3e-6, 1e-9);
}

}  // namespace
}  // namespace softib::plan
