// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/validation_numbers.h"

#include <cmath>
#include <optional>

#include "plan/cluster/presets.h"
#include "plan/train/fabric_communication.h"
#include "plan/train/search.h"
#include "plan/train/step.h"
#include "plan/validation.h"

namespace softib::plan {

namespace {

constexpr double kTeraFlops = 1e12;

Cluster cluster_named(const char* name) {
    return find_preset(name).value();
}

Model model_named(const char* name) {
    return find_model(name).value();
}

/// Returns a step on the flow model of the cluster's fabric.
Step step_of(const Model& model, const Cluster& cluster, const Mapping& mapping) {
    const auto fabric = FabricCommunication::make(cluster, mapping.gpus, {});
    return fabric ? time_step(model, cluster, mapping, **fabric) : Step{};
}

/// Returns the quickest mapping that fits, by rates and latencies alone.
std::optional<Candidate> quickest(const Model& model, const Cluster& cluster,
                                  const SearchSpace& space) {
    const auto found = search(model, cluster, space, {.top = 1});
    return found && !found->best.empty() ? std::optional(found->best[0]) : std::nullopt;
}

/// Returns a mapping as Megatron-LM had it in 2021: unfused attention, full recomputation, and
/// gradients of 16 bits that are sent at the end.
Mapping megatron_2021(const Model& model) {
    Mapping mapping;
    mapping.sequence = model.sequence;
    mapping.zero = 0;
    mapping.sequence_parallel = false;
    mapping.recompute = Recompute::kFull;
    mapping.attention = AttentionKernel::kUnfused;
    mapping.precision = Precision::kFp16;
    mapping.grad_bytes = 2;
    mapping.tp_overlap = TensorOverlap::kNone;
    mapping.overlap_dp = false;
    mapping.overlap_pp = false;
    return mapping;
}

}  // namespace

double parameters_of(const char* model) {
    return total_parameters(model_named(model));
}

double megatron_parameters(const char* name) {
    const Model model = model_named(name);
    const double h = model.hidden;
    const double l = model.layers;
    return 12 * l * h * h *
           (1 + 13 / (12 * h) +
            (static_cast<double>(model.vocabulary) + model.sequence) / (12 * l * h));
}

double megatron_teraflops(const char* name, std::uint32_t tp, std::uint32_t pp, std::uint32_t gpus,
                          std::uint32_t batch) {
    const Model model = model_named(name);
    const Cluster cluster = cluster_named("superpod-a100");
    SearchSpace space{.base = megatron_2021(model),
                      .tp = tp,
                      .pp = pp,
                      .cp = 1,
                      .ep = 1,
                      .zero = 0,
                      .recompute = Recompute::kFull};
    space.base.gpus = gpus;
    space.base.tp = tp;
    space.base.pp = pp;
    space.base.batch = batch;
    const auto best = quickest(model, cluster, space);
    if (!best) {
        return 0;
    }
    const Step step = step_of(model, cluster, best->mapping);
    return step.hfu * cluster.gpu.peak(Precision::kFp16) / kTeraFlops;
}

double sequence_seconds(const char* name, std::uint32_t pp, std::uint32_t interleave,
                        std::uint32_t batch, std::uint32_t micro_batch, bool selective) {
    const Model model = model_named(name);
    Mapping mapping;
    mapping.gpus = 8 * pp;
    mapping.tp = 8;
    mapping.pp = pp;
    mapping.interleave = interleave;
    mapping.batch = batch;
    mapping.micro_batch = micro_batch;
    mapping.sequence = model.sequence;
    mapping.zero = 0;
    mapping.sequence_parallel = selective;
    mapping.recompute = selective ? Recompute::kSelective : Recompute::kFull;
    mapping.attention = AttentionKernel::kUnfused;
    mapping.precision = Precision::kFp16;
    mapping.overlap_dp = false;
    mapping.overlap_pp = false;
    return step_of(model, cluster_named("superpod-a100"), mapping).seconds;
}

double mean_sequence_error() {
    double sum = 0;
    std::uint32_t count = 0;
    for (const ValidationRow& row : training_rows()) {
        if (row.id == "M4" && row.unit == "s") {
            sum += std::abs(row.ours() / row.expected - 1);
            ++count;
        }
    }
    return 100 * sum / count;
}

double llama_teraflops(std::uint32_t gpus, std::uint32_t cp, std::uint32_t sequence,
                       std::uint32_t batch) {
    const Model model = model_named("llama3.1-405b");
    Mapping mapping;
    mapping.gpus = gpus;
    mapping.tp = 8;
    mapping.cp = cp;
    mapping.pp = 16;
    mapping.interleave = 8;
    mapping.batch = batch;
    mapping.sequence = sequence;
    mapping.uneven = true;
    const Step step = step_of(model, cluster_named("meta-roce-24k"), mapping);
    return step.flops_per_gpu_s / kTeraFlops;
}

double deepseek_days() {
    const Model model = model_named("deepseek-v3");
    Mapping mapping;
    mapping.gpus = 2048;
    mapping.pp = 16;
    mapping.ep = 64;
    mapping.batch = 15'360;
    mapping.sequence = 4096;
    mapping.precision = Precision::kFp8;
    mapping.overlap_ep = true;
    mapping.comm_sms = 20;
    mapping.recompute = Recompute::kSelective;
    mapping.uneven = true;
    const Step step = step_of(model, cluster_named("h800-2048"), mapping);
    return run_for(step, mapping, 1e12).days;
}

double scaling_mfu(std::uint32_t gpus) {
    const Model model = model_named("gpt3-175b");
    const Cluster cluster = cluster_named("superpod-h100:32");
    SearchSpace space;
    space.base.gpus = gpus;
    space.base.batch = 1152;
    space.base.sequence = model.sequence;
    const auto best = quickest(model, cluster, space);
    return best ? 100 * step_of(model, cluster, best->mapping).mfu : 0;
}

}  // namespace softib::plan
