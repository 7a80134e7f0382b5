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
    Kernels(const Gpu& gpu, Precision precision) : Kernels(gpu, precision, efficiency_of(gpu)) {}
    Kernels(const Gpu& gpu, Precision precision, const Efficiency& efficiency);

    /// `batch` products of m x k and k x n matrices.
    double matmul(double m, double n, double k, double batch = 1) const;
    double flash_attention(double flops) const;
    double flash_attention_backward(double flops) const;
    /// Kernels that read and write `bytes` and compute little.
    double elementwise(double bytes, double kernels) const;

  private:
    double matmul_rate_;
    double operand_bytes_;
    double sms_;
    double half_rate_;
    double memory_rate_;
    Efficiency efficiency_;
};

}  // namespace softib::plan
