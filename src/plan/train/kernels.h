// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long a GPU takes for a kernel: its operations at the peak rate times the efficiency of the
// kernel's class, or the time that its bytes need, whichever is longer.

#include <cstdint>

#include "plan/cluster/cluster.h"

namespace softib::plan {

/// The part of the GPU's peak rate that each class of kernels reaches.
struct Efficiency {
    double matmul = 0;          ///< Matrix products whose tiles fill all multiprocessors.
    double matmul_fp8 = 0;      ///< The same for FP8 and narrower types.
    double flash = 0;           ///< Fused attention in the forward pass.
    double flash_backward = 0;  ///< Fused attention in the backward pass.
    double memory = 0;          ///< Part of the memory's rate that kernels reach.
    double launch_s = 0;        ///< Seconds before each kernel.
};
Efficiency efficiency_of(const Gpu& gpu);

/// The seconds that kernels take on a GPU.
class Kernels {
  public:
    /// `comm_sms` of the GPU's multiprocessors do not compute.
    Kernels(const Gpu& gpu, Precision precision, std::uint32_t comm_sms = 0);

    /// Returns the seconds of `batch` products of m x k and k x n matrices.
    double matmul(double m, double n, double k, double batch = 1) const;
    double flash_attention(double flops) const;
    /// Returns the seconds of the backward pass; `flops` are those of the forward pass.
    double flash_attention_backward(double flops) const;
    /// Returns the seconds of `kernels` kernels that read and write `bytes` in all and compute
    /// little.
    double elementwise(double bytes, double kernels) const;

  private:
    double operand_bytes_;
    double sms_;
    double matmul_rate_ = 0;
    double half_rate_ = 0;
    double memory_rate_ = 0;
    Efficiency efficiency_;
};

}  // namespace softib::plan
