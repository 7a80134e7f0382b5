// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A transformer by its hyper-parameters: how many parameters it has, and how many floating-point
// operations a token costs. model_presets.cc has published models; spec/model reads one from TOML.

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
    std::uint32_t kv_heads = 0;  ///< Grouped-query attention; equal to `heads` without.
    std::uint32_t head_dim = 0;
    std::uint32_t ffn = 0;  ///< Inner width of a dense layer's MLP.
    std::uint32_t vocabulary = 0;
    std::uint32_t sequence = 0;  ///< Tokens of one sample, unless a mapping says otherwise.
    bool gated = false;          ///< SwiGLU: three matrices in an MLP, not two.
    bool biases = false;         ///< Matrices have biases, and norms have an offset (LayerNorm).
    bool learned_positions = false;
    bool tied_embeddings = false;  ///< One matrix for tokens in and logits out.
    bool dropout = false;

    // Latent attention (MLA); kv_rank 0: none.
    std::uint32_t q_rank = 0;
    std::uint32_t kv_rank = 0;
    std::uint32_t rope_dim = 0;   ///< Further part of a head of queries and keys.
    std::uint32_t value_dim = 0;  ///< Of a head.

    // Mixture of experts; experts 0: every layer is dense.
    std::uint32_t experts = 0;
    std::uint32_t top_k = 0;  ///< Experts that a token is sent to.
    std::uint32_t expert_ffn = 0;
    std::uint32_t shared_experts = 0;   ///< Every token passes them as well.
    std::uint32_t dense_layers = 0;     ///< The first layers, which have no experts.
    std::uint32_t nodes_per_token = 0;  ///< At most that many nodes receive a token; 0: any number.

    bool latent() const { return kv_rank != 0; }
    bool has_experts(std::uint32_t layer) const { return experts != 0 && layer >= dense_layers; }
    std::uint32_t expert_layers() const { return experts == 0 ? 0 : layers - dense_layers; }
    /// Width of all queries or keys' heads, as the scores see them.
    double query_width() const { return static_cast<double>(heads) * (head_dim + rope_dim); }
    /// Width of what attention gives to its last matrix.
    double value_width() const {
        return static_cast<double>(heads) * (latent() ? value_dim : head_dim);
    }
};

// Parameters. Those of matrices are what a token is multiplied with.
double attention_parameters(const Model& model);  ///< Of a layer, norms included.
double mlp_parameters(const Model& model);        ///< Of a dense layer.
double one_expert_parameters(const Model& model);
/// Parameters of a layer of experts that every token passes: router and shared experts.
double shared_parameters(const Model& model);
double embedding_parameters(const Model& model);  ///< Tokens, and positions if they are learned.
double logit_parameters(const Model& model);      ///< 0 where they are the embedding's.
double total_parameters(const Model& model);
double active_parameters(const Model& model);  ///< Those that a token meets.

/// Floating-point operations of forward and backward pass for one token, nothing done twice.
/// `square`: attention's scores count whole, as unfused kernels compute them; else their causal
/// half.
double flops_per_token(const Model& model, std::uint32_t sequence, bool square);
/// The same for the forward pass of attention's scores and values in one layer.
double score_flops_per_token(const Model& model, std::uint32_t sequence, bool square);

std::span<const Model> model_presets();
/// Returns an error that names the nearest preset.
std::expected<Model, std::string> find_model(std::string_view name);
/// Says which hyper-parameter is missing or does not go with the others.
std::optional<std::string> find_fault(const Model& model);

}  // namespace softib::plan
