// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A training step (plan/train) as a job of ranks, to be played on a cluster or written for other
// simulators.
//
// A rank's passes are computations in the order of its stage. Stages send each other activations
// and gradients; replicas add up gradients and gather parameters by collective operations, those
// of a model chunk in eight pieces at most. What tensor, context and expert parallelism exchange
// within a pass, and with ZeRO 2 and 3 what each layer fetches, is in the time of the pass and no
// message.

#include "plan/cluster/cluster.h"
#include "plan/trace/job.h"
#include "plan/train/mapping.h"
#include "plan/train/model.h"
#include "plan/train/step.h"

namespace softib::plan::trace {

/// `step` is what time_step() says of the same model and mapping.
Job job_of_step(const Model& model, const Mapping& mapping, const Step& step);

}  // namespace softib::plan::trace
