// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes a job of ranks from a training step (plan/train), to play it on a cluster or to write it
// for other simulators.
//
// The passes of a rank are computations in the order of its stage's schedule. Between them, or
// beside them where the framework hides communication, ranks exchange:
//   - activations and gradients between stages;
//   - what tensor, context and expert parallelism need within each layer;
//   - what ZeRO 2 and 3 exchange for each layer;
//   - gradients that replicas add up and parameters that they gather, those of a model chunk in at
//     most eight pieces.
//
// Within a block (attention, an MLP) computing is divided evenly between its exchanges. The
// computing that hides an exchange goes on beside it; what follows waits for both. Context
// parallelism sends keys and values around a ring of ranks; all other exchanges within passes are
// collective operations.

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
    /// Number of neighbouring layers whose exchanges within a pass are merged; 0: passes have no
    /// exchanges, and the time of these counts as computing.
    std::uint32_t layers_together = 1;
};

/// The most messages that the exchanges within passes may become, in all; 10 million of them take
/// about 7 GB of memory.
inline constexpr double kStepMessagesMax = 1e7;

/// Returns the job of a step; `step` must be what time_step() returns for the same model, cluster,
/// mapping and communication. Returns an error if the job would have more than kStepMessagesMax
/// messages.
std::expected<Job, std::string> job_of_step(const Model& model, const Cluster& cluster,
                                            const Mapping& mapping, const Step& step,
                                            const Communication& communication,
                                            const StepJobOptions& options = {});

}  // namespace softib::plan::trace
