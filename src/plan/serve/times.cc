// SPDX-License-Identifier: BSD-2-Clause
#include "plan/serve/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/serve/kv.h"
#include "plan/train/layer_cost.h"

namespace softib::plan {

namespace {

/// Part of a GPU's memory that engines leave to weights and KV caches (vLLM's default).
constexpr double kMemoryUsed = 0.9;
constexpr double kGiB = 1024.0 * 1024 * 1024;

}  // namespace

std::expected<std::unique_ptr<ServeTimes>, std::string> ServeTimes::make(
    const Model& model, const Cluster& cluster, const ServeMapping& mapping) {
    if (mapping.tp == 0 || cluster.gpus_per_node % mapping.tp != 0) {
        return std::unexpected(fmt::format(
            "an instance of {} GPUs does not divide the {} GPUs of a node: instances over several "
            "nodes are not known; take a divisor",
            mapping.tp, cluster.gpus_per_node));
    }
    std::unique_ptr<ServeTimes> times(new ServeTimes(model, cluster, mapping));
    if (const auto fault = find_fault(model, cluster, times->mapping_of(mapping.tp, 1))) {
        return std::unexpected(*fault);
    }
    if (times->kv_tokens_most() < 1) {
        return std::unexpected(fmt::format(
            "the weights of {} take {:.0f} GiB of each of {} GPUs, which have {:.0f} GiB: take "
            "more GPUs for an instance, a narrower precision, or GPUs with more memory",
            model.name, times->weight_bytes() / kGiB, mapping.tp,
            static_cast<double>(cluster.gpu.memory_bytes) / kGiB));
    }
    return times;
}

ServeTimes::ServeTimes(const Model& model, const Cluster& cluster, const ServeMapping& mapping)
    : model_(model), cluster_(cluster), serve_(mapping), communication_(cluster) {
    // Engines replay graphs: nothing waits for hosts, as kernels of a training step do.
    cluster_.gpu.rates.pass_us = 0;
}

Mapping ServeTimes::mapping_of(std::uint32_t sequences, std::uint32_t tokens) const {
    return {
        .gpus = serve_.tp,
        .tp = serve_.tp,
        .ep = model_.experts != 0 ? serve_.tp : 1,
        .zero = 0,
        .batch = sequences,
        .micro_batch = sequences,
        .sequence = tokens,
        // Engines add up a token's activations whole; ranks with experts have tokens of their own.
        .sequence_parallel = serve_.tp > 1 && (tokens > 1 || model_.experts != 0),
        .recipe = serve_.recipe,
        .tp_overlap = TensorOverlap::kNone,
        .cuda_graphs = true};
}

double ServeTimes::layers_s(const Mapping& mapping) const {
    const LayerCosts costs(model_, mapping, cluster_.gpu, communication_);
    const std::uint32_t experts = model_.expert_layers();
    double seconds = costs.embedding().forward.seconds();
    if (experts > 0) {
        seconds += experts * costs.layer(true, {}).forward.seconds();
    }
    if (model_.layers > experts) {
        seconds += (model_.layers - experts) * costs.layer(false, {}).forward.seconds();
    }
    return seconds;
}

double ServeTimes::logits_s(const Mapping& mapping) const {
    return LayerCosts(model_, mapping, cluster_.gpu, communication_).logits().forward.seconds();
}

double ServeTimes::prefill(double tokens, double known) const {
    const auto count = static_cast<std::uint32_t>(std::max(1.0, std::round(tokens)));
    double seconds = layers_s(mapping_of(1, count)) + logits_s(mapping_of(1, 1));
    if (known > 0) {  // New tokens look at all that are known, and at those before them.
        const Kernels kernels(cluster_.gpu, serve_.recipe);
        const double flops =
            count * score_flops_per_token(model_, static_cast<std::uint32_t>(known), true);
        const auto attention = [&](double of) {
            return kernels.flash_attention({.flops = of / serve_.tp,
                                            .tokens = known + count,
                                            .width = model_.query_width() / model_.heads});
        };
        seconds += model_.layers * (attention(flops) - attention(0));
    }
    return seconds;
}

double ServeTimes::step(std::uint32_t batch, double context) const {
    const auto [found, added] = steps_.try_emplace(batch, 0.0);
    if (added) {
        const Mapping mapping = mapping_of(batch, 1);
        found->second = layers_s(mapping) + logits_s(mapping);
    }
    const Kernels kernels(cluster_.gpu, serve_.recipe);
    return found->second +
           kernels.elementwise(
               context * kv_bytes_per_token_and_gpu(model_, serve_.tp, serve_.kv_bytes_of_number),
               0);
}

double ServeTimes::weight_bytes() const {
    return total_parameters(model_) * bytes_of(precision_of(serve_.recipe)) / serve_.tp;
}

double ServeTimes::kv_tokens_most() const {
    const double room =
        static_cast<double>(cluster_.gpu.memory_bytes) * kMemoryUsed - weight_bytes();
    return std::max(0.0, std::floor(room / kv_bytes_per_token_and_gpu(model_, serve_.tp,
                                                                      serve_.kv_bytes_of_number)));
}

}  // namespace softib::plan
