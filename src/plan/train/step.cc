// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace softib::plan {

namespace {

TimePs to_ps(double seconds) {
    return static_cast<TimePs>(std::llround(seconds * 1e12));
}

double from_ps(TimePs time) {
    return static_cast<double>(time) * 1e-12;
}

/// The costs of a virtual stage.
struct StageCost {
    LayerCost cost;
    std::uint32_t layers = 0;
    HeldParameters held;
    ExchangeCost reduce;  ///< Adding up the gradients of all its layers.
    ExchangeCost gather;  ///< Gathering the parameters of all its layers.
    /// The part of both that is the embedding's: the last gradients, the first parameters.
    double words = 0;
};

/// Computes one step.
class StepBuilder {
  public:
    StepBuilder(const Model& model, const Cluster& cluster, const Mapping& mapping,
                const Communication& communication)
        : model_(model),
          cluster_(cluster),
          mapping_(mapping),
          communication_(communication),
          groups_(groups_of(mapping)),
          costs_(model, mapping, cluster.gpu, communication),
          send_(costs_.send()) {}

    Step build() {
        make_stages(true);
        Pipeline pipeline = make_pipeline();
        step_.played = play(pipeline);
        gather_parameters(pipeline);
        const TimePs reduced = reduce_gradients(pipeline);
        StepParts& parts = step_.parts;
        parts.exposed[at(Dimension::kData)] += from_ps(reduced - step_.played.end);
        step_.end = reduced;
        const TimePs updated = finish_step();
        parts.exposed[at(Dimension::kData)] += from_ps(step_.end - updated);
        count_flops();
        count_passes();
        count_waiting(std::move(pipeline));
        finish();
        return std::move(step_);
    }

    TimePs least() {
        make_stages(false);
        add_exchanges(stages_.front());
        const Pipeline pipeline = make_pipeline();
        TimePs most = 0;
        TimePs ahead = 0;   // First passes of the stages before.
        TimePs behind = 0;  // Their last passes.
        for (std::uint32_t stage = 0; stage < mapping_.pp; ++stage) {
            TimePs busy = 0;
            for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
                const StageWork& work = pipeline.work[chunk * mapping_.pp + stage];
                busy += pipeline.micro_batches * (work.forward + work.backward);
            }
            const StageWork& first = pipeline.work[stage];
            behind += stage == 0 ? 0 : first.send;
            most = std::max(most, ahead + busy + behind);
            if (stage == 0) {  // Its gradients begin with the last backward pass, or behind it.
                const std::uint32_t pieces = std::max(first.layers, 1U);
                const TimePs whole = to_ps(stages_[0].reduce.seconds);
                const TimePs words = to_ps(stages_[0].words * stages_[0].reduce.seconds);
                const TimePs takes = (whole - words) / pieces * pieces + words;
                most = std::max(most, busy - (mapping_.overlap_dp ? first.backward : 0) + takes);
            }
            ahead += first.forward + first.send;
            behind += first.backward;
        }
        return most + to_ps(share_embedding()) + to_ps(optimizer_seconds()) +
               to_ps(cluster_.gpu.rates.step_ms * 1e-3);
    }

  private:
    static std::size_t at(Dimension dimension) { return static_cast<std::size_t>(dimension); }

    /// Sets the costs of all stages, with the exchanges of gradients and parameters or without.
    void make_stages(bool exchanges) {
        const auto first = first_layers(model_, mapping_);
        std::map<std::pair<bool, Keeping>, LayerCost> known;
        const auto cost_of = [&](std::uint32_t layer, std::uint32_t first_layer) {
            const bool experts = model_.has_experts(layer);
            const Keeping keeping = keeping_of(mapping_, layer - first_layer);
            const auto [found, added] = known.try_emplace({experts, keeping});
            if (added) {
                found->second = costs_.layer(experts, keeping);
            }
            return found->second;
        };
        const std::uint32_t count = mapping_.virtual_stages();
        for (std::uint32_t i = 0; i < count; ++i) {
            StageCost stage;
            stage.layers = first[i + 1] - first[i];
            for (std::uint32_t layer = first[i]; layer < first[i + 1]; ++layer) {
                stage.cost += cost_of(layer, first[i]);
            }
            if (i == 0) {
                stage.cost += costs_.embedding();
            }
            if (i + 1 == count) {
                stage.cost += costs_.logits();
            }
            stage.held = held_parameters(model_, mapping_, first, i);
            if (exchanges) {
                add_exchanges(stage);
            }
            stages_.push_back(stage);
        }
    }

    /// Sets the exchanges of gradients and parameters that a stage has once in a step.
    void add_exchanges(StageCost& stage) const {
        if (mapping_.replicas() == 1) {
            return;
        }
        const double shared = stage.held.trained_shared(mapping_);
        const double experts = stage.held.trained_experts(mapping_);
        const auto exchange = [&](Exchange kind, double bytes) {
            ExchangeCost sum = communication_.cost(kind, bytes * shared, groups_.data);
            return sum += communication_.cost(kind, bytes * experts, groups_.expert_data);
        };
        if (mapping_.zero == 0) {
            stage.reduce = exchange(Exchange::kAllReduce, mapping_.grad_bytes);
        } else if (mapping_.zero == 1) {
            stage.reduce = exchange(Exchange::kReduceScatter, mapping_.grad_bytes);
        }
        if (mapping_.instances() > 1) {  // Each has all gradients; their parts are added up.
            const double part = shared / mapping_.shards() + experts / mapping_.expert_shards();
            stage.reduce += communication_.cost(Exchange::kAllReduce, mapping_.grad_bytes * part,
                                                groups_.across);
        }
        if (mapping_.zero == 1 || mapping_.zero == 2) {
            stage.gather = exchange(Exchange::kAllGather, mapping_.param_bytes);
        }
        stage.words = mapping_.lora != 0 ? 0 : stage.held.words / (shared + experts);
    }

    Pipeline make_pipeline() const {
        Pipeline pipeline{.stages = mapping_.pp,
                          .chunks = mapping_.interleave,
                          .micro_batches = mapping_.micro_batches(),
                          .overlap_sends = mapping_.overlap_pp};
        for (const StageCost& stage : stages_) {
            // The first layer waits for the embedding too, which is not among its parts.
            const double per_layer = stage.gather.seconds / std::max(stage.layers, 1U);
            pipeline.work.push_back(
                {.forward = to_ps(stage.cost.forward.seconds()),
                 .backward = to_ps(stage.cost.backward.seconds() + stage.cost.recompute.seconds()),
                 .send = to_ps(send_.seconds()),
                 .layers = stage.layers,
                 .gather = mapping_.overlap_dp ? to_ps(per_layer) : 0});
        }
        return pipeline;
    }

    /// Records the events of parameters that arrive from the beginning of the step on, while the
    /// first micro-batch runs.
    void gather_parameters(const Pipeline& pipeline) {
        for (std::uint32_t stage = 0; stage < mapping_.pp; ++stage) {
            TimePs takes = 0;
            for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
                const StageWork& work = pipeline.work[chunk * mapping_.pp + stage];
                takes += work.layers * work.gather;
            }
            if (takes != 0) {
                step_.side.push_back({stage, SideWork::kParameters, 0, takes});
            }
        }
    }

    /// Returns when the last gradient has been added up. The gradients of a stage are exchanged one
    /// layer after the other, each after the layer's last backward pass; without overlap, all at
    /// the end.
    TimePs reduce_gradients(const Pipeline& pipeline) {
        TimePs done = step_.played.end;
        for (std::uint32_t stage = 0; stage < mapping_.pp; ++stage) {
            TimePs free = mapping_.overlap_dp ? 0 : step_.played.ends[stage];
            for (std::uint32_t back = mapping_.interleave; back-- > 0;) {
                const std::uint32_t i = back * mapping_.pp + stage;
                const TimePs takes = to_ps(stages_[i].reduce.seconds);
                if (takes == 0) {
                    continue;
                }
                const std::uint32_t pieces = std::max(stages_[i].layers, 1U);
                const TimePs pass = pipeline.work[i].backward;
                const TimePs begun = step_.played.last_backward[i] - pass;
                const TimePs words = to_ps(stages_[i].words * stages_[i].reduce.seconds);
                TimePs started = kNever;
                for (std::uint32_t piece = 0; piece < pieces; ++piece) {
                    const TimePs ready =
                        mapping_.overlap_dp ? begun + pass / pieces * (piece + 1) : 0;
                    started = std::min(started, std::max(free, ready));
                    free = std::max(free, ready) + (takes - words) / pieces;
                }
                free = std::max(free, mapping_.overlap_dp ? begun + pass : 0) + words;
                step_.side.push_back({stage, SideWork::kGradients, started, free});
            }
            done = std::max(done, free);
        }
        return done + copying(done - step_.played.end);
    }

    /// Returns the time that passes lose since multiprocessors copy what travels beside them;
    /// `exposed` of it travels when no pass goes on.
    TimePs copying(TimePs exposed) const {
        double most = 0;
        for (std::uint32_t stage = 0; stage < mapping_.pp && mapping_.overlap_dp; ++stage) {
            double sum = 0;
            for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
                const StageCost& here = stages_[chunk * mapping_.pp + stage];
                sum += here.reduce.seconds + here.gather.seconds;
            }
            most = std::max(most, sum);
        }
        return to_ps(copying_share(mapping_, cluster_.gpu) *
                     std::max(0.0, most - from_ps(exposed)));
    }

    /// Adds what follows the gradients: those of the shared embedding, the optimizer, and
    /// parameters that nothing hides. Returns when the optimizer is done.
    TimePs finish_step() {
        const auto all_stages = [this](SideWork work, double seconds) {
            const TimePs begun = step_.end;
            step_.end += to_ps(seconds);
            for (std::uint32_t stage = 0; stage < mapping_.pp && step_.end != begun; ++stage) {
                const bool shares = stage == 0 || stage + 1 == mapping_.pp;
                if (work != SideWork::kEmbedding || shares) {
                    step_.side.push_back({stage, work, begun, step_.end});
                }
            }
            return from_ps(step_.end - begun);
        };
        step_.parts.exposed[at(Dimension::kPipeline)] +=
            all_stages(SideWork::kEmbedding, share_embedding());
        step_.parts.optimizer = all_stages(SideWork::kOptimizer, optimizer_seconds());
        step_.parts.host += all_stages(SideWork::kHost, cluster_.gpu.rates.step_ms * 1e-3);
        const TimePs updated = step_.end;
        all_stages(SideWork::kParameters, gather_after());
        return updated;
    }

    /// Returns the seconds in which first and last stage add up the gradients of the embedding that
    /// they share.
    double share_embedding() {
        if (!model_.tied_embeddings || mapping_.pp == 1) {
            return 0;
        }
        const std::array<std::uint32_t, 2> ends{0, groups_.pipeline.back()};
        const double bytes = static_cast<double>(model_.vocabulary) * model_.hidden / mapping_.tp *
                             mapping_.grad_bytes;
        const ExchangeCost cost = communication_.cost(Exchange::kAllReduce, bytes, ends);
        // Bytes are averages over all stages, and two of them send.
        add_bytes(Dimension::kPipeline, cost, 2.0 / mapping_.pp);
        return cost.seconds;
    }

    /// Returns the seconds of the optimizer on the slowest stage. Adam reads gradient, parameter
    /// and two moments, and writes the last three and a parameter of 16 bits. Before it, gradients
    /// are measured and clipped, and with fp16 unscaled; gradients of 16 bits are copied to 32
    /// bits, and parameters back. After it, gradients are set to zero.
    double optimizer_seconds() const {
        const double update = 4 * 4 + 3 * 4 + 2;
        const double clip = 4 + 4 + 4;
        const double unscale = mapping_.recipe == Recipe::kFp16 ? 4 + 4 : 0;
        const double copies = mapping_.grad_bytes == 2 ? (2 + 4) + (4 + 2) : 0;
        const double own_bytes = update + clip + unscale + copies;
        double most = 0;
        for (std::uint32_t stage = 0; stage < mapping_.pp; ++stage) {
            double own = 0;
            double all = 0;
            double frozen = 0;
            for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
                const HeldParameters& held = stages_[chunk * mapping_.pp + stage].held;
                const bool divided = mapping_.zero != 0;
                const double shared = held.trained_shared(mapping_);
                const double experts = held.trained_experts(mapping_);
                own += shared / (divided ? mapping_.shards() : 1) +
                       experts / (divided ? mapping_.expert_shards() : 1);
                all += shared + experts;
                frozen += mapping_.lora != 0 ? held.shared + held.experts : 0;
            }
            const Kernels kernels(cluster_.gpu, mapping_.recipe);
            const double zeroed = mapping_.grad_bytes * all;
            // Parameters are converted once, for all products of the next step.
            const double converted = mapping_.zero == 3 || frozen != 0
                                         ? 0
                                         : convert_share(mapping_) * kernels.convert(all);
            const double moved = (mapping_.grad_bytes + mapping_.param_bytes) * own;
            const double updated = mapping_.offload_optimizer
                                       ? moved / cluster_.gpu.host_bytes_per_s
                                       : kernels.elementwise(own_bytes * own, 4);
            most = std::max(most, updated + kernels.elementwise(zeroed, 0) + converted);
        }
        return most;
    }

    /// Returns the seconds in which parameters are gathered before the next step, if nothing hides
    /// that.
    double gather_after() const {
        double most = 0;
        for (std::uint32_t stage = 0; stage < mapping_.pp && !mapping_.overlap_dp; ++stage) {
            double sum = 0;
            for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
                sum += stages_[chunk * mapping_.pp + stage].gather.seconds;
            }
            most = std::max(most, sum);
        }
        return most;
    }

    void count_flops() {
        const bool square = mapping_.attention == AttentionKernel::kUnfused;
        step_.tokens = static_cast<double>(mapping_.batch) * mapping_.sequence;
        const double scores =
            3 * model_.layers * score_flops_per_token(model_, mapping_.sequence, square);
        const double whole = flops_per_token(model_, mapping_.sequence, square);
        // Frozen matrices have no gradients of weights.
        const double token = mapping_.lora != 0 ? scores + (whole - scores) * 2 / 3 : whole;
        const double logits = 6.0 * model_.vocabulary * model_.hidden;
        double again = 0;
        if (mapping_.recompute == Recompute::kFull) {
            again = (whole - logits) / 3 * recomputed_share();
        } else if (mapping_.recompute == Recompute::kSelective && square) {
            again = model_.layers * score_flops_per_token(model_, mapping_.sequence, square);
        }
        step_.model_flops = step_.tokens * token;
        step_.hardware_flops = step_.tokens * (token + again);
    }

    /// Returns the part of the layers that full recomputation takes.
    double recomputed_share() const {
        const auto first = first_layers(model_, mapping_);
        double count = 0;
        for (std::size_t i = 0; i + 1 < first.size(); ++i) {
            const std::uint32_t layers = first[i + 1] - first[i];
            count += mapping_.recompute_layers == 0 ? layers
                                                    : std::min(layers, mapping_.recompute_layers);
        }
        return count / model_.layers;
    }

    void add_bytes(Dimension dimension, const ExchangeCost& cost, double factor) {
        step_.bytes[at(dimension)].nvlink += cost.nvlink_bytes * factor;
        step_.bytes[at(dimension)].fabric += cost.fabric_bytes * factor;
    }

    /// Adds the costs of passes, as averages over stages.
    void count_passes() {
        const double per_stage = 1.0 / mapping_.pp;
        const double times = mapping_.micro_batches() * per_stage;
        StepParts& parts = step_.parts;
        const std::size_t last = stages_.size() - 1;
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            const StageCost& stage = stages_[i];
            PassCost sum = stage.cost.forward;
            sum += stage.cost.backward;
            parts.matmul += times * sum.matmul;
            parts.attention += times * sum.attention;
            parts.elementwise += times * sum.elementwise;
            parts.host += times * sum.host;
            parts.recompute += times * stage.cost.recompute.compute();
            sum += stage.cost.recompute;
            for (std::size_t d = 0; d < kDimensions.size(); ++d) {
                parts.exposed[d] += times * sum.exposed[d];
            }
            sum += send_.times((i != last ? 1 : 0) + (i != 0 ? 1 : 0));
            for (std::size_t d = 0; d < kDimensions.size(); ++d) {
                step_.bytes[d].nvlink += times * sum.bytes[d].nvlink;
                step_.bytes[d].fabric += times * sum.bytes[d].fabric;
            }
            add_bytes(Dimension::kData, stage.reduce, per_stage);
            add_bytes(Dimension::kData, stage.gather, per_stage);
        }
    }

    /// Divides the time in which stages wait. The parts of parameters and of sends are by how much
    /// earlier the passes would end without them; the rest is the bubble of the schedule.
    void count_waiting(Pipeline pipeline) {
        double busy = 0;
        for (const StageWork& work : pipeline.work) {
            busy += from_ps(work.forward + work.backward) * mapping_.micro_batches() / mapping_.pp;
        }
        const auto end_without = [&pipeline](TimePs StageWork::* what, TimePs known) {
            const bool any = std::ranges::any_of(
                pipeline.work, [what](const StageWork& work) { return work.*what != 0; });
            for (StageWork& work : pipeline.work) {
                work.*what = 0;
            }
            return any ? play(pipeline).end : known;
        };
        const TimePs all = step_.played.end;
        const TimePs gathered = end_without(&StageWork::gather, all);
        const TimePs sent = end_without(&StageWork::send, gathered);
        StepParts& parts = step_.parts;
        parts.exposed[at(Dimension::kData)] += from_ps(all - gathered);
        parts.exposed[at(Dimension::kPipeline)] += from_ps(gathered - sent);
        parts.bubble = std::max(0.0, from_ps(sent) - busy);
        step_.bubble_share = all > 0 ? parts.bubble / from_ps(all) : 0;
    }

    void finish() {
        step_.seconds = from_ps(step_.end);
        const double gpus = mapping_.gpus;
        const double peak = gpus * cluster_.gpu.peak(precision_of(mapping_.recipe));
        step_.tokens_per_s = step_.tokens / step_.seconds;
        step_.flops_per_gpu_s = step_.model_flops / step_.seconds / gpus;
        step_.mfu = step_.model_flops / step_.seconds / peak;
        step_.hfu = step_.hardware_flops / step_.seconds / peak;
        step_.memory = memory_use(model_, cluster_.gpu, mapping_);
    }

    const Model& model_;
    const Cluster& cluster_;
    const Mapping& mapping_;
    const Communication& communication_;
    Groups groups_;
    LayerCosts costs_;
    PassCost send_;
    std::vector<StageCost> stages_;
    Step step_;
};

}  // namespace

const char* to_string(SideWork work) {
    switch (work) {
        case SideWork::kParameters:
            return "parameters";
        case SideWork::kGradients:
            return "gradients";
        case SideWork::kEmbedding:
            return "shared embedding";
        case SideWork::kHost:
            return "host";
        case SideWork::kOptimizer:
            break;
    }
    return "optimizer";
}

double StepParts::seconds() const {
    double sum = matmul + attention + elementwise + host + recompute + bubble + optimizer;
    for (const double each : exposed) {
        sum += each;
    }
    return sum;
}

Step time_step(const Model& model, const Cluster& cluster, const Mapping& mapping,
               const Communication& communication) {
    return StepBuilder(model, cluster, mapping, communication).build();
}

TimePs least_time(const Model& model, const Cluster& cluster, const Mapping& mapping,
                  const Communication& communication) {
    return StepBuilder(model, cluster, mapping, communication).least();
}

std::expected<Step, std::string> estimate_step(const Model& model, const Cluster& cluster,
                                               const Mapping& mapping,
                                               const Communication& communication) {
    if (auto fault = find_fault(model, cluster, mapping)) {
        return std::unexpected(*fault);
    }
    if (const MemoryUse use = memory_use(model, cluster.gpu, mapping); !use.fits()) {
        return std::unexpected(does_not_fit(model, cluster, mapping, use));
    }
    Step step = time_step(model, cluster, mapping, communication);
    if (auto fault = communication.fault()) {
        return std::unexpected(*std::move(fault));
    }
    return step;
}

TrainingRun run_for(const Step& step, const Mapping& mapping, double tokens) {
    const double seconds = tokens / step.tokens_per_s;
    return {seconds / 86'400, seconds / 3'600 * mapping.gpus};
}

}  // namespace softib::plan
