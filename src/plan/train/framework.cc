// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/framework.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "core/base/nearest.h"

namespace softib::plan {

namespace {

constexpr Framework kFrameworks[] = {
    {.name = "megatron-lm",
     .title = "Megatron-LM, as its arguments are without flags",
     .source = "megatron/training/arguments.py: no --use-distributed-optimizer, "
               "--overlap-grad-reduce, --sequence-parallel or --tp-comm-overlap; bf16 turns "
               "--accumulate-allreduce-grads-in-fp32 on",
     .zero = 0,
     .grad_bytes = 4,
     .grad_bytes_fp16 = 2,
     .param_bytes_fp8 = 2,
     .tp_overlap = TensorOverlap::kBackward,
     .sequence_parallel = false,
     .overlap_dp = false,
     .chunked_sends = true,
     .interleaves = false},
    {.name = "megatron-bridge",
     .title = "Megatron-Bridge's recipes",
     .source = "Megatron-Bridge, training/mixed_precision.py and training/comm_overlap.py: "
               "grad_reduce_in_fp32, fp8_param_gather, userbuffers, distributed optimizer with "
               "both overlaps",
     .zero = 1,
     .grad_bytes = 4,
     .grad_bytes_fp16 = 2,
     .param_bytes_fp8 = 1,
     .tp_overlap = TensorOverlap::kAll,
     .sequence_parallel = true,
     .overlap_dp = true,
     .chunked_sends = true,
     .interleaves = true},
    {.name = "nemo",
     .title = "NeMo 2's recipes, and MLPerf submissions with it",
     .source = "mlcommons/training_results_v5.1, nemo/config_common.sh: USE_DIST_OPTIMIZER, "
               "OVERLAP_GRAD_REDUCE, OVERLAP_PARAM_GATHER, FP8_PARAM_GATHER; NeMo 2 "
               "recipes/precision: grad_reduce_in_fp32",
     .zero = 1,
     .grad_bytes = 4,
     .grad_bytes_fp16 = 2,
     .param_bytes_fp8 = 1,
     .tp_overlap = TensorOverlap::kAll,
     .sequence_parallel = true,
     .overlap_dp = true,
     .chunked_sends = true,
     .interleaves = true},
    {.name = "fsdp2",
     .title = "PyTorch's fully_shard with bf16 parameters",
     .source = "PyTorch, torch.distributed.fsdp.fully_shard: parameters are freed after each pass, "
               "reduce_dtype is that of the parameters, prefetch is implicit; DTensor's tensor "
               "parallelism waits for its exchanges",
     .zero = 3,
     .grad_bytes = 2,
     .grad_bytes_fp16 = 2,
     .param_bytes_fp8 = 2,
     .tp_overlap = TensorOverlap::kNone,
     .sequence_parallel = true,
     .overlap_dp = true,
     .chunked_sends = false,
     .interleaves = false},
};

using Given = std::span<const std::string_view>;

bool says(Given given, std::initializer_list<std::string_view> keys) {
    return std::ranges::any_of(keys, [given](std::string_view key) {
        return std::ranges::find(given, key) != given.end();
    });
}

/// Lists choices with whose they are.
class Choices {
  public:
    Choices(const Framework* framework, Given given) : framework_(framework), given_(given) {}

    /// Adds a choice. `chosen`: whether a framework makes it; `negation`: a key that says no.
    void add(std::string_view name, const char* what, std::string value, bool chosen,
             std::string_view negation = {}) {
        const bool user = says(given_, {name, negation});
        all_.push_back({.name = name,
                        .what = what,
                        .value = std::move(value),
                        .by = user                              ? "user"
                              : chosen && framework_ != nullptr ? "framework"
                                                                : "planner"});
    }
    void add(std::string_view name, const char* what, bool value, bool chosen,
             std::string_view negation = {}) {
        add(name, what, std::string(value ? "yes" : "no"), chosen, negation);
    }
    std::vector<Choice> all() && { return std::move(all_); }

  private:
    const Framework* framework_;
    Given given_;
    std::vector<Choice> all_;
};

std::string bits_text(std::uint32_t bytes) {
    return fmt::format("{} bits", 8 * bytes);
}

std::string recompute_text(const Mapping& mapping) {
    return mapping.recompute_layers == 0
               ? std::string(to_string(mapping.recompute))
               : fmt::format("{}, {} layers of a stage", to_string(mapping.recompute),
                             mapping.recompute_layers);
}

}  // namespace

std::span<const Framework> frameworks() {
    return kFrameworks;
}

std::expected<const Framework*, std::string> find_framework(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Framework& each : kFrameworks) {
        if (each.name == name) {
            return &each;
        }
        names.push_back(each.name);
    }
    return std::unexpected(unknown_name("framework", name, names));
}

void apply_framework(const Framework& framework, Given given, Mapping& mapping) {
    const auto set = [given](std::initializer_list<std::string_view> keys, auto& field,
                             auto value) {
        if (!says(given, keys)) {
            field = value;
        }
    };
    set({"zero"}, mapping.zero, framework.zero);
    set({"grad_bytes"}, mapping.grad_bytes,
        mapping.recipe == Recipe::kFp16 ? framework.grad_bytes_fp16 : framework.grad_bytes);
    const bool fp8 = mapping.recipe == Recipe::kFp8 || mapping.recipe == Recipe::kMxfp8;
    set({"param_bytes"}, mapping.param_bytes, fp8 ? framework.param_bytes_fp8 : 2);
    set({"tp_overlap"}, mapping.tp_overlap, framework.tp_overlap);
    set({"sequence_parallel", "no_sequence_parallel"}, mapping.sequence_parallel,
        framework.sequence_parallel);
    set({"overlap_dp", "no_overlap_dp"}, mapping.overlap_dp, framework.overlap_dp);
    set({"overlap_pp", "no_overlap_pp"}, mapping.overlap_pp,
        !framework.chunked_sends || mapping.interleave > 1);
}

std::vector<Choice> choices_of(const Mapping& mapping, const Framework* framework, Given given) {
    Choices choices(framework, given);
    choices.add("zero", "what replicas divide (0: nothing, 1: optimizer, 2: gradients, 3: all)",
                std::to_string(mapping.zero), true);
    if (mapping.hsdp != 0) {
        choices.add("hsdp", "ranks that divide it", std::to_string(mapping.hsdp), false);
    }
    choices.add("grad_bytes", "gradients, as they are added up and sent",
                bits_text(mapping.grad_bytes), true);
    choices.add("param_bytes", "parameters, as they are held and gathered",
                bits_text(mapping.param_bytes), true);
    choices.add("overlap_dp", "gradients and parameters travel while layers compute",
                mapping.overlap_dp, true, "no_overlap_dp");
    choices.add("offload_optimizer", "the optimizer's state is in the host's memory",
                mapping.offload_optimizer, false);
    choices.add("recompute", "activations that are computed again", recompute_text(mapping), false);
    choices.add("cuda_graphs", "hosts launch passes as a whole", mapping.cuda_graphs, false);
    if (mapping.tp > 1) {
        choices.add("sequence_parallel", "activations between matrices are divided too",
                    mapping.sequence_parallel, true, "no_sequence_parallel");
        choices.add("tp_overlap", "tensor parallelism's exchanges that are hidden",
                    std::string(to_string(mapping.tp_overlap)), true);
    }
    if (mapping.pp > 1) {
        choices.add("interleave", "chunks of a stage", std::to_string(mapping.interleave),
                    framework != nullptr && !framework->interleaves);
        choices.add("overlap_pp", "stages compute while they send", mapping.overlap_pp, true,
                    "no_overlap_pp");
    }
    if (mapping.cp > 1) {
        choices.add("cp_comm", "keys and values of other ranks",
                    std::string(to_string(mapping.cp_comm)), false);
    }
    if (mapping.ep > 1) {
        choices.add("overlap_ep", "another micro-batch hides experts' exchanges",
                    mapping.overlap_ep, false);
    }
    return std::move(choices).all();
}

}  // namespace softib::plan
