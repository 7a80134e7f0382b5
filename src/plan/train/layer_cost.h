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

/// The cost of one pass over a part of the model. Costs of parts add up.
struct PassCost {
    double matmul = 0;       ///< Seconds of matrix products.
    double attention = 0;    ///< Seconds of attention kernels.
    double elementwise = 0;  ///< Seconds of elementwise kernels.
    double host = 0;         ///< Seconds in which the GPU waits for the host to launch kernels.
    /// Seconds of communication that no computing hides, by Dimension.
    std::array<double, kDimensions.size()> exposed = {};
    std::array<LinkBytes, kDimensions.size()> bytes = {};  ///< Bytes sent, by Dimension.

    double compute() const { return matmul + attention + elementwise + host; }
    double seconds() const;
    PassCost& operator+=(const PassCost& other);
    PassCost times(double factor) const;
    /// Adds an exchange of which computing hides `hidden` seconds.
    void add(Dimension dimension, const ExchangeCost& exchange, double hidden = 0);
};

struct LayerCost {
    PassCost forward = {};
    PassCost backward = {};   ///< Backward pass without recomputation.
    PassCost recompute = {};  ///< What is computed again before or during the backward pass.
    LayerCost& operator+=(const LayerCost& other);
};

/// The costs of layers for rank 0, which stands for all ranks, of a mapping that has no fault.
class LayerCosts {
  public:
    LayerCosts(const Model& model, const Mapping& mapping, const Gpu& gpu,
               const Communication& communication);

    /// Returns the cost of a layer, with or without experts, whose activations are kept so. If
    /// `passes` is given, the order in which the passes compute and exchange is written there.
    LayerCost layer(bool experts, const Keeping& keeping, LayerPasses* passes = nullptr) const;
    LayerCost embedding(LayerPasses* passes = nullptr) const;
    LayerCost logits(LayerPasses* passes = nullptr) const;
    /// Returns the cost of sending activations to the next stage, or gradients to the one before.
    PassCost send() const;

  private:
    struct Block;  ///< Attention, or an MLP: the work between two exchanges of tensor parallelism.

    Block attention() const;
    Block mlp() const;
    Block expert_mlp() const;
    double copies_of_token() const;
    void add_scores(Block& block) const;
    void finish(Block& block) const;
    void add_tensor_exchanges(Block& block) const;
    void add_context_exchanges(Block& block, double queries, double keys) const;
    void add_expert_exchanges(Block& block, double routed) const;
    void add_adapters(Block& block) const;
    void add_sharded_parameters(LayerCost& cost, bool experts, LayerPasses* passes) const;
    /// An exchange that has been timed and is not yet in any PassCost.
    struct Timed {
        PassExchange exchange = {};
        ExchangeCost cost = {};
    };
    Timed time(Peers peers, Exchange exchange, double bytes) const;
    Timed tensor_exchange(Exchange exchange) const;
    Timed expert_exchange(double bytes) const;
    void add_host(LayerCost& cost) const;
    void add_offload(LayerCost& cost, bool experts) const;

    const Model& model_;
    const Mapping& mapping_;
    const Rates& rates_;
    double host_rate_;  ///< Bytes per second between the GPU and its host.
    double copying_;    ///< Part of the multiprocessors that copy while parameters travel.
    Kernels kernels_;
    const Communication& communication_;
    Groups groups_;
    double tokens_ = 0;  ///< Tokens of a micro-batch on this rank.
    /// Bytes of activations between layers, before sequence parallelism divides them.
    double hidden_bytes_ = 0;
};

/// Returns the parameters of a layer that a GPU holds, without those of experts.
double shared_layer_parameters(const Model& model, const Mapping& mapping, bool experts);
/// Returns the parameters of a layer's experts that a GPU holds.
double expert_layer_parameters(const Model& model, const Mapping& mapping);
/// Returns the parameters of a layer's adapters (LoRA) that a GPU holds.
double adapter_parameters(const Model& model, const Mapping& mapping, bool experts);
/// Returns the part of a conversion that parameters need: half if they are of 8 bits already, and
/// products want them by rows and by columns.
double convert_share(const Mapping& mapping);
/// Returns the part of a GPU's multiprocessors that copy for NCCL while exchanges of replicas go
/// on.
double copying_share(const Mapping& mapping, const Gpu& gpu);

}  // namespace softib::plan
