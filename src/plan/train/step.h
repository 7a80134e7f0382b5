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

/// Seconds of a step on an average stage; they sum to the step. What pipelines and data wait for is
/// the difference between the timeline and the same one without these exchanges; the rest of a
/// dimension's exchanges is in the passes.
struct StepParts {
    double matmul = 0;
    double attention = 0;
    double elementwise = 0;
    double recompute = 0;
    std::array<double, kDimensions.size()> exposed = {};  ///< Communication that nothing hides.
    double bubble = 0;                                    ///< Stages that wait for each other.
    double optimizer = 0;

    double seconds() const;
};

/// What a stage does beside its passes, or after them.
enum class SideWork : std::uint8_t { kParameters, kGradients, kEmbedding, kOptimizer };
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
    double model_flops = 0;     ///< Of the whole step, nothing counted twice.
    double hardware_flops = 0;  ///< With what is computed again.
    double mfu = 0;             ///< Model FLOPs by those of the GPUs at their peak.
    double hfu = 0;
    double flops_per_gpu_s = 0;
    double tokens_per_s = 0;
    double bubble_share = 0;  ///< Of the pipeline's time.
    StepParts parts = {};
    std::array<LinkBytes, kDimensions.size()> bytes = {};  ///< What a GPU sends, on average.
    MemoryUse memory = {};
    PlayedPasses played = {};
    std::vector<SideEvent> side = {};
    TimePs end = 0;  ///< Of the timeline: the same as `seconds`.
};

/// The error says which field is wrong, or that it does not fit in memory.
std::expected<Step, std::string> estimate_step(const Model& model, const Cluster& cluster,
                                               const Mapping& mapping,
                                               const Communication& communication);
/// The same for a mapping that has no fault; it need not fit.
Step time_step(const Model& model, const Cluster& cluster, const Mapping& mapping,
               const Communication& communication);

struct TrainingRun {
    double days = 0;
    double gpu_hours = 0;
};
/// How long a number of tokens takes, nothing failing.
TrainingRun run_for(const Step& step, const Mapping& mapping, double tokens);

}  // namespace softib::plan
