// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What kernels reach on a generation of GPUs: the tables of rates/, measured by themselves and not
// fitted on training steps where a kernel could be measured. spec/train reads such a file of a
// user.

#include <array>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "plan/cluster/recipe.h"

namespace softib::plan {

struct Rates {
    std::string name = {};
    std::string source = {};
    std::uint32_t compute_capability = 0;  ///< GPUs from this one on have these rates.

    // Matrix products, as parts of the peak rate of the recipe's numbers.
    std::array<double, kRecipes.size()> matmul = {};
    /// The power of a multiprocessor with which these parts were measured. A GPU with more power
    /// for each runs at a higher clock.
    double watts_per_sm = 0;
    /// The part of its time for the memory's bytes that a product's result adds, since only the
    /// rest is written while the next tiles are computed.
    double result = 0;
    double small_tile = 0;  ///< Rate of a tile of half the size, as a part of the whole one's.
    double start_us = 0;    ///< Time until a kernel's first tiles compute.

    double flash = 0;           ///< Fused attention in the forward pass, of the peak of BF16.
    double flash_backward = 0;  ///< The same in the backward pass.
    double flash_fp8 = 0;       ///< Fused attention whose products are in FP8; 0: none.
    double flash_fp8_backward = 0;
    double flash_narrow = 1;  ///< Heads of less than 128 numbers reach this part of those rates.
    double flash_tokens = 0;  ///< Tokens with which kernels reach half of what very long runs do.
    double memory = 0;        ///< The part of the memory's rate that elementwise kernels reach.
    /// Bytes that converting a number for a product reads and writes, by recipe.
    std::array<double, kRecipes.size()> convert_bytes = {};
    /// Kernels that convert a tensor for a product, by recipe.
    std::array<double, kRecipes.size()> convert_kernels = {};

    // Fitted on training steps (plan/train/measured.h), since nothing measures them alone.
    /// The part of the rates above that products reach within a step, where power, caches and the
    /// memory serve others too.
    double in_steps = 1;
    /// The part of NVLink's rate that exchanges of tokens with experts reach.
    double expert_exchange = 1;
    /// Time of the host for each kernel that converts the tensor of one expert.
    double host_us = 0;
    /// Time of a step in which GPUs wait for hosts: batches, the norm of gradients, the schedule.
    double step_ms = 0;
    /// The standard deviation of GPUs' speeds, as a part of their mean: a job goes on with its
    /// slowest GPU.
    double spread = 0;

    friend bool operator==(const Rates&, const Rates&) = default;
};

std::span<const Rates> rates_presets();
/// Returns the rates of a generation of GPUs: those of the highest compute capability that is not
/// above this one.
const Rates& rates_of(std::uint32_t compute_capability);

}  // namespace softib::plan
