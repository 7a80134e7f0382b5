// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The KV cache of a model: what attention keeps of each token.

#include <cstdint>

#include "plan/train/model.h"

namespace softib::plan {

/// Returns the bytes that attention keeps of one token in all layers: keys and values of each KV
/// head (grouped-query attention), or the latent vector and the key with positions (MLA).
inline double kv_bytes_per_token(const Model& model, double bytes_of_number = 2) {
    const double numbers = model.latent() ? static_cast<double>(model.kv_rank) + model.rope_dim
                                          : 2.0 * model.kv_heads * model.head_dim;
    return numbers * model.layers * bytes_of_number;
}

/// Returns what a GPU holds of it with tensor parallelism: a KV head is on at least one GPU, and a
/// latent vector on all.
inline double kv_bytes_per_token_and_gpu(const Model& model, std::uint32_t tp,
                                         double bytes_of_number = 2) {
    const double whole = kv_bytes_per_token(model, bytes_of_number);
    const std::uint32_t parts = model.latent() ? 1 : tp < model.kv_heads ? tp : model.kv_heads;
    return whole / parts;
}

}  // namespace softib::plan
