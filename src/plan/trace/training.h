// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A training step (plan/train) as a job of ranks, to be played on a cluster or written for other
// simulators.
//
// A rank's passes are computations in the order of its stage. Between them, and beside them where
// the framework hides it, ranks exchange: activations and gradients between stages, what tensor,
// context and expert parallelism need within each layer, what ZeRO 2 and 3 fetch for it; replicas
// add up gradients and gather parameters, those of a model chunk in eight pieces at most.
//
// Within a block (attention, an MLP) computing is divided evenly between its exchanges. What an
// exchange is hidden behind goes on beside it; what follows waits for both. Context parallelism
// sends keys and values around a ring of ranks; all other exchanges are collective operations.

#include <cstdint>
#include <expected>
#include <string>

#include "plan/cluster/cluster.h"
#include "plan/trace/job.h"
#include "plan/train/mapping.h"
#include "plan/train/model.h"
#include "plan/train/step.h"

namespace softib::plan::trace {

struct StepJobOptions {
    /// Layers whose exchanges within a pass are put together; 0: those passes have no exchanges,
    /// and their time is in the computing.
    std::uint32_t layers_together = 1;
};

/// Messages that a job may become, in all: they take about 7 GB of memory.
inline constexpr double kStepMessagesMax = 1e7;

/// `step` is what time_step() says of the same model, mapping and network. The error says what
/// makes a job that is too large smaller.
std::expected<Job, std::string> job_of_step(const Model& model, const Cluster& cluster,
                                            const Mapping& mapping, const Step& step,
                                            const Communication& communication,
                                            const StepJobOptions& options = {});

}  // namespace softib::plan::trace
