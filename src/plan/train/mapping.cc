// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace softib::plan {

namespace {

constexpr std::array kRecomputeNames{"none", "selective", "full"};
constexpr std::array kAttentionNames{"flash", "unfused", "flash-fp8"};
constexpr std::array kContextNames{"p2p", "all-gather", "a2a"};
constexpr std::array kTargetNames{"all", "attention"};
constexpr std::array kTensorOverlapNames{"none", "backward", "all"};

template <typename Enum>
std::optional<Enum> parse_name(const auto& names, std::string_view text) {
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) {
        return std::nullopt;
    }
    return static_cast<Enum>(found - names.begin());
}

/// Returns the nearest values on both sides of `wanted`, up to `most`, for which `fits` is true:
/// "8", or "6 or 8".
template <typename Fits>
std::string nearest_values(std::uint64_t wanted, std::uint64_t most, Fits fits) {
    std::string text;
    for (std::uint64_t below = std::min(wanted - 1, most); below >= 1; --below) {
        if (fits(below)) {
            text = std::to_string(below);
            break;
        }
    }
    for (std::uint64_t above = wanted + 1; above <= most; ++above) {
        if (fits(above)) {
            text += (text.empty() ? "" : " or ") + std::to_string(above);
            break;
        }
    }
    return text.empty() ? "1" : text;
}

/// Returns the error that the value of `field` must divide `whole`; `what` is the name of the
/// whole.
std::string must_divide(const char* field, std::uint64_t value, std::uint64_t whole,
                        const std::string& what) {
    return fmt::format(
        "{} {} must divide the {} {}; use {}", field, value, whole, what,
        nearest_values(value, whole, [&](std::uint64_t other) { return whole % other == 0; }));
}

std::optional<std::string> fault_of_numbers(const Cluster& cluster, const Mapping& mapping) {
    const struct {
        std::uint32_t value;
        const char* field;
    } fields[] = {{mapping.gpus, "gpus"},
                  {mapping.tp, "tp"},
                  {mapping.pp, "pp"},
                  {mapping.interleave, "interleave"},
                  {mapping.cp, "cp"},
                  {mapping.ep, "ep"},
                  {mapping.etp, "etp"},
                  {mapping.batch, "batch"},
                  {mapping.micro_batch, "micro-batch"},
                  {mapping.sequence, "sequence"}};
    for (const auto& [value, field] : fields) {
        if (value == 0) {
            return fmt::format("{} must be at least 1", field);
        }
    }
    if (mapping.gpus > cluster.gpus()) {
        return fmt::format("gpus {} is more than the {} of cluster {}; use at most {}",
                           mapping.gpus, cluster.gpus(), cluster.name, cluster.gpus());
    }
    if (mapping.zero > 3) {
        return fmt::format("zero {} must be 0, 1, 2 or 3 (3 is FSDP)", mapping.zero);
    }
    if (mapping.attention == AttentionKernel::kFlashFp8 && cluster.gpu.rates.flash_fp8 <= 0) {
        return fmt::format("attention flash-fp8 has no rate in {}; use flash, or add flash_fp8",
                           cluster.gpu.rates.name);
    }
    if ((mapping.offload_layers != 0 || mapping.offload_optimizer) &&
        cluster.gpu.host_bytes_per_s <= 0) {
        return fmt::format("the rate of {} to its host is not known; leave out {}",
                           cluster.gpu.name,
                           mapping.offload_optimizer ? "offload-optimizer" : "offload-layers");
    }
    if (mapping.param_bytes != 1 && mapping.param_bytes != 2) {
        return fmt::format("param-bytes {} must be 1 or 2", mapping.param_bytes);
    }
    if (mapping.grad_bytes != 2 && mapping.grad_bytes != 4) {
        return fmt::format("grad-bytes {} must be 2 or 4", mapping.grad_bytes);
    }
    if (mapping.comm_sms >= cluster.gpu.sms) {
        return fmt::format("comm-sms {} must leave some of the {}'s {} multiprocessors; use 20",
                           mapping.comm_sms, cluster.gpu.name, cluster.gpu.sms);
    }
    if (cluster.gpu.peak(precision_of(mapping.recipe)) <= 0) {
        return fmt::format("precision {} is none of the {}'s; use bf16", to_string(mapping.recipe),
                           cluster.gpu.name);
    }
    if (cluster.gpu.rates.matmul[static_cast<std::size_t>(mapping.recipe)] <= 0) {
        return fmt::format("precision {} has no rate in {}; add it to [matmul]",
                           to_string(mapping.recipe), cluster.gpu.rates.name);
    }
    return std::nullopt;
}

/// Returns the error that the stages, or their chunks, do not divide the layers, with values that
/// do.
std::string fault_of_stages(const Model& model, const Mapping& mapping) {
    const char* const uneven = mapping.virtual_stages() <= model.layers + 2 ? ", or --uneven" : "";
    const auto divides = [&model](std::uint64_t stages) { return model.layers % stages == 0; };
    if (mapping.interleave == 1) {
        return fmt::format("pp {} must divide the {} layers of {}; use {}{}", mapping.pp,
                           model.layers, model.name,
                           nearest_values(mapping.pp, model.layers, divides), uneven);
    }
    std::string use;
    if (divides(mapping.pp)) {
        use = "interleave " +
              nearest_values(mapping.interleave, model.layers / mapping.pp,
                             [&](std::uint64_t chunks) { return divides(mapping.pp * chunks); });
    } else if (divides(mapping.interleave) && mapping.interleave < model.layers) {
        use = "pp " +
              nearest_values(mapping.pp, model.layers / mapping.interleave,
                             [&](std::uint64_t pp) { return divides(pp * mapping.interleave); });
    } else {
        use = fmt::format("pp {} and interleave 1",
                          nearest_values(mapping.pp, model.layers, divides));
    }
    return fmt::format("pp {} times interleave {} must divide the {} layers of {}; use {}{}",
                       mapping.pp, mapping.interleave, model.layers, model.name, use, uneven);
}

/// Returns the error that context parallelism cannot divide the heads.
std::optional<std::string> fault_of_heads(const Model& model, const Mapping& mapping) {
    const std::uint32_t heads = model.heads / mapping.tp;
    if (mapping.cp > 1 && mapping.cp_comm == ContextExchange::kAllToAll &&
        heads % mapping.cp != 0) {
        return must_divide("cp", mapping.cp, heads, "heads of a rank that a2a exchanges") +
               ", or cp-comm p2p";
    }
    return std::nullopt;
}

std::optional<std::string> fault_of_model(const Model& model, const Mapping& mapping) {
    if (model.heads % mapping.tp != 0) {
        return must_divide("tp", mapping.tp, model.heads, "attention heads of " + model.name);
    }
    if (model.kv_heads % mapping.tp != 0 && mapping.tp % model.kv_heads != 0) {
        return must_divide("tp", mapping.tp, model.kv_heads, "kv_heads of " + model.name);
    }
    const std::uint32_t parts = 2 * mapping.cp;  // Each rank has a part of each half.
    if (mapping.cp > 1 && mapping.sequence % parts != 0) {
        return must_divide("cp", mapping.cp, mapping.sequence / 2, "halved tokens of a sequence");
    }
    if (mapping.ep > 1 && model.experts == 0) {
        return fmt::format("ep {} needs experts, and {} has none; use 1", mapping.ep, model.name);
    }
    if (model.experts != 0 && model.experts % mapping.ep != 0) {
        return must_divide("ep", mapping.ep, model.experts, "experts of " + model.name);
    }
    if (mapping.etp > 1 && model.experts == 0) {
        return fmt::format("etp {} needs experts, and {} has none; use 1", mapping.etp, model.name);
    }
    if (mapping.etp > 1 && model.expert_ffn % mapping.etp != 0) {
        return must_divide("etp", mapping.etp, model.expert_ffn, "columns of an expert");
    }
    if (auto fault = fault_of_heads(model, mapping)) {
        return fault;
    }
    if (mapping.lora != 0 && model.experts != 0 && mapping.lora_targets == AdapterTargets::kAll) {
        return fmt::format(
            "lora {}: experts have no adapters here; use lora-targets attention for {}",
            mapping.lora, model.name);
    }
    const std::uint32_t stages = mapping.virtual_stages();
    if (model.layers % stages != 0 && (!mapping.uneven || stages > model.layers + 2)) {
        return fault_of_stages(model, mapping);
    }
    return std::nullopt;
}

/// Returns the error that groups of HSDP do not divide the replicas.
std::optional<std::string> fault_of_shards(const Mapping& mapping) {
    if (mapping.hsdp == 0) {
        return std::nullopt;
    }
    if (mapping.replicas() % mapping.hsdp != 0) {
        return must_divide("hsdp", mapping.hsdp, mapping.replicas(),
                           "ranks with the same parameters");
    }
    if (mapping.zero == 0) {
        return fmt::format("hsdp {} divides nothing with zero 0; use zero 1, 2 or 3", mapping.hsdp);
    }
    if (mapping.expert_replicas() % mapping.instances() != 0) {
        return fmt::format("hsdp {} makes {} replicas of {} ranks with the same experts; use {}",
                           mapping.hsdp, mapping.instances(), mapping.expert_replicas(),
                           mapping.replicas());
    }
    return std::nullopt;
}

/// Returns the error that counted layers are not recomputed, or cannot wait in the host's memory.
std::optional<std::string> fault_of_keeping(const Mapping& mapping) {
    if (mapping.recompute_layers != 0 && mapping.recompute != Recompute::kFull) {
        return fmt::format("recompute-layers {} is for recompute full, and this is {}",
                           mapping.recompute_layers, to_string(mapping.recompute));
    }
    if (mapping.offload_layers != 0 && mapping.pp > 1) {
        return fmt::format(
            "offload-layers {} needs pp 1: activations of several micro-batches wait in stages",
            mapping.offload_layers);
    }
    return std::nullopt;
}

std::optional<std::string> fault_of_batch(const Mapping& mapping) {
    const std::uint64_t one = std::uint64_t{mapping.tp} * mapping.pp * mapping.cp;
    if (mapping.gpus % one != 0) {
        const std::uint64_t below = mapping.gpus / one * one;
        return fmt::format("gpus {} must be a multiple of tp x pp x cp = {}; use {}{}",
                           mapping.gpus, one, below == 0 ? "" : fmt::format("{} or ", below),
                           below + one);
    }
    if (mapping.stage_ranks() % mapping.ep != 0) {
        return must_divide("ep", mapping.ep, mapping.stage_ranks(), "ranks of tp x cp x dp");
    }
    if (mapping.stage_ranks() / mapping.ep % mapping.etp != 0) {
        return must_divide("etp", mapping.etp, mapping.stage_ranks() / mapping.ep,
                           "ranks of tp x cp x dp for each of ep");
    }
    if (auto fault = fault_of_shards(mapping)) {
        return fault;
    }
    if (mapping.ep > 1 && mapping.tp > 1 && !mapping.sequence_parallel) {
        return fmt::format(
            "ep {} with tp {} needs sequence parallelism, which divides the tokens that are sent; "
            "leave out no-sequence-parallel",
            mapping.ep, mapping.tp);
    }
    const std::uint64_t share = std::uint64_t{mapping.dp()} * mapping.micro_batch;
    if (mapping.batch % share != 0) {
        const std::uint64_t below = mapping.batch / share * share;
        return fmt::format("batch {} must be a multiple of dp {} x micro-batch {}; use {}{}",
                           mapping.batch, mapping.dp(), mapping.micro_batch,
                           below == 0 ? "" : fmt::format("{} or ", below), below + share);
    }
    if (auto fault = fault_of_keeping(mapping)) {
        return fault;
    }
    if (mapping.interleave > 1 && mapping.pp == 1) {
        return fmt::format("interleave {} needs several stages; use interleave 1 or pp 2",
                           mapping.interleave);
    }
    if (mapping.interleave > 1 && mapping.micro_batches() % mapping.pp != 0) {
        const std::uint64_t step = share * mapping.pp;
        const std::uint64_t below = mapping.batch / step * step;
        return fmt::format(
            "batch {} gives {} micro-batches, and interleave {} needs a multiple of pp {}; use "
            "batch {}{}, or interleave 1",
            mapping.batch, mapping.micro_batches(), mapping.interleave, mapping.pp,
            below == 0 ? "" : fmt::format("{} or ", below), below + step);
    }
    constexpr std::uint64_t kPassesMost = 4 << 20;
    const std::uint64_t passes = std::uint64_t{mapping.micro_batches()} * mapping.virtual_stages();
    if (passes > kPassesMost) {
        return fmt::format(
            "batch {} gives {} micro-batches in each of {} stages, and at most {} passes are "
            "timed; "
            "use batch {} or less, or a larger micro-batch",
            mapping.batch, mapping.micro_batches(), mapping.virtual_stages(), kPassesMost,
            kPassesMost / mapping.virtual_stages() * share);
    }
    if (mapping.zero >= 2 && mapping.pp > 1) {
        return fmt::format(
            "zero {} sends gradients in each micro-batch, which pipelines do not; use zero 1 or "
            "pp 1",
            mapping.zero);
    }
    return std::nullopt;
}

std::vector<std::uint32_t> strided(std::uint32_t count, std::uint32_t stride) {
    std::vector<std::uint32_t> ranks(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        ranks[i] = i * stride;
    }
    return ranks;
}

}  // namespace

const char* to_string(Recompute recompute) {
    return kRecomputeNames[static_cast<std::size_t>(recompute)];
}

const char* to_string(AttentionKernel kernel) {
    return kAttentionNames[static_cast<std::size_t>(kernel)];
}

const char* to_string(TensorOverlap overlap) {
    return kTensorOverlapNames[static_cast<std::size_t>(overlap)];
}

std::optional<Recompute> parse_recompute(std::string_view text) {
    return parse_name<Recompute>(kRecomputeNames, text);
}

std::optional<AttentionKernel> parse_attention_kernel(std::string_view text) {
    return parse_name<AttentionKernel>(kAttentionNames, text);
}

std::optional<TensorOverlap> parse_tensor_overlap(std::string_view text) {
    return parse_name<TensorOverlap>(kTensorOverlapNames, text);
}

const char* to_string(ContextExchange exchange) {
    return kContextNames[static_cast<std::size_t>(exchange)];
}

std::optional<ContextExchange> parse_context_exchange(std::string_view text) {
    return parse_name<ContextExchange>(kContextNames, text);
}

const char* to_string(AdapterTargets targets) {
    return kTargetNames[static_cast<std::size_t>(targets)];
}

std::optional<AdapterTargets> parse_adapter_targets(std::string_view text) {
    return parse_name<AdapterTargets>(kTargetNames, text);
}

Keeping keeping_of(const Mapping& mapping, std::uint32_t layer) {
    const bool left = mapping.recompute_layers != 0 && layer >= mapping.recompute_layers;
    return {.recompute = left ? Recompute::kNone : mapping.recompute,
            .offloaded = layer < mapping.offload_layers};
}

std::string describe(const Mapping& mapping) {
    std::string text = fmt::format("tp {}, pp {}", mapping.tp, mapping.pp);
    if (mapping.interleave > 1) {
        text += fmt::format(" interleaved {}", mapping.interleave);
    }
    if (mapping.cp > 1) {
        text += fmt::format(", cp {}", mapping.cp);
        text += mapping.cp_comm == ContextExchange::kRing
                    ? ""
                    : fmt::format(" by {}", to_string(mapping.cp_comm));
    }
    const auto more = [&text](const char* name, std::uint32_t value, std::uint32_t usual) {
        text += value == usual ? "" : fmt::format(", {} {}", name, value);
    };
    more("ep", mapping.ep, 1);
    more("etp", mapping.etp, 1);
    more("lora", mapping.lora, 0);
    if (mapping.pp_inside) {
        text += ", ranks tp-cp-pp-dp";
    }
    text += fmt::format(", dp {}, zero {}", mapping.dp(), mapping.zero);
    more("hsdp", mapping.hsdp, 0);
    text += fmt::format(", micro-batch {} x {}, recompute {}", mapping.micro_batch,
                        mapping.micro_batches(), to_string(mapping.recompute));
    more("recompute-layers", mapping.recompute_layers, 0);
    more("offload-layers", mapping.offload_layers, 0);
    return text;
}

std::optional<std::string> find_fault(const Model& model, const Cluster& cluster,
                                      const Mapping& mapping) {
    if (auto fault = find_fault(model)) {
        return fault;
    }
    if (auto fault = fault_of_numbers(cluster, mapping)) {
        return fault;
    }
    if (auto fault = fault_of_model(model, mapping)) {
        return fault;
    }
    return fault_of_batch(mapping);
}

std::vector<std::uint32_t> layers_of_stages(std::uint32_t layers, std::uint32_t stages) {
    const std::uint32_t most = (layers + stages - 1) / stages;
    std::vector<std::uint32_t> counts(stages, most);
    std::uint32_t missing = most * stages - layers;
    // One layer less for the last stage, the first, the last but one, the second ...
    for (std::uint32_t i = 0; missing > 0; ++i, --missing) {
        const std::uint32_t in = i / 2;
        --counts[i % 2 == 0 ? stages - 1 - in : in];
    }
    return counts;
}

Groups groups_of(const Mapping& mapping) {
    const std::uint32_t part = mapping.tp * mapping.cp;
    const std::uint32_t stage = mapping.pp_inside ? part : part * mapping.dp();
    const std::uint32_t replica = mapping.pp_inside ? part * mapping.pp : part;
    Groups groups;
    groups.tensor = strided(mapping.tp, 1);
    groups.context = strided(mapping.cp, mapping.tp);
    groups.pipeline = strided(mapping.pp, stage);
    for (const std::uint32_t first : strided(mapping.dp(), replica)) {
        for (const std::uint32_t rank : groups.context) {
            groups.data.push_back(first + rank);
        }
    }
    const std::uint32_t shards = mapping.shards();
    std::vector<std::uint32_t> all;  // Ranks of the stage.
    for (const std::uint32_t first : groups.data) {
        for (const std::uint32_t rank : groups.tensor) {
            all.push_back(first + rank);
        }
    }
    const std::size_t experts = std::size_t{mapping.ep} * mapping.etp;
    groups.expert_tensor.assign(all.begin(), all.begin() + mapping.etp);
    for (std::size_t i = 0; i < experts; i += mapping.etp) {
        groups.expert.push_back(all[i]);
    }
    for (std::size_t i = 0; groups.expert_data.size() < mapping.expert_shards(); i += experts) {
        groups.expert_data.push_back(all[i]);
    }
    for (std::size_t i = 0; i < groups.data.size(); i += shards) {
        groups.across.push_back(groups.data[i]);
    }
    groups.data.resize(shards);
    return groups;
}

}  // namespace softib::plan
