// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

constexpr double kWatts = 500;

/// Returns kernels with the times of a GPU that has these rates.
std::vector<TimedKernel> times_of(Gpu gpu) {
    std::vector<TimedKernel> kernels;
    for (const Recipe recipe : {Recipe::kBf16, Recipe::kFp8}) {
        for (const double m : {512, 2048, 8192}) {
            for (const double n : {1536, 4096, 28672}) {
                for (const double k : {512, 4096, 14336}) {
                    kernels.push_back({.recipe = recipe, .m = m, .n = n, .k = k});
                }
            }
        }
    }
    kernels.push_back({.kind = KernelKind::kFlash, .flops = 5e11});
    kernels.push_back({.kind = KernelKind::kFlashBackward, .flops = 5e11});
    kernels.push_back({.kind = KernelKind::kPass, .bytes = 1e9});
    kernels.push_back({.kind = KernelKind::kStart});
    for (TimedKernel& kernel : kernels) {
        kernel.seconds = seconds_of(gpu, kernel);
    }
    return kernels;
}

/// An H200 of less power with rates of its own.
Gpu odd_gpu() {
    Gpu gpu = *find_gpu("H200");
    gpu.power_w = kWatts;
    Rates& rates = gpu.rates;
    rates.watts_per_sm = kWatts / gpu.sms;
    rates.matmul[static_cast<std::size_t>(Recipe::kBf16)] = 0.51;
    rates.matmul[static_cast<std::size_t>(Recipe::kFp8)] = 0.41;
    rates.result = 0.7;
    rates.small_tile = 0.8;
    rates.start_us = 5;
    rates.flash = 0.33;
    rates.flash_backward = 0.22;
    rates.memory = 0.66;
    return gpu;
}

TEST(Calibration, FindsTheRatesFromTheirTimes) {
    const Gpu gpu = odd_gpu();
    const auto kernels = times_of(gpu);
    const Gpu h200 = *find_gpu("H200");
    const auto found = calibrate(h200, kWatts, h200.rates, kernels);
    ASSERT_TRUE(found) << found.error();
    const auto near = [](double ours, double truth, double part) {
        EXPECT_NEAR(ours / truth, 1, part) << truth;
    };
    near(found->matmul[0], 0.51, 0.01);
    near(found->matmul[static_cast<std::size_t>(Recipe::kFp8)], 0.41, 0.01);
    near(found->small_tile, 0.8, 0.02);
    near(found->result, 0.7, 0.1);
    near(found->start_us, 5, 1e-9);
    near(found->flash, 0.33, 1e-6);
    near(found->flash_backward, 0.22, 1e-6);
    near(found->memory, 0.66, 1e-6);
    // A GPU of 700 W runs at a higher clock than the one of 500 W that was measured.
    near(found->watts_per_sm, kWatts / 132, 1e-9);
    // What was not measured is that of the base.
    EXPECT_EQ(found->matmul[static_cast<std::size_t>(Recipe::kFp8Block)], 0.563);
    EXPECT_EQ(found->host_us, h200.rates.host_us);
}

TEST(Calibration, KeepsWhatIsFittedOnSteps) {
    const Gpu b200 = *find_gpu("B200");
    ASSERT_NE(b200.rates.in_steps, 1);
    Gpu alone = b200;
    alone.rates.in_steps = 1;
    const auto found = calibrate(b200, b200.power_w, b200.rates, times_of(alone));
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found->in_steps, b200.rates.in_steps);
    EXPECT_NEAR(found->matmul[0], b200.rates.matmul[0], 0.01);
}

TEST(Calibration, RefusesTimesOfAnotherGpu) {
    const Gpu h200 = *find_gpu("H200");
    const auto error = [&](const Gpu& measured, const Gpu& said) {
        const auto found = calibrate(said, said.power_w, said.rates, times_of(measured));
        return found ? "" : found.error();
    };
    EXPECT_TRUE(error(*find_gpu("B200"), *find_gpu("A100")).contains("A100 or more"));
    Gpu slow = h200;
    for (double& peak : slow.peak_flops) {
        peak /= 1e4;
    }
    EXPECT_TRUE(error(slow, h200).contains("of the peak of H200 or less"));
    // Ampere has no products of 8 bits.
    Gpu quick = *find_gpu("A100");
    quick.peak_flops[static_cast<std::size_t>(Precision::kBf16)] = 2e15;
    quick.memory_bytes_per_s = 1e13;
    EXPECT_TRUE(error(h200, quick).contains("A100 has no rate for products in fp8"));
    EXPECT_EQ(calibrate(h200, 700, h200.rates, {}).error(),
              "the measurements have no passes over memory");
}

}  // namespace
}  // namespace softib::plan
