// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What one micro-batch costs a GPU in one layer, in the embedding and in the logits: seconds by
// class of kernels, communication that nothing hides, and bytes by class of links.

#include <array>
#include <cstdint>

#include "plan/train/communication.h"
#include "plan/train/kernels.h"
#include "plan/train/mapping.h"
#include "plan/train/passes.h"

namespace softib::plan {

/// The kinds of parallelism that communicate.
enum class Dimension : std::uint8_t { kTensor, kContext, kExpert, kPipeline, kData };
inline constexpr std::array kDimensions{Dimension::kTensor, Dimension::kContext, Dimension::kExpert,
                                        Dimension::kPipeline, Dimension::kData};
const char* to_string(Dimension dimension);

struct LinkBytes {
    double nvlink = 0;
    double fabric = 0;
};

/// Costs of one pass over something. They add up.
struct PassCost {
    double matmul = 0;  ///< Seconds of each class of kernels.
    double attention = 0;
    double elementwise = 0;
    std::array<double, kDimensions.size()> exposed = {};  ///< Seconds that nothing hides.
    std::array<LinkBytes, kDimensions.size()> bytes = {};

    double compute() const { return matmul + attention + elementwise; }
    double seconds() const;
    PassCost& operator+=(const PassCost& other);
    PassCost times(double factor) const;
    /// Counts an exchange of which `hidden` seconds pass behind something else.
    void add(Dimension dimension, const ExchangeCost& exchange, double hidden = 0);
};

struct LayerCost {
    PassCost forward = {};
    PassCost backward = {};   ///< Without what is computed again.
    PassCost recompute = {};  ///< Before or during the backward pass.
    LayerCost& operator+=(const LayerCost& other);
};

/// Answers for rank 0 of a mapping that has no fault; all ranks are alike.
class LayerCosts {
  public:
    LayerCosts(const Model& model, const Mapping& mapping, const Gpu& gpu,
               const Communication& communication);

    /// With `passes` they also say in which order a pass computes and exchanges.
    LayerCost layer(bool experts, LayerPasses* passes = nullptr) const;
    LayerCost embedding(LayerPasses* passes = nullptr) const;
    LayerCost logits(LayerPasses* passes = nullptr) const;
    /// Sends activations to the next stage, or gradients to the one before.
    PassCost send() const;

  private:
    struct Block;  ///< Attention, or an MLP: what lies between two exchanges of tensor parallelism.

    Block attention() const;
    Block mlp() const;
    Block expert_mlp() const;
    void add_scores(Block& block) const;
    void finish(Block& block) const;
    void add_tensor_exchanges(Block& block) const;
    void add_sharded_parameters(LayerCost& cost, bool experts, LayerPasses* passes) const;
    /// An exchange that has been timed and not yet counted.
    struct Timed {
        PassExchange exchange = {};
        ExchangeCost cost = {};
    };
    Timed time(Peers peers, Exchange exchange, double bytes) const;
    Timed tensor_exchange(Exchange exchange) const;

    const Model& model_;
    const Mapping& mapping_;
    Kernels kernels_;
    const Communication& communication_;
    Groups groups_;
    double tokens_ = 0;        ///< Of a micro-batch on this rank.
    double hidden_bytes_ = 0;  ///< Activations between layers, before sequence parallelism.
};

/// Parameters that a GPU holds of a layer, experts' apart, and of its experts.
double shared_layer_parameters(const Model& model, const Mapping& mapping, bool experts);
double expert_layer_parameters(const Model& model, const Mapping& mapping);

}  // namespace softib::plan
