// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long a GPU takes for a kernel, from its shape and the rates of the GPU's generation: a matrix
// product in whole waves of tiles, anything else by its operations or bytes.

#include <cstdint>

#include "plan/cluster/cluster.h"

namespace softib::plan {

class Kernels {
  public:
    /// `comm_sms` of the GPU's multiprocessors do not compute. The GPU is the slowest of `gpus`,
    /// for which all others wait. `gpu` must outlive the object.
    Kernels(const Gpu& gpu, Recipe recipe, std::uint32_t comm_sms = 0, std::uint32_t gpus = 1);

    static constexpr double kHalfBytes = 2;
    /// Returns the seconds of `batch` products of m x k and k x n matrices in one kernel, in the
    /// job's recipe. A number of the result takes this many bytes, read ones of a sum included.
    double matmul(double m, double n, double k, double batch = 1,
                  double result_bytes = kHalfBytes) const;
    /// The same of numbers of 16 bits, whatever the recipe.
    double matmul_half(double m, double n, double k, double batch = 1,
                       double result_bytes = kHalfBytes) const;
    /// What a fused kernel of attention computes in the forward pass.
    struct Attention {
        double flops = 0;
        double tokens = 0;  ///< The longest run of queries and keys that one kernel sees.
        double width = 0;   ///< Numbers of a head's keys.
        bool fp8 = false;
    };
    double flash_attention(const Attention& attention) const;
    double flash_attention_backward(const Attention& attention) const;
    /// Returns the seconds of `kernels` kernels that read and write `bytes` in all and compute
    /// little.
    double elementwise(double bytes, double kernels) const;
    /// Returns the seconds in which `numbers` of 16 bits become what products take; 0 if they do.
    double convert(double numbers) const;

  private:
    /// What products of one type of numbers are timed with.
    struct Units {
        double rate = 0;  ///< Operations a second of all multiprocessors.
        double operand_bytes = 0;
    };
    double product(const Units& units, double m, double n, double k, double batch,
                   double result_bytes) const;
    Units units_of(const Gpu& gpu, Recipe recipe) const;

    double flash_seconds(const Attention& attention, double part) const;

    const Rates& rates_;
    double sms_;
    double clock_;  ///< The clock, as a part of that with which the rates were measured.
    double memory_rate_;
    double half_peak_;
    double convert_bytes_;
    double convert_kernels_;
    Units recipe_;
    Units half_;
};

/// Returns by how many standard deviations the slowest of `gpus` is expected to be below the mean.
double deviations_of_slowest(double gpus);

}  // namespace softib::plan
