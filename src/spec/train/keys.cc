// SPDX-License-Identifier: BSD-2-Clause
// The keys of questions about training.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "plan/units.h"
#include "spec/train/question.h"

namespace softib::spec {

namespace {

constexpr std::uint64_t kCountMost = 100'000'000;
constexpr std::string_view kModelHelp = "a model of 'softib plan models', or a file (TOML)";
constexpr std::string_view kClusterHelp =
    "a cluster of 'softib plan presets', with a size as superpod-h100:16, or a file (TOML)";
constexpr std::string_view kOneStep = "train times one mapping; search looks for others";
constexpr std::string_view kNoStep = "a search has no single step; train has";

/// Reads a whole number from `least` to `most` into `field`.
template <typename Field>
Result put_count(Field& field, const std::string& text, std::uint64_t least, std::uint64_t most) {
    const auto number = plan::parse_count(text);
    if (!number || *number < least || *number > most) {
        return std::unexpected(
            fmt::format("must be a whole number from {} to {}, not '{}'", least, most, text));
    }
    field = static_cast<std::uint32_t>(*number);
    return {};
}

template <auto kField, std::uint64_t kLeast = 1, std::uint64_t kMost = kCountMost>
Result count(TrainQuestion& question, const std::string& text) {
    return put_count(question.*kField, text, kLeast, kMost);
}

template <auto kField>
Result degree(TrainQuestion& question, const std::string& text) {
    return put_count(question.wish.*kField, text, 1, kCountMost);
}

template <auto kField>
Result text(TrainQuestion& question, const std::string& text) {
    question.*kField = text;
    return {};
}

/// Sets a field of the framework to a fixed value, for switches.
template <auto kField, bool kValue>
Result framework(TrainQuestion& question, const std::string&) {
    question.wish.framework.*kField = kValue;
    return {};
}

/// Stores what `parse` made of a text, or returns that it is none of the known names.
template <typename Field, typename Parsed>
Result put_name(Field& field, const std::string& text, const Parsed& parsed,
                std::string_view names) {
    if (!parsed) {
        return std::unexpected(fmt::format("must be {}, not '{}'", names, text));
    }
    field = *parsed;
    return {};
}

/// Returns the text if it is one of two or three names.
std::optional<std::string> one_of(const std::string& text,
                                  std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, text) != names.end() ? std::optional(text) : std::nullopt;
}

Result set_precision(TrainQuestion& question, const std::string& text) {
    return put_name(question.wish.framework.recipe, text, plan::parse_recipe(text),
                    plan::recipe_names());
}

Result set_recompute(TrainQuestion& question, const std::string& text) {
    return put_name(question.wish.recompute, text, plan::parse_recompute(text),
                    "none, selective or full");
}

Result set_attention(TrainQuestion& question, const std::string& text) {
    return put_name(question.wish.framework.attention, text, plan::parse_attention_kernel(text),
                    "flash, unfused or flash-fp8");
}

Result set_framework(TrainQuestion& question, const std::string& text) {
    const auto found = plan::find_framework(text);
    return put_name(question.wish.preset, text, found ? std::optional(*found) : std::nullopt,
                    "megatron-lm, megatron-bridge, nemo or fsdp2");
}

Result set_cp_comm(TrainQuestion& question, const std::string& text) {
    return put_name(question.wish.framework.cp_comm, text, plan::parse_context_exchange(text),
                    "p2p, all-gather or a2a");
}

Result set_lora_targets(TrainQuestion& question, const std::string& text) {
    return put_name(question.wish.framework.lora_targets, text, plan::parse_adapter_targets(text),
                    "all or attention");
}

template <auto kField>
Result number(TrainQuestion& question, const std::string& text) {
    return put_count(question.wish.framework.*kField, text, 1, kCountMost);
}

Result set_param_bytes(TrainQuestion& question, const std::string& text) {
    return put_count(question.wish.framework.param_bytes, text, 1, 2);
}

Result set_tp_overlap(TrainQuestion& question, const std::string& text) {
    return put_name(question.wish.framework.tp_overlap, text, plan::parse_tensor_overlap(text),
                    "none, backward or all");
}

Result set_network(TrainQuestion& question, const std::string& text) {
    return put_name(question.network, text, one_of(text, {"analytic", "flow", "packet"}),
                    "analytic, flow or packet");
}

Result set_placement(TrainQuestion& question, const std::string& text) {
    std::string placement;
    const Result done =
        put_name(placement, text, one_of(text, {"topology", "random"}), "topology or random");
    question.placed_randomly = placement == "random";
    return done;
}

Result set_rank_order(TrainQuestion& question, const std::string& text) {
    std::string order;
    const Result done = put_name(order, text, one_of(text, {"tp-cp-dp-pp", "tp-cp-pp-dp"}),
                                 "tp-cp-dp-pp or tp-cp-pp-dp");
    question.wish.framework.pp_inside = order == "tp-cp-pp-dp";
    return done;
}

Result set_zero(TrainQuestion& question, const std::string& text) {
    std::uint32_t zero = 0;
    const Result done = put_count(zero, text, 0, 3);
    question.wish.zero = zero;
    return done;
}

Result set_grad_bytes(TrainQuestion& question, const std::string& text) {
    const auto known = one_of(text, {"2", "4"});
    return put_name(question.wish.framework.grad_bytes, text,
                    known ? std::optional<std::uint32_t>(*known == "2" ? 2 : 4) : std::nullopt,
                    "2 or 4");
}

Result set_comm_sms(TrainQuestion& question, const std::string& text) {
    return put_count(question.wish.framework.comm_sms, text, 0, kCountMost);
}

Result set_seed(TrainQuestion& question, const std::string& text) {
    const auto seed = plan::parse_count(text);
    if (!seed) {
        return std::unexpected(seed.error());
    }
    question.seed = *seed;
    return {};
}

Result set_rails_crossed(TrainQuestion& question, const std::string&) {
    question.rails_crossed = true;
    return {};
}

Result set_collnet(TrainQuestion& question, const std::string&) {
    question.collnet = true;
    return {};
}

Result add_export(TrainQuestion& question, const std::string& text) {
    question.exports.push_back(text);
    return {};
}

/// Reads a number of tokens: "300B" or "1.5T". K, M, B and T are powers of a thousand.
Result set_tokens(TrainQuestion& question, const std::string& text) {
    double factor = 1;
    std::string digits = text;
    constexpr std::string_view kUnits = "KMBT";
    const std::size_t unit = text.empty() ? std::string::npos : kUnits.find(text.back());
    if (unit != std::string::npos) {
        digits.pop_back();
        for (std::size_t i = 0; i <= unit; ++i) {
            factor *= 1000;
        }
    }
    char* end = nullptr;
    const double number = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !(number > 0) || number * factor > 1e18) {
        return std::unexpected(
            fmt::format("must be a number of tokens, as 300B or 1.5T, not '{}'", text));
    }
    question.tokens = number * factor;
    return {};
}

/// Returns whether a degree is more than 1, or a search may make it so.
bool may_divide(std::uint32_t degree, TrainAsk ask) {
    return degree > 1 || (degree == 0 && ask == TrainAsk::kSearch);
}

std::string_view needs_contexts(const TrainQuestion& question, TrainAsk ask) {
    return may_divide(question.wish.cp, ask) ? "" : "no sequence is divided; say cp 2 or more";
}

std::string_view needs_full(const TrainQuestion& question, TrainAsk) {
    return question.wish.recompute == plan::Recompute::kFull
               ? ""
               : "layers are counted for full recomputation; say recompute full";
}

std::string_view needs_lora(const TrainQuestion& question, TrainAsk) {
    return question.wish.framework.lora != 0 ? "" : "there are no adapters; say lora 16";
}

/// Returns that something is so without a switch, unless a framework leaves it out.
template <auto kField>
std::string_view needs_framework_without(const TrainQuestion& question, TrainAsk) {
    const plan::Framework* const preset = question.wish.preset;
    return preset != nullptr && !(preset->*kField) ? ""
                                                   : "it is so unless a framework leaves it out";
}

std::string_view needs_chunked_sends(const TrainQuestion& question, TrainAsk) {
    return question.wish.preset != nullptr && question.wish.preset->chunked_sends
               ? ""
               : "it is so unless a framework leaves it out";
}

std::string_view needs_tensors(const TrainQuestion& question, TrainAsk ask) {
    return may_divide(question.wish.tp, ask) ? "" : "no tensor is divided; say tp 2 or more";
}

std::string_view needs_stages(const TrainQuestion& question, TrainAsk ask) {
    return may_divide(question.wish.pp, ask) ? "" : "there is one stage; say pp 2 or more";
}

std::string_view needs_experts(const TrainQuestion& question, TrainAsk ask) {
    return may_divide(question.wish.ep, ask) ? "" : "no experts are divided; say ep 2 or more";
}

std::string_view needs_fabric(const TrainQuestion& question, TrainAsk) {
    return question.network == "analytic"
               ? "the network analytic has no fabric; flow and packet have one"
               : "";
}

std::string_view needs_random_placement(const TrainQuestion& question, TrainAsk ask) {
    return question.placed_randomly ? needs_fabric(question, ask)
                                    : "only a random placement is drawn; say placement random";
}

std::string_view needs_export(const TrainQuestion& question, TrainAsk) {
    return question.exports.empty() ? "nothing is exported; say what by export" : "";
}

constexpr std::string_view kMap = "Mapping";
constexpr std::string_view kBatch = "Batch";
constexpr std::string_view kWork = "Framework";
constexpr std::string_view kNet = "Network";

using Wish = plan::JobWish;
using Question = TrainQuestion;
using plan::Mapping;

constexpr TrainKey kKeys[] = {
    {"model", "MODEL", "", kModelHelp, text<&Question::model>, 'm'},
    {"cluster", "CLUSTER", "", kClusterHelp, text<&Question::cluster>, 'c'},
    {"gpus", "N", kMap, "GPUs of the job (default: all that divide)", degree<&Wish::gpus>},
    {"tp", "N", kMap,
     "tensor parallelism (default: 1; chosen if no degree is said; search tries all)",
     degree<&Wish::tp>},
    {"pp", "N", kMap, "pipeline stages (default: as --tp)", degree<&Wish::pp>},
    {"interleave", "N", kMap, "chunks of a stage (default: as --tp)", degree<&Wish::interleave>},
    {"cp", "N", kMap, "context parallelism (default: as --tp)", degree<&Wish::cp>},
    {"ep", "N", kMap, "expert parallelism (default: as --tp)", degree<&Wish::ep>},
    {.name = "cp_comm",
     .operand = "p2p|all-gather|a2a",
     .group = kMap,
     .help = "how keys and values of other ranks are reached (default: p2p, around a ring)",
     .set = set_cp_comm,
     .idle = needs_contexts},
    {"etp", "N", kMap, "ranks that divide each expert (default: 1)", number<&Mapping::etp>},
    {"zero", "0..3", kMap,
     "what replicas divide: 0 nothing, 1 optimizer, 2 gradients too, 3 all (FSDP) (default: 1; "
     "search tries all)",
     set_zero},
    {"hsdp", "N", kMap, "ranks that divide it; groups of them are replicas (default: all)",
     number<&Mapping::hsdp>},
    {.name = "uneven",
     .operand = "",
     .group = kMap,
     .help = "stages may differ by a layer",
     .set = framework<&Mapping::uneven, true>,
     .for_search = false,
     .why = "a search tries uneven stages too",
     .idle = needs_stages},
    {"batch", "N", kBatch, "sequences of a step (default: about 4 Mi tokens)",
     degree<&Wish::batch>},
    {"micro_batch", "N", kBatch, "sequences of one (default: as --tp)", degree<&Wish::micro_batch>},
    {"sequence", "N", kBatch, "tokens of a sequence (default: the model's)",
     degree<&Wish::sequence>},
    {"framework", "megatron-lm|megatron-bridge|nemo|fsdp2", kWork,
     "whose defaults hold for what is not said (default: the planner's)", set_framework},
    {"recompute", "none|selective|full", kWork,
     "activations that are computed again (default: the least that fits; search tries all)",
     set_recompute},
    {.name = "recompute_layers",
     .operand = "N",
     .group = kWork,
     .help = "layers of each stage or chunk that full recomputation takes (default: all)",
     .set = number<&Mapping::recompute_layers>,
     .idle = needs_full},
    {"offload_layers", "N", kWork, "layers whose activations wait in the host's memory",
     number<&Mapping::offload_layers>},
    {"offload_optimizer", "", kWork, "the host has the optimizer's state and updates it",
     framework<&Mapping::offload_optimizer, true>},
    {"fp8_activations", "", kWork, "inputs of activation functions are kept in 8 bits",
     framework<&Mapping::fp8_activations, true>},
    {"lora", "RANK", kWork, "only adapters of this rank are trained (LoRA)",
     number<&Mapping::lora>},
    {.name = "lora_targets",
     .operand = "all|attention",
     .group = kWork,
     .help = "matrices that have adapters (default: all)",
     .set = set_lora_targets,
     .idle = needs_lora},
    {"attention", "flash|unfused|flash-fp8", kWork, "fused or not, or in FP8 (default: flash)",
     set_attention},
    {"precision", "bf16|fp16|fp8|fp8-block|mxfp8|nvfp4", kWork,
     "of matrix products, and how their numbers are scaled (default: bf16)", set_precision},
    {.name = "tp_overlap",
     .operand = "none|backward|all",
     .group = kWork,
     .help = "tensor parallelism's exchanges that are hidden (default: backward)",
     .set = set_tp_overlap,
     .idle = needs_tensors},
    {"grad_bytes", "2|4", kWork, "of a gradient (default: 4)", set_grad_bytes},
    {"param_bytes", "1|2", kWork, "of a parameter as it is held and gathered (default: 2)",
     set_param_bytes},
    {.name = "sequence_parallel",
     .operand = "",
     .group = kWork,
     .help = "divide what lies between matrices too, where the framework does not",
     .set = framework<&Mapping::sequence_parallel, true>,
     .idle = needs_framework_without<&plan::Framework::sequence_parallel>},
    {.name = "overlap_dp",
     .operand = "",
     .group = kWork,
     .help = "send gradients and parameters while layers compute, where the framework does not",
     .set = framework<&Mapping::overlap_dp, true>,
     .idle = needs_framework_without<&plan::Framework::overlap_dp>},
    {.name = "overlap_pp",
     .operand = "",
     .group = kWork,
     .help = "stages compute while they send, where the framework waits",
     .set = framework<&Mapping::overlap_pp, true>,
     .idle = needs_chunked_sends},
    {.name = "no_sequence_parallel",
     .operand = "",
     .group = kWork,
     .help = "keep whole what lies between matrices",
     .set = framework<&Mapping::sequence_parallel, false>,
     .idle = needs_tensors},
    {"no_overlap_dp", "", kWork, "send gradients and parameters while nothing computes",
     framework<&Mapping::overlap_dp, false>},
    {.name = "no_overlap_pp",
     .operand = "",
     .group = kWork,
     .help = "stages wait while they send",
     .set = framework<&Mapping::overlap_pp, false>,
     .idle = needs_stages},
    {.name = "overlap_ep",
     .operand = "",
     .group = kWork,
     .help = "hide experts' exchanges behind another micro-batch",
     .set = framework<&Mapping::overlap_ep, true>,
     .idle = needs_experts},
    {.name = "cuda_graphs",
     .operand = "",
     .group = kWork,
     .help = "hosts launch passes as a whole, and no GPU waits for them",
     .set = framework<&Mapping::cuda_graphs, true>},
    {"rates", "FILE", kWork, "what kernels reach on the GPUs, as share/softib/rates/hopper.toml",
     text<&Question::rates>},
    {"comm_sms", "N", kWork, "multiprocessors of a GPU that only communicate (default: 0)",
     set_comm_sms},
    {"network", "analytic|flow|packet", kNet,
     "how exchanges are timed: by rates alone, or on a model of the fabric (default: flow)",
     set_network},
    {.name = "planes",
     .operand = "N",
     .group = kNet,
     .help = "split each NIC over this many planes of their own switches (default: as the cluster "
             "says)",
     .set = count<&Question::planes, 1, 64>,
     .idle = needs_fabric},
    {.name = "rank_order",
     .operand = "tp-cp-dp-pp|tp-cp-pp-dp",
     .group = kNet,
     .help = "from neighbours to far (default: tp-cp-dp-pp)",
     .set = set_rank_order,
     .idle = needs_stages},
    {.name = "placement",
     .operand = "topology|random",
     .group = kNet,
     .help = "of the job's nodes on the fabric (default: topology)",
     .set = set_placement,
     .idle = needs_fabric},
    {.name = "seed",
     .operand = "N",
     .group = kNet,
     .help = "of a random placement (default: 1)",
     .set = set_seed,
     .idle = needs_random_placement},
    {.name = "rails_crossed",
     .operand = "",
     .group = kNet,
     .help = "messages arrive at the NIC of the next rail",
     .set = set_rails_crossed,
     .idle = needs_fabric},
    {"collnet", "", kNet, "NCCL has a SHARP plug-in, so that switches add up all-reduces",
     set_collnet},
    {.name = "tokens",
     .operand = "N",
     .group = "",
     .help = "also tell days and GPU-hours for them, as 300B, 15T",
     .set = set_tokens,
     .for_search = false,
     .why = kNoStep},
    {.name = "trace",
     .operand = "FILE",
     .group = "",
     .help = "write the timeline (Chrome trace JSON)",
     .set = text<&Question::trace>,
     .for_search = false,
     .why = kNoStep,
     .writes = true},
    {.name = "export",
     .operand = "FORMAT=FILE",
     .group = "",
     .help = "write what ranks send each other: goal=FILE, chakra=FILE, csv=FILE; repeatable",
     .set = add_export,
     .for_search = false,
     .why = kNoStep,
     .writes = true},
    {.name = "export_layers",
     .operand = "N",
     .group = "",
     .help = "put what N layers exchange within a pass together; 0: leave it in the time of passes "
             "(default: 1)",
     .set = count<&Question::export_layers, 0, 1024>,
     .for_search = false,
     .why = kNoStep,
     .idle = needs_export},
    {.name = "html",
     .operand = "FILE",
     .group = "",
     .help = "write a report with pictures, as a page of its own",
     .set = text<&Question::html>,
     .writes = true},
    {.name = "top",
     .operand = "N",
     .group = "",
     .help = "how many to show (default: 10)",
     .set = count<&Question::top, 1, 1000>,
     .letter = 'n',
     .for_train = false,
     .why = kOneStep},
    {.name = "threads",
     .operand = "N",
     .group = "",
     .help = "that try mappings (default: one a core)",
     .set = count<&Question::threads, 1, 1024>,
     .for_train = false,
     .why = kOneStep},
};

}  // namespace

std::span<const TrainKey> train_keys() {
    return kKeys;
}

}  // namespace softib::spec
