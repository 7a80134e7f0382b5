// SPDX-License-Identifier: BSD-2-Clause
// Sums of costs, what is sent between layers, and the parameters of layers.
#include <algorithm>
#include <cmath>

#include "plan/train/layer_cost.h"

namespace softib::plan {

namespace {

std::size_t place_of(Dimension dimension) {
    return static_cast<std::size_t>(dimension);
}

}  // namespace

const char* to_string(Dimension dimension) {
    constexpr std::array kNames{"tp", "cp", "ep", "pp", "dp"};
    return kNames[place_of(dimension)];
}

double PassCost::seconds() const {
    double sum = compute();
    for (const double each : exposed) {
        sum += each;
    }
    return sum;
}

PassCost& PassCost::operator+=(const PassCost& other) {
    matmul += other.matmul;
    attention += other.attention;
    elementwise += other.elementwise;
    host += other.host;
    for (std::size_t i = 0; i < exposed.size(); ++i) {
        exposed[i] += other.exposed[i];
        bytes[i].nvlink += other.bytes[i].nvlink;
        bytes[i].fabric += other.bytes[i].fabric;
    }
    return *this;
}

PassCost PassCost::times(double factor) const {
    PassCost scaled = *this;
    scaled.matmul *= factor;
    scaled.attention *= factor;
    scaled.elementwise *= factor;
    scaled.host *= factor;
    for (std::size_t i = 0; i < exposed.size(); ++i) {
        scaled.exposed[i] *= factor;
        scaled.bytes[i].nvlink *= factor;
        scaled.bytes[i].fabric *= factor;
    }
    return scaled;
}

void PassCost::add(Dimension dimension, const ExchangeCost& exchange, double hidden) {
    exposed[place_of(dimension)] += std::max(0.0, exchange.seconds - hidden);
    bytes[place_of(dimension)].nvlink += exchange.nvlink_bytes;
    bytes[place_of(dimension)].fabric += exchange.fabric_bytes;
}

LayerCost& LayerCost::operator+=(const LayerCost& other) {
    forward += other.forward;
    backward += other.backward;
    recompute += other.recompute;
    return *this;
}

/// Returns how often a token is sent on average: once to each rank that has experts of it, and
/// once to each node of those if the model limits them.
double LayerCosts::copies_of_token() const {
    const double ranks = mapping_.ep;
    const double reached = ranks * (1 - std::pow(1 - 1 / ranks, model_.top_k));
    return model_.nodes_per_token != 0 ? std::min<double>(model_.nodes_per_token, reached)
                                       : reached;
}

PassCost LayerCosts::send() const {
    PassCost cost;
    if (mapping_.pp == 1) {
        return cost;
    }
    // Each rank of tensor parallelism sends its part; without sequence parallelism, the receivers
    // then gather the whole (Megatron-LM's scatter/gather optimisation).
    cost.add(Dimension::kPipeline,
             communication_.cost(Exchange::kSend, hidden_bytes_ / mapping_.tp, groups_.pipeline));
    if (!mapping_.sequence_parallel) {
        cost.add(Dimension::kPipeline, tensor_exchange(Exchange::kAllGather).cost);
    }
    return cost;
}

double shared_layer_parameters(const Model& model, const Mapping& mapping, bool experts) {
    const double mlp = experts ? shared_parameters(model) : mlp_parameters(model);
    return (attention_parameters(model) + mlp) / mapping.tp;
}

double expert_layer_parameters(const Model& model, const Mapping& mapping) {
    return static_cast<double>(model.experts) / (mapping.ep * mapping.etp) *
           one_expert_parameters(model);
}

double adapter_parameters(const Model& model, const Mapping& mapping, bool experts) {
    const double hidden = model.hidden;
    const double keys = static_cast<double>(model.kv_heads) * model.head_dim;
    double widths =
        hidden + (model.query_width() + 2 * keys + model.value_width()) / mapping.tp + hidden;
    if (!experts && mapping.lora_targets == AdapterTargets::kAll) {
        const double width = static_cast<double>(model.ffn) / mapping.tp;
        widths += hidden + (model.gated ? 2 : 1) * width + width + hidden;
    }
    return mapping.lora * widths;
}

double copying_share(const Mapping& mapping, const Gpu& gpu) {
    // NCCL has two channels for each of 8 NICs, a multiprocessor each (validation row C1b); GPUs
    // that have multiprocessors for nothing else do not give more of them.
    constexpr double kChannels = 16;
    return mapping.comm_sms != 0 ? 0 : kChannels / gpu.sms;
}

double convert_share(const Mapping& mapping) {
    return mapping.param_bytes == 1 ? 0.5 : 1;
}

}  // namespace softib::plan
