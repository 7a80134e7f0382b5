// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/model.h"

#include <fmt/format.h>

#include <vector>

#include "core/base/nearest.h"

namespace softib::plan {

namespace {

double norm_parameters(const Model& model, double width) {
    return model.biases ? 2 * width : width;
}

double mlp_of_width(const Model& model, double width) {
    const double hidden = model.hidden;
    return model.gated ? 3 * hidden * width
                       : 2 * hidden * width + (model.biases ? hidden + width : 0);
}

}  // namespace

double attention_parameters(const Model& model) {
    const double hidden = model.hidden;
    const double norm = norm_parameters(model, hidden);
    if (model.latent()) {
        const double heads = model.heads;
        const double queries = model.query_width();
        const double q = model.q_rank == 0
                             ? hidden * queries
                             : hidden * model.q_rank + model.q_rank + model.q_rank * queries;
        const double kv = hidden * (model.kv_rank + model.rope_dim) + model.kv_rank +
                          model.kv_rank * heads * (model.head_dim + model.value_dim);
        return q + kv + model.value_width() * hidden + norm;
    }
    const double queries = model.query_width();
    const double keys = static_cast<double>(model.kv_heads) * model.head_dim;
    const double biases = model.biases ? queries + 2 * keys + hidden : 0;
    return hidden * (queries + 2 * keys) + queries * hidden + biases + norm;
}

double mlp_parameters(const Model& model) {
    return mlp_of_width(model, model.ffn) + norm_parameters(model, model.hidden);
}

double one_expert_parameters(const Model& model) {
    return mlp_of_width(model, model.expert_ffn);
}

double shared_parameters(const Model& model) {
    return static_cast<double>(model.hidden) * model.experts +
           model.shared_experts * one_expert_parameters(model) +
           norm_parameters(model, model.hidden);
}

double embedding_parameters(const Model& model) {
    const double rows =
        static_cast<double>(model.vocabulary) + (model.learned_positions ? model.sequence : 0);
    return rows * model.hidden;
}

double logit_parameters(const Model& model) {
    return model.tied_embeddings ? 0 : static_cast<double>(model.vocabulary) * model.hidden;
}

namespace {

double parameters_with(const Model& model, double experts) {
    const double dense = model.layers - model.expert_layers();
    return model.layers * attention_parameters(model) + dense * mlp_parameters(model) +
           model.expert_layers() *
               (shared_parameters(model) + experts * one_expert_parameters(model)) +
           embedding_parameters(model) + logit_parameters(model) +
           norm_parameters(model, model.hidden);
}

}  // namespace

double total_parameters(const Model& model) {
    return parameters_with(model, model.experts);
}

double active_parameters(const Model& model) {
    return parameters_with(model, model.top_k);
}

double score_flops_per_token(const Model& model, std::uint32_t sequence, bool square) {
    const double pairs = square ? sequence : sequence / 2.0;
    return 2 * pairs * (model.query_width() + model.value_width());
}

double flops_per_token(const Model& model, std::uint32_t sequence, bool square) {
    const double hidden = model.hidden;
    // Biases and norms are not matrices; the matrix of the logits counts even if it is the
    // embedding's.
    Model plain = model;
    plain.biases = false;
    const double matrices = active_parameters(plain) - embedding_parameters(plain) -
                            logit_parameters(plain) - hidden * (2.0 * model.layers + 1) +
                            static_cast<double>(model.vocabulary) * hidden;
    return 6 * matrices + 3 * model.layers * score_flops_per_token(model, sequence, square);
}

std::expected<Model, std::string> find_model(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Model& model : model_presets()) {
        if (model.name == name) {
            return model;
        }
        names.push_back(model.name);
    }
    return std::unexpected(unknown_name("model", name, names));
}

namespace {

/// Returns that a number is of experts or of latent attention, and the model has none.
std::optional<std::string> find_idle_number(const Model& model) {
    const struct {
        std::uint32_t value;
        const char* key;
        const char* of;  ///< The key without which this one is idle.
        std::uint32_t has;
    } keys[] = {
        {model.top_k, "top_k", "experts", model.experts},
        {model.expert_ffn, "expert_ffn", "experts", model.experts},
        {model.shared_experts, "shared_experts", "experts", model.experts},
        {model.dense_layers, "dense_layers", "experts", model.experts},
        {model.nodes_per_token, "nodes_per_token", "experts", model.experts},
        {model.q_rank, "q_rank", "kv_rank", model.kv_rank},
        {model.rope_dim, "rope_dim", "kv_rank", model.kv_rank},
        {model.value_dim, "value_dim", "kv_rank", model.kv_rank},
    };
    for (const auto& [value, key, of, has] : keys) {
        if (value != 0 && has == 0) {
            return fmt::format("{} {} is for models with {}, which is 0: set {}, or {} to 0", key,
                               value, of, of, key);
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> find_fault(const Model& model) {
    const struct {
        std::uint32_t value;
        const char* key;
        bool needed;
    } keys[] = {
        {model.layers, "layers", true},
        {model.hidden, "hidden", true},
        {model.heads, "heads", true},
        {model.kv_heads, "kv_heads", true},
        {model.head_dim, "head_dim", true},
        {model.vocabulary, "vocabulary", true},
        {model.sequence, "sequence", true},
        {model.ffn, "ffn", model.experts == 0 || model.dense_layers != 0},
        {model.top_k, "top_k", model.experts != 0},
        {model.expert_ffn, "expert_ffn", model.experts != 0},
        {model.value_dim, "value_dim", model.latent()},
    };
    for (const auto& [value, key, needed] : keys) {
        if (needed && value == 0) {
            return fmt::format("{} is missing: give it a number of at least 1", key);
        }
    }
    if (auto idle = find_idle_number(model)) {
        return idle;
    }
    if (model.heads % model.kv_heads != 0) {
        return fmt::format("kv_heads {} must divide the {} heads", model.kv_heads, model.heads);
    }
    if (model.experts != 0 && model.top_k > model.experts) {
        return fmt::format("top_k {} must be at most the {} experts", model.top_k, model.experts);
    }
    if (model.dense_layers > model.layers) {
        return fmt::format("dense_layers {} must be at most the {} layers", model.dense_layers,
                           model.layers);
    }
    return std::nullopt;
}

}  // namespace softib::plan
