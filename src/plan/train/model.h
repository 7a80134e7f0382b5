// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A transformer by its hyper-parameters: how many parameters it has, and how many floating-point
// operations a token costs. Published models are the files of models/; spec/model reads those of
// users.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace softib::plan {

struct Model {
    std::string name = {};
    std::string title = {};   ///< One line for people.
    std::string source = {};  ///< Where the hyper-parameters are published.

    std::uint32_t layers = 0;
    std::uint32_t hidden = 0;
    std::uint32_t heads = 0;
    std::uint32_t kv_heads = 0;  ///< Less than `heads` with grouped-query attention, else equal.
    std::uint32_t head_dim = 0;
    std::uint32_t ffn = 0;  ///< Inner width of a dense layer's MLP.
    std::uint32_t vocabulary = 0;
    std::uint32_t sequence = 0;  ///< Tokens of one sample, unless a mapping says otherwise.
    bool gated = false;          ///< Whether an MLP has three matrices (SwiGLU) and not two.
    bool biases = false;         ///< Whether matrices have biases, and norms an offset (LayerNorm).
    bool learned_positions = false;
    bool tied_embeddings = false;  ///< Whether one matrix serves tokens in and logits out.
    bool dropout = false;

    // Latent attention (MLA); kv_rank 0: none.
    std::uint32_t q_rank = 0;
    std::uint32_t kv_rank = 0;
    std::uint32_t rope_dim = 0;   ///< Further width of a head of queries and keys, with positions.
    std::uint32_t value_dim = 0;  ///< Width of a head of values.

    // Mixture of experts; experts 0: every layer is dense.
    std::uint32_t experts = 0;
    std::uint32_t top_k = 0;  ///< Experts that a token is sent to.
    std::uint32_t expert_ffn = 0;
    std::uint32_t shared_experts = 0;   ///< Experts that every token passes as well.
    std::uint32_t dense_layers = 0;     ///< Number of first layers that have no experts.
    std::uint32_t nodes_per_token = 0;  ///< Most nodes that a token is sent to; 0: no limit.

    bool latent() const { return kv_rank != 0; }
    bool has_experts(std::uint32_t layer) const { return experts != 0 && layer >= dense_layers; }
    std::uint32_t expert_layers() const { return experts == 0 ? 0 : layers - dense_layers; }
    /// Returns the width of all heads of queries together, or of keys after they are repeated for
    /// each head of queries.
    double query_width() const { return static_cast<double>(heads) * (head_dim + rope_dim); }
    /// Returns the width of attention's output before its last matrix.
    double value_width() const {
        return static_cast<double>(heads) * (latent() ? value_dim : head_dim);
    }
    friend bool operator==(const Model&, const Model&) = default;
};

/// Returns the parameters of attention in one layer, norms included.
double attention_parameters(const Model& model);
/// Returns the parameters of the MLP of one dense layer.
double mlp_parameters(const Model& model);
double one_expert_parameters(const Model& model);
/// Returns the parameters of a layer of experts that every token passes: router and shared experts.
double shared_parameters(const Model& model);
/// Returns the parameters of the tokens' embedding, and of positions if they are learned.
double embedding_parameters(const Model& model);
/// Returns the parameters of the logits' matrix; 0 if it is that of the embedding.
double logit_parameters(const Model& model);
double total_parameters(const Model& model);
/// Returns the parameters that one token is computed with: only `top_k` of the experts count.
double active_parameters(const Model& model);

/// Returns the floating-point operations of forward and backward pass for one token, without
/// recomputation. `square`: attention's scores count whole, as unfused kernels compute them; else
/// their causal half.
double flops_per_token(const Model& model, std::uint32_t sequence, bool square);
/// Returns the floating-point operations for one token in the forward pass of attention's scores
/// and values in one layer.
double score_flops_per_token(const Model& model, std::uint32_t sequence, bool square);

std::span<const Model> model_presets();
/// Returns the preset of this name. The error names the nearest one.
std::expected<Model, std::string> find_model(std::string_view name);
/// Returns which hyper-parameter is missing or does not go with the others; std::nullopt if none.
std::optional<std::string> find_fault(const Model& model);

}  // namespace softib::plan
