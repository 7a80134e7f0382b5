// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan/train/layer_cost.h"
#include "plan/train/pipeline.h"

namespace softib::plan {

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kStateBytes = 12;  ///< Adam's state: a parameter and two moments in 32 bits.
/// Bytes of CUDA's and cuBLAS's contexts, NCCL's buffers, and gaps between blocks.
constexpr double kReserved = 4 * kGiB;

/// Bytes that a token of a micro-batch leaves in a layer for its backward pass.
struct KeptBytes {
    double scores = 0;  ///< Bytes that selective recomputation drops.
    double rest = 0;
    double input = 0;  ///< The only bytes that full recomputation keeps.
};

KeptBytes kept_bytes(const Model& model, const Mapping& mapping, bool experts) {
    const double tp = mapping.tp;
    const double divided = mapping.sequence_parallel ? tp : 1;
    const double hidden = model.hidden;
    const double mask = model.dropout ? 1 : 0;
    KeptBytes kept;
    kept.input = 2 * hidden / divided;
    // Inputs and outputs of two norms, and masks of dropout.
    kept.rest = (2 * 2 + 2 * mask) * hidden / divided;
    kept.scores = 2 * 2 * hidden / divided;
    const double keys = std::max(static_cast<double>(model.kv_heads) / tp, 1.0) * model.head_dim;
    if (model.latent()) {
        kept.rest += 2.0 * (model.q_rank + model.kv_rank + model.rope_dim);
        kept.scores += 2 * model.heads * (model.head_dim + model.value_dim) / tp;
        kept.scores += 2 * model.query_width() / tp;
    } else {
        kept.rest += 2 * 2 * keys + 2 * model.query_width() / tp;
    }
    kept.rest += 2 * model.value_width() / tp;
    if (mapping.lora != 0) {  // Frozen matrices need no input for gradients of their weights.
        kept.scores -= 2 * hidden / divided;
    }
    if (mapping.attention == AttentionKernel::kUnfused) {
        kept.scores += (model.dropout ? 5.0 : 2.0) * model.heads * mapping.sequence / tp;
    }
    const double gates = model.gated ? 2 : 1;
    const double element =
        bytes_of(precision_of(mapping.recipe));  // Bytes of a number that enters a matrix.
    if (!experts) {
        const bool all = mapping.lora == 0 || mapping.lora_targets == AdapterTargets::kAll;
        kept.rest += (mapping.fp8_activations ? 1 : 2) * gates * model.ffn / tp;
        kept.scores += all ? element * model.ffn / tp : 0;
        return kept;
    }
    const double passed = model.top_k + model.shared_experts;
    kept.rest += passed * (mapping.fp8_activations ? 1 : 2) * gates * model.expert_ffn / tp;
    kept.scores += passed * element * model.expert_ffn / tp;
    kept.rest += element * model.top_k * hidden / divided;  // Tokens, sorted by expert.
    return kept;
}

double gib(double bytes) {
    return bytes / kGiB;
}

}  // namespace

double kept_layer_bytes(const Model& model, const Mapping& mapping, bool experts) {
    const KeptBytes bytes = kept_bytes(model, mapping, experts);
    return static_cast<double>(mapping.micro_batch) * mapping.sequence / mapping.cp *
           (bytes.rest + bytes.scores);
}

std::vector<std::uint32_t> first_layers(const Model& model, const Mapping& mapping) {
    std::vector<std::uint32_t> first{0};
    for (const std::uint32_t count : layers_of_stages(model.layers, mapping.virtual_stages())) {
        first.push_back(first.back() + count);
    }
    return first;
}

HeldParameters held_parameters(const Model& model, const Mapping& mapping,
                               std::span<const std::uint32_t> first, std::uint32_t virtual_stage) {
    const double dense = shared_layer_parameters(model, mapping, false);
    const double routed = model.experts != 0 ? shared_layer_parameters(model, mapping, true) : 0;
    const double experts = model.experts != 0 ? expert_layer_parameters(model, mapping) : 0;
    HeldParameters held;
    for (std::uint32_t layer = first[virtual_stage]; layer < first[virtual_stage + 1]; ++layer) {
        held.shared += model.has_experts(layer) ? routed : dense;
        held.experts += model.has_experts(layer) ? experts : 0;
        held.adapters += adapter_parameters(model, mapping, model.has_experts(layer));
    }
    if (virtual_stage == 0) {
        held.words = embedding_parameters(model) / mapping.tp;
        held.shared += held.words;
    }
    if (virtual_stage + 1 == mapping.virtual_stages() &&
        (!model.tied_embeddings || mapping.pp > 1)) {
        held.shared += static_cast<double>(model.vocabulary) * model.hidden / mapping.tp;
    }
    return held;
}

namespace {

/// What a layer keeps, computes again and gathers, in bytes and parameters of a GPU.
struct LayerUse {
    double kept = 0;  ///< Bytes of one micro-batch until its backward pass.
    double again = 0;
    double gathered = 0;
};

LayerUse use_of_layer(const Model& model, const Mapping& mapping, bool experts,
                      Recompute recompute) {
    const double tokens = static_cast<double>(mapping.micro_batch) * mapping.sequence / mapping.cp;
    const KeptBytes bytes = kept_bytes(model, mapping, experts);
    const bool full = recompute == Recompute::kFull;
    const bool scores = recompute == Recompute::kNone;
    return {.kept = tokens * (full ? bytes.input : bytes.rest + (scores ? bytes.scores : 0)),
            .again = tokens * (full     ? bytes.rest + bytes.scores
                               : scores ? 0
                                        : bytes.scores),
            .gathered = shared_layer_parameters(model, mapping, experts) +
                        (experts ? expert_layer_parameters(model, mapping) : 0)};
}

/// Computes the memory use of stages.
class StageMemory {
  public:
    StageMemory(const Model& model, const Mapping& mapping)
        : model_(model),
          mapping_(mapping),
          first_(first_layers(model, mapping)),
          uses_{uses_of(false), uses_of(model.experts != 0)} {}

    MemoryUse of(std::uint32_t stage) const {
        MemoryUse use{.stage = stage, .reserved = kReserved};
        HeldParameters held;
        double kept_most = 0;  // Bytes of one pass of the largest chunk.
        LayerUse most;
        for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
            const std::uint32_t at = chunk * mapping_.pp + stage;
            const HeldParameters here = held_parameters(model_, mapping_, first_, at);
            held.shared += here.shared;
            held.experts += here.experts;
            double kept = 0;
            for (std::uint32_t layer = first_[at]; layer < first_[at + 1]; ++layer) {
                const Keeping keeping = keeping_of(mapping_, layer - first_[at]);
                const LayerUse& one = uses_[model_.has_experts(layer) ? 1 : 0]
                                           [static_cast<std::size_t>(keeping.recompute)];
                // One layer leaves for the host's memory, and one arrives, at any time.
                const std::uint32_t away = layer - first_[at];
                kept += keeping.offloaded && away >= 2 ? 0 : one.kept;
                // What is computed again exists for one layer at a time.
                most.again = std::max(most.again, one.again);
                most.gathered = std::max(most.gathered, one.gathered);
            }
            kept_most = std::max(kept_most, kept);
        }
        const Pipeline pipeline{.stages = mapping_.pp,
                                .chunks = mapping_.interleave,
                                .micro_batches = mapping_.micro_batches()};
        use.activations = kept_most * passes_in_flight(pipeline, stage);
        use.working = most.again;
        if (stage + 1 == mapping_.pp) {
            constexpr double kLogitBytes = 4 + 2;
            const double tokens =
                static_cast<double>(mapping_.micro_batch) * mapping_.sequence / mapping_.cp;
            use.working =
                std::max(use.working, kLogitBytes * tokens * model_.vocabulary / mapping_.tp);
        }
        const auto divided = [&](std::uint32_t from, double bytes) {
            const bool divides = mapping_.zero >= from;
            return bytes *
                   (held.trained_shared(mapping_) / (divides ? mapping_.shards() : 1) +
                    held.trained_experts(mapping_) / (divides ? mapping_.expert_shards() : 1));
        };
        use.optimizer = mapping_.offload_optimizer ? 0 : divided(1, kStateBytes);
        use.gradients = divided(2, mapping_.grad_bytes);
        use.weights = divided(3, weight_bytes());
        if (mapping_.lora != 0) {
            const bool divides = mapping_.zero == 3;
            use.weights +=
                weight_bytes() * (held.shared / (divides ? mapping_.shards() : 1) +
                                  held.experts / (divides ? mapping_.expert_shards() : 1));
        }
        if (mapping_.zero == 3) {  // All parameters of a layer and the next, and its gradients.
            use.working += (2 * weight_bytes() + (mapping_.lora != 0 ? 0 : mapping_.grad_bytes)) *
                           most.gathered;
        }
        return use;
    }

  private:
    using Uses = std::array<LayerUse, 3>;  ///< By Recompute.

    Uses uses_of(bool experts) const {
        return {use_of_layer(model_, mapping_, experts, Recompute::kNone),
                use_of_layer(model_, mapping_, experts, Recompute::kSelective),
                use_of_layer(model_, mapping_, experts, Recompute::kFull)};
    }
    /// Returns the bytes of a parameter: frozen ones are held as products take them.
    double weight_bytes() const {
        return mapping_.lora != 0 && converts(mapping_.recipe) ? 1 : mapping_.param_bytes;
    }

    const Model& model_;
    const Mapping& mapping_;
    std::vector<std::uint32_t> first_;
    std::array<Uses, 2> uses_;  ///< Uses of dense layers, and of those with experts.
};

}  // namespace

MemoryUse memory_use(const Model& model, const Gpu& gpu, const Mapping& mapping) {
    const StageMemory memory(model, mapping);
    MemoryUse most;
    for (std::uint32_t stage = 0; stage < mapping.pp; ++stage) {
        const MemoryUse use = memory.of(stage);
        if (stage == 0 || use.total() > most.total()) {
            most = use;
        }
    }
    most.capacity = static_cast<double>(gpu.memory_bytes);
    return most;
}

void recompute_least(const Model& model, const Gpu& gpu, Mapping& mapping) {
    mapping.recompute_layers = 0;
    for (const Recompute each : {Recompute::kNone, Recompute::kSelective}) {
        mapping.recompute = each;
        if (memory_use(model, gpu, mapping).fits()) {
            return;
        }
    }
    mapping.recompute = Recompute::kFull;
    const std::uint32_t stages = mapping.virtual_stages();
    const std::uint32_t all = (model.layers + stages - 1) / stages;
    std::uint32_t fits = all;
    for (std::uint32_t low = 0; fits - low > 1;) {  // `low` layers are too few.
        mapping.recompute_layers = low + (fits - low) / 2;
        (memory_use(model, gpu, mapping).fits() ? fits : low) = mapping.recompute_layers;
    }
    mapping.recompute_layers = fits == all ? 0 : fits;
}

std::string does_not_fit(const Model& model, const Cluster& cluster, const Mapping& mapping,
                         const MemoryUse& use) {
    struct Change {
        std::string text;
        Mapping mapping;
    };
    std::vector<Change> changes;
    const auto change = [&](std::string text, auto edit) {
        Mapping other = mapping;
        edit(other);
        changes.push_back({std::move(text), other});
    };
    change("--recompute selective", [](Mapping& m) { m.recompute = Recompute::kSelective; });
    change("--recompute full", [](Mapping& m) { m.recompute = Recompute::kFull; });
    change("--zero 1", [](Mapping& m) { m.zero = std::max(m.zero, 1U); });
    for (const std::uint32_t by : {2U, 4U, 8U}) {
        change(fmt::format("--micro-batch {}", mapping.micro_batch / by),
               [&](Mapping& m) { m.micro_batch /= by; });
        change(fmt::format("--tp {}", mapping.tp * by), [&](Mapping& m) { m.tp *= by; });
        change(fmt::format("--pp {}", mapping.pp * by), [&](Mapping& m) { m.pp *= by; });
        change(fmt::format("--tp {} --recompute full", mapping.tp * by), [&](Mapping& m) {
            m.tp *= by;
            m.recompute = Recompute::kFull;
        });
        change(fmt::format("--pp {} --recompute full", mapping.pp * by), [&](Mapping& m) {
            m.pp *= by;
            m.recompute = Recompute::kFull;
        });
    }
    std::string text = fmt::format(
        "{} does not fit on {} with {}: stage {} needs {:.1f} GiB of {:.1f} GiB", model.name,
        cluster.gpu.name, describe(mapping), use.stage, gib(use.total()), gib(use.capacity));
    std::uint32_t named = 0;
    for (const Change& each : changes) {
        if (!find_fault(model, cluster, each.mapping) && each.mapping.tp <= cluster.domain_gpus() &&
            memory_use(model, cluster.gpu, each.mapping).fits()) {
            text += (named == 0 ? "; try " : " or ") + each.text;
            if (++named == 2) {
                return text;
            }
        }
    }
    return named != 0 ? text
                      : text +
                            "; try more GPUs (--gpus) with larger --tp and --pp, or 'softib plan "
                            "search'";
}

}  // namespace softib::plan
