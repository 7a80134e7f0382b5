// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A training step: how long it takes on a cluster, what of it is computing, and what is waiting.

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "plan/train/layer_cost.h"
#include "plan/train/memory.h"
#include "plan/train/pipeline.h"

namespace softib::plan {

/// Seconds of a step on an average stage, by what they are spent on; they sum to the step. The
/// exposed time of pipeline and data parallelism outside of passes is the difference between the
/// timeline and the same one without these exchanges.
struct StepParts {
    double matmul = 0;
    double attention = 0;
    double elementwise = 0;
    double host = 0;  ///< Time in which GPUs wait for their hosts.
    double recompute = 0;
    /// Communication that no computing hides, by Dimension.
    std::array<double, kDimensions.size()> exposed = {};
    double bubble = 0;  ///< Time in which stages wait for each other.
    double optimizer = 0;

    double seconds() const;
};

/// What a stage does beside its passes, or after them.
enum class SideWork : std::uint8_t { kParameters, kGradients, kEmbedding, kOptimizer, kHost };
const char* to_string(SideWork work);

struct SideEvent {
    std::uint32_t stage = 0;
    SideWork work = SideWork::kParameters;
    TimePs start = 0;
    TimePs end = 0;
};

struct Step {
    double seconds = 0;
    double tokens = 0;
    double model_flops = 0;     ///< Floating-point operations of the step, without recomputation.
    double hardware_flops = 0;  ///< Floating-point operations of the step, with recomputation.
    double mfu = 0;             ///< `model_flops` divided by those of the GPUs at their peak.
    double hfu = 0;             ///< `hardware_flops` divided by the same.
    double flops_per_gpu_s = 0;
    double tokens_per_s = 0;
    double bubble_share = 0;  ///< Part of the pipeline's time that is bubble.
    StepParts parts = {};
    /// Bytes that a GPU sends on average, by Dimension.
    std::array<LinkBytes, kDimensions.size()> bytes = {};
    MemoryUse memory = {};
    PlayedPasses played = {};
    std::vector<SideEvent> side = {};
    TimePs end = 0;  ///< End of the timeline: `seconds` in picoseconds.
};

/// Returns the time of a training step. The error says which field of the mapping is wrong, that
/// the step does not fit in memory, or what is wrong with the communication.
std::expected<Step, std::string> estimate_step(const Model& model, const Cluster& cluster,
                                               const Mapping& mapping,
                                               const Communication& communication);
/// Returns the time of a training step for a mapping without a fault, even if it does not fit in
/// memory.
Step time_step(const Model& model, const Cluster& cluster, const Mapping& mapping,
               const Communication& communication);

/// Returns a time that time_step() cannot be less than. It is quick, because it does not play the
/// schedule: each stage has its passes one after the other, behind the first passes of the stages
/// before it and before their last ones.
TimePs least_time(const Model& model, const Cluster& cluster, const Mapping& mapping,
                  const Communication& communication);

struct TrainingRun {
    double days = 0;
    double gpu_hours = 0;
};
/// Returns how long training on this many tokens takes if nothing fails.
TrainingRun run_for(const Step& step, const Mapping& mapping, double tokens);

}  // namespace softib::plan
