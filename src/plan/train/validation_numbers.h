// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The planner's own numbers for the rows of training_numbers.toml.

#include <cstdint>
#include <vector>

#include "plan/validation.h"

namespace softib::plan {

/// Returns the rows of training_numbers.toml.
std::vector<ValidationRow> training_numbers();

double parameters_of(const char* model);
/// Returns the number of parameters by equation 2 of the Megatron paper.
double megatron_parameters(const char* model);
/// Returns the TFLOP/s of a GPU. The paper gives neither micro-batches nor chunks, so the quickest
/// that fit are taken.
double megatron_teraflops(const char* model, std::uint32_t tp, std::uint32_t pp, std::uint32_t gpus,
                          std::uint32_t batch);
/// Returns the mean error of the steps of M4, in percent.
double mean_sequence_error();
/// Returns the MFU in percent. The page gives no mapping, so the quickest that fits is taken.
double scaling_mfu(std::uint32_t gpus);

}  // namespace softib::plan
