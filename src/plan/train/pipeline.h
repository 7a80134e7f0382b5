// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The schedule of a pipeline, played event by event: one forward and one backward pass in turn
// (1F1B), with several model chunks on a stage if it is interleaved, as Megatron-LM orders them.

#include <cstdint>
#include <vector>

#include "plan/units.h"

namespace softib::plan {

/// What a virtual stage does with one micro-batch.
struct StageWork {
    TimePs forward = 0;
    TimePs backward = 0;
    TimePs send = 0;  ///< Of its output to the next stage, or of gradients to the one before.
    /// Its layers, and how long the parameters of one of them take to arrive: the first
    /// micro-batch waits for them.
    std::uint32_t layers = 0;
    TimePs gather = 0;
};

struct Pipeline {
    std::uint32_t stages = 1;
    std::uint32_t chunks = 1;
    std::uint32_t micro_batches = 1;   ///< A multiple of `stages` if there are several chunks.
    bool overlap_sends = false;        ///< A stage computes while it sends.
    std::vector<StageWork> work = {};  ///< By virtual stage: chunk * stages + stage.
};

struct PassEvent {
    std::uint32_t stage = 0;
    std::uint32_t chunk = 0;
    std::uint32_t micro_batch = 0;
    bool forward = true;
    TimePs start = 0;
    TimePs end = 0;     ///< Of computing.
    TimePs sent = 0;    ///< When the output has arrived; equal to `end` if nobody waits for it.
    TimePs waited = 0;  ///< For parameters, within start to end.
};

struct PlayedPasses {
    std::vector<PassEvent> events = {};      ///< By time of start within each stage.
    std::vector<TimePs> ends = {};           ///< By stage.
    std::vector<TimePs> last_backward = {};  ///< By virtual stage: the end of its last pass.
    TimePs end = 0;
};

PlayedPasses play(const Pipeline& pipeline);

/// A pass as a stage's program has it.
struct PassStep {
    std::uint32_t micro_batch;
    std::uint32_t chunk;
    bool forward;
};
std::vector<PassStep> schedule_of(const Pipeline& pipeline, std::uint32_t stage);

/// How many passes of chunks a stage has begun and not yet run backward, at most.
std::uint32_t passes_in_flight(const Pipeline& pipeline, std::uint32_t stage);

}  // namespace softib::plan
