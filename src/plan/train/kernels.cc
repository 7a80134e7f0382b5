// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/kernels.h"

#include <algorithm>
#include <cmath>

namespace softib::plan {

namespace {

/// The tile of an output that a streaming multiprocessor computes at once: what cuBLAS takes for
/// large matrices.
constexpr double kTileRows = 128;
constexpr double kTileColumns = 256;

}  // namespace

Efficiency efficiency_of(const Gpu& gpu) {
    // matmul: fitted once for each generation, on the rows that validation_rows.cc marks.
    // flash: from the FlashAttention-2 and -3 papers: causal, head size 128, 2 to 16 Ki tokens.
    // memory, launch: usual values for large kernels in a stream.
    Efficiency efficiency{.matmul = 0.72,
                          .matmul_fp8 = 0.72,
                          .flash = 0.60,
                          .flash_backward = 0.50,
                          .memory = 0.80,
                          .launch_s = 4e-6};
    if (gpu.compute_capability >= 90) {
        efficiency.matmul = 0.56;
        efficiency.matmul_fp8 = 0.37;
    }
    return efficiency;
}

Kernels::Kernels(const Gpu& gpu, Precision precision, std::uint32_t comm_sms)
    : operand_bytes_(bytes_of(precision)),
      sms_(gpu.sms - comm_sms),
      efficiency_(efficiency_of(gpu)) {
    const double left = sms_ / gpu.sms;
    const bool narrow = operand_bytes_ < 2;
    matmul_rate_ =
        left * gpu.peak(precision) * (narrow ? efficiency_.matmul_fp8 : efficiency_.matmul);
    half_rate_ = left * gpu.peak(Precision::kBf16);
    memory_rate_ = gpu.memory_bytes_per_s * efficiency_.memory;
}

double Kernels::matmul(double m, double n, double k, double batch) const {
    const double tiles = batch * std::ceil(m / kTileRows) * std::ceil(n / kTileColumns);
    const double waves = std::ceil(tiles / sms_);
    const double flops = 2 * batch * m * n * k * (waves * sms_ / tiles);
    constexpr double kResultBytes = 2;
    const double bytes = batch * (operand_bytes_ * (m * k + k * n) + kResultBytes * m * n);
    return std::max(flops / matmul_rate_, bytes / memory_rate_) + efficiency_.launch_s;
}

double Kernels::flash_attention(double flops) const {
    return flops / (half_rate_ * efficiency_.flash) + efficiency_.launch_s;
}

double Kernels::flash_attention_backward(double flops) const {
    // The scores are computed again: there are five products, and two in the forward pass.
    constexpr double kProducts = 2.5;
    return kProducts * flops / (half_rate_ * efficiency_.flash_backward) + efficiency_.launch_s;
}

double Kernels::elementwise(double bytes, double kernels) const {
    return bytes / memory_rate_ + kernels * efficiency_.launch_s;
}

}  // namespace softib::plan
