// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The schedule of a pipeline, played event by event: one forward and one backward pass in turn
// (1F1B), with several model chunks on a stage if it is interleaved, as Megatron-LM orders them.

#include <cstdint>
#include <vector>

#include "plan/units.h"

namespace softib::plan {

/// The times that a virtual stage takes for one micro-batch.
struct StageWork {
    TimePs forward = 0;
    TimePs backward = 0;
    TimePs send = 0;  ///< Time to send output to the next stage, or gradients to the previous one.
    std::uint32_t layers = 0;
    /// Time in which the parameters of one layer arrive; the first micro-batch waits for them.
    TimePs gather = 0;
};

struct Pipeline {
    std::uint32_t stages = 1;
    std::uint32_t chunks = 1;
    std::uint32_t micro_batches = 1;   ///< A multiple of `stages` if there are several chunks.
    bool overlap_sends = false;        ///< Whether a stage computes while it sends.
    std::vector<StageWork> work = {};  ///< Work of virtual stage chunk * stages + stage.
};

/// A forward or backward pass of one stage over one micro-batch, with its times.
struct PassEvent {
    std::uint32_t stage = 0;
    std::uint32_t chunk = 0;
    std::uint32_t micro_batch = 0;
    bool forward = true;
    TimePs start = 0;
    TimePs end = 0;     ///< When computing ends.
    TimePs sent = 0;    ///< When the output has arrived; equal to `end` if no stage waits for it.
    TimePs waited = 0;  ///< How long it waits for parameters between `start` and `end`.
};

struct PlayedPasses {
    std::vector<PassEvent> events = {};      ///< All passes; those of a stage in order of time.
    std::vector<TimePs> ends = {};           ///< When each stage is done.
    std::vector<TimePs> last_backward = {};  ///< End of each virtual stage's last backward pass.
    TimePs end = 0;                          ///< When all stages are done.
};

/// Plays the schedule of a pipeline.
PlayedPasses play(const Pipeline& pipeline);

/// A pass in the schedule of a stage.
struct PassStep {
    std::uint32_t micro_batch;
    std::uint32_t chunk;
    bool forward;
};
/// Returns the passes of a stage in the order in which it runs them.
std::vector<PassStep> schedule_of(const Pipeline& pipeline, std::uint32_t stage);

/// Returns the most forward passes of chunks whose backward pass is still due on a stage.
std::uint32_t passes_in_flight(const Pipeline& pipeline, std::uint32_t stage);

}  // namespace softib::plan
