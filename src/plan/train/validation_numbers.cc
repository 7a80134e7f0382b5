// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/validation_numbers.h"

#include <cmath>
#include <optional>

#include "plan/cluster/presets.h"
#include "plan/train/fabric_communication.h"
#include "plan/train/measured.h"
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
    mapping.recipe = Recipe::kFp16;
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

double mean_sequence_error() {
    double sum = 0;
    std::uint32_t count = 0;
    for (const MeasuredStep& step : measured_steps()) {
        if (step.id.starts_with("M4")) {
            const StepCase made = case_of(step);
            sum += std::abs(step_of(made.model, made.cluster, made.mapping).seconds / made.seconds -
                            1);
            ++count;
        }
    }
    return 100 * sum / count;
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

std::vector<ValidationRow> training_rows() {
    std::vector<ValidationRow> rows = training_numbers();
    for (const MeasuredStep& step : measured_steps()) {
        const StepCase made = case_of(step);
        // What the steps of a kind are worth: docs/validation.md has the errors of all.
        const bool steady =
            made.model.experts == 0 && !class_of(made.model, made.mapping, made.seconds).short_step;
        rows.push_back({.id = step.id,
                        .claim = step.what,
                        .parameters = describe(made.mapping),
                        .expected = step.value,
                        .tolerance = steady ? 0.10 : 0.25,
                        .unit = std::string(unit_of(step.measure)),
                        .source = step.source,
                        .ours =
                            [&step] {
                                const StepCase own = case_of(step);
                                return measured_value(
                                    step, step_of(own.model, own.cluster, own.mapping).seconds);
                            },
                        .known_miss = !step.known_miss.empty(),
                        .note = step.known_miss});
    }
    return rows;
}

}  // namespace softib::plan
