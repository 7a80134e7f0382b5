// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The planner's own numbers for the rows of training_rows.toml.

#include <cstdint>

namespace softib::plan {

double parameters_of(const char* model);
/// Returns the number of parameters by equation 2 of the Megatron paper.
double megatron_parameters(const char* model);
/// Returns the TFLOP/s of a GPU. The paper gives neither micro-batches nor chunks, so the quickest
/// that fit are taken.
double megatron_teraflops(const char* model, std::uint32_t tp, std::uint32_t pp, std::uint32_t gpus,
                          std::uint32_t batch);
/// Returns the time of a step with sequence parallelism and selective recomputation, or with full
/// recomputation.
double sequence_seconds(const char* model, std::uint32_t pp, std::uint32_t interleave,
                        std::uint32_t batch, std::uint32_t micro_batch, bool selective);
/// Returns the mean error of those rows, in percent.
double mean_sequence_error();
double llama_teraflops(std::uint32_t gpus, std::uint32_t cp, std::uint32_t sequence,
                       std::uint32_t batch);
double deepseek_days();
/// Returns the MFU in percent. The page gives no mapping, so the quickest that fits is taken.
double scaling_mfu(std::uint32_t gpus);

}  // namespace softib::plan
