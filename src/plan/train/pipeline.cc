// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/pipeline.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::plan {

namespace {

std::uint32_t warm_up_passes(const Pipeline& pipeline, std::uint32_t stage) {
    const std::uint32_t behind = pipeline.stages - stage - 1;
    const std::uint32_t passes =
        pipeline.chunks == 1 ? behind : 2 * behind + (pipeline.chunks - 1) * pipeline.stages;
    return std::min(passes, pipeline.micro_batches * pipeline.chunks);
}

/// Returns the k-th pass of a stage in one direction: `stages` micro-batches pass each chunk in
/// turn, then the next ones.
PassStep step_at(const Pipeline& pipeline, std::uint32_t k, bool forward) {
    if (pipeline.chunks == 1) {
        return {k, 0, forward};
    }
    const std::uint32_t round = pipeline.stages * pipeline.chunks;
    const std::uint32_t chunk = k % round / pipeline.stages;
    return {k / round * pipeline.stages + k % pipeline.stages,
            forward ? chunk : pipeline.chunks - 1 - chunk, forward};
}

/// Plays one pipeline.
class Player1F1B {
  public:
    explicit Player1F1B(const Pipeline& pipeline)
        : pipeline_(pipeline),
          virtual_stages_(pipeline.stages * pipeline.chunks),
          arrived_(std::size_t{2} * virtual_stages_ * pipeline.micro_batches, kNever),
          next_(pipeline.stages, 0),
          free_(pipeline.stages, 0) {
        played_.last_backward.assign(virtual_stages_, 0);
        for (std::uint32_t stage = 0; stage < pipeline.stages; ++stage) {
            programs_.push_back(schedule_of(pipeline, stage));
        }
    }

    PlayedPasses run() {
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::uint32_t stage = 0; stage < pipeline_.stages; ++stage) {
                while (next_[stage] < programs_[stage].size() && advance(stage)) {
                    moved = true;
                }
            }
        }
        for (std::uint32_t stage = 0; stage < pipeline_.stages; ++stage) {
            SOFTIB_CHECK(next_[stage] == programs_[stage].size());
        }
        played_.ends = free_;
        played_.end = *std::ranges::max_element(free_);
        return std::move(played_);
    }

  private:
    std::size_t slot(bool forward, std::uint32_t virtual_stage, std::uint32_t micro_batch) const {
        return ((forward ? 0 : std::size_t{virtual_stages_}) + virtual_stage) *
                   pipeline_.micro_batches +
               micro_batch;
    }

    /// Returns when the input of a pass is there, or kNever if its sender has not run.
    TimePs input_at(const PassStep& step, std::uint32_t virtual_stage) const {
        if (step.forward) {
            return virtual_stage == 0 ? 0
                                      : arrived_[slot(true, virtual_stage - 1, step.micro_batch)];
        }
        if (virtual_stage + 1 == virtual_stages_) {
            return arrived_[slot(true, virtual_stage, step.micro_batch)];
        }
        return arrived_[slot(false, virtual_stage + 1, step.micro_batch)];
    }

    /// Returns how long the first micro-batch takes, which waits for parameters layer by layer.
    TimePs first_forward(std::uint32_t stage, std::uint32_t chunk, TimePs start) const {
        TimePs gathered = 0;  // Parameters of earlier chunks arrive first.
        for (std::uint32_t before = 0; before < chunk; ++before) {
            const StageWork& work = pipeline_.work[before * pipeline_.stages + stage];
            gathered += work.layers * work.gather;
        }
        const StageWork& work = pipeline_.work[chunk * pipeline_.stages + stage];
        const std::uint32_t layers = std::max(work.layers, 1U);
        TimePs now = start;
        for (std::uint32_t layer = 0; layer < layers; ++layer) {
            gathered += work.layers == 0 ? 0 : work.gather;
            now = std::max(now, gathered) + work.forward / layers;
        }
        return now - start + work.forward % layers;
    }

    /// Runs the stage's next pass. Returns false if its input is not there yet.
    bool advance(std::uint32_t stage) {
        const PassStep& step = programs_[stage][next_[stage]];
        const std::uint32_t virtual_stage = step.chunk * pipeline_.stages + stage;
        const TimePs input = input_at(step, virtual_stage);
        if (input == kNever) {
            return false;
        }
        const StageWork& work = pipeline_.work[virtual_stage];
        PassEvent event{.stage = stage,
                        .chunk = step.chunk,
                        .micro_batch = step.micro_batch,
                        .forward = step.forward};
        event.start = std::max(free_[stage], input);
        TimePs takes = step.forward ? work.forward : work.backward;
        if (step.forward && step.micro_batch == 0) {
            const TimePs longer = first_forward(stage, step.chunk, event.start);
            event.waited = longer - takes;
            takes = longer;
        }
        event.end = event.start + takes;
        const bool last = step.forward ? virtual_stage + 1 == virtual_stages_ : virtual_stage == 0;
        event.sent = event.end + (last ? 0 : work.send);
        free_[stage] = pipeline_.overlap_sends ? event.end : event.sent;
        arrived_[slot(step.forward, virtual_stage, step.micro_batch)] = event.sent;
        if (!step.forward) {
            played_.last_backward[virtual_stage] = event.end;
        }
        played_.events.push_back(event);
        ++next_[stage];
        return true;
    }

    const Pipeline& pipeline_;
    std::uint32_t virtual_stages_;
    std::vector<std::vector<PassStep>> programs_;
    std::vector<TimePs> arrived_;  ///< When the output of each pass has arrived; kNever: not run.
    std::vector<std::size_t> next_;
    std::vector<TimePs> free_;
    PlayedPasses played_;
};

}  // namespace

std::vector<PassStep> schedule_of(const Pipeline& pipeline, std::uint32_t stage) {
    const std::uint32_t total = pipeline.micro_batches * pipeline.chunks;
    const std::uint32_t warm = warm_up_passes(pipeline, stage);
    std::vector<PassStep> steps;
    steps.reserve(std::size_t{2} * total);
    for (std::uint32_t k = 0; k < warm; ++k) {
        steps.push_back(step_at(pipeline, k, true));
    }
    for (std::uint32_t k = warm; k < total; ++k) {
        steps.push_back(step_at(pipeline, k, true));
        steps.push_back(step_at(pipeline, k - warm, false));
    }
    for (std::uint32_t k = total - warm; k < total; ++k) {
        steps.push_back(step_at(pipeline, k, false));
    }
    return steps;
}

std::uint32_t passes_in_flight(const Pipeline& pipeline, std::uint32_t stage) {
    return std::min(warm_up_passes(pipeline, stage) + 1, pipeline.micro_batches * pipeline.chunks);
}

PlayedPasses play(const Pipeline& pipeline) {
    return Player1F1B(pipeline).run();
}

}  // namespace softib::plan
