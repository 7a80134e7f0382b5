// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long a GPU takes for a kernel: its peak rate times the efficiency of the kernel's class, or
// the time that its bytes need, whichever is longer.

#include <cstdint>

#include "plan/cluster/cluster.h"

namespace softib::plan {

/// What part of the peak a class of kernels reaches.
struct Efficiency {
    double matmul = 0;  ///< Full waves of tiles.
    double matmul_fp8 = 0;
    double flash = 0;           ///< Fused attention, forward,
    double flash_backward = 0;  ///< and backward.
    double memory = 0;          ///< Of the memory's rate.
    double launch_s = 0;        ///< Before each kernel.
};
Efficiency efficiency_of(const Gpu& gpu);

class Kernels {
  public:
    /// `comm_sms` of the GPU's multiprocessors do something else.
    Kernels(const Gpu& gpu, Precision precision, std::uint32_t comm_sms = 0);

    /// `batch` products of m x k and k x n matrices.
    double matmul(double m, double n, double k, double batch = 1) const;
    double flash_attention(double flops) const;
    double flash_attention_backward(double flops) const;
    /// Kernels that read and write `bytes` and compute little.
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
