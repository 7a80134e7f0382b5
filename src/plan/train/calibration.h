// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the rates of a GPU (plan/cluster/rates.h) with which the model of kernels takes the times
// that measure_kernels.py took on the GPU itself.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cluster/cluster.h"

namespace softib::plan {

enum class KernelKind : std::uint8_t {
    kProduct,
    kFlash,
    kFlashBackward,
    kPass,   ///< Over memory: `bytes` are read and written.
    kStart,  ///< A kernel that does nothing.
};

/// A kernel whose time was measured.
struct TimedKernel {
    KernelKind kind = KernelKind::kProduct;
    Recipe recipe = Recipe::kBf16;  ///< That of a product.
    double m = 0;
    double n = 0;
    double k = 0;
    double batch = 1;
    double flops = 0;  ///< Those of attention's forward pass.
    double bytes = 0;
    double seconds = 0;
};

/// Text of the program that measures.
std::string_view measuring_program();

/// Returns `base` with what the kernels show of a GPU with the peak rates of `gpu` and a limit of
/// `power_w`. What they do not show stays: the rates of recipes that were not measured,
/// conversions, and the constants that are fitted on steps. The error is a sentence for the user.
std::expected<Rates, std::string> calibrate(const Gpu& gpu, double power_w, const Rates& base,
                                            std::span<const TimedKernel> kernels);

/// Returns the seconds that a GPU with these rates takes for a kernel.
double seconds_of(const Gpu& gpu, const TimedKernel& kernel);

}  // namespace softib::plan
