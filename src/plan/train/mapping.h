// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The mapping of a training job onto GPUs: the degree of each kind of parallelism, the batch, which
// activations are kept and which are computed again, and what the framework overlaps. Names are
// those of Megatron-LM.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/cluster/recipe.h"
#include "plan/train/model.h"

namespace softib::plan {

/// Which activations the backward pass computes again: none; what costs little for its bytes, that
/// is outputs of norms and activation functions, unfused attention's scores, and what latents are
/// expanded to; or all.
enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
/// How attention is computed: by one kernel that keeps no scores (FlashAttention), by a kernel for
/// each operation, or by one kernel that multiplies in FP8.
enum class AttentionKernel : std::uint8_t { kFlash, kUnfused, kFlashFp8 };
/// Which part of tensor parallelism's communication is hidden: none; what the backward pass can
/// hide behind its own matrix products; or that of the forward pass too, cut into pieces.
enum class TensorOverlap : std::uint8_t { kNone, kBackward, kAll };

/// How ranks of context parallelism reach keys and values of others: parts go around a ring while
/// scores are computed; all are gathered before; or heads are exchanged for parts of the sequence
/// (Ulysses).
enum class ContextExchange : std::uint8_t { kRing, kGather, kAllToAll };
/// Which matrices have adapters (LoRA): those of attention, or those of dense MLPs too.
enum class AdapterTargets : std::uint8_t { kAll, kAttention };

const char* to_string(Recompute recompute);
const char* to_string(AttentionKernel kernel);
const char* to_string(TensorOverlap overlap);
std::optional<Recompute> parse_recompute(std::string_view text);
std::optional<AttentionKernel> parse_attention_kernel(std::string_view text);
std::optional<TensorOverlap> parse_tensor_overlap(std::string_view text);
const char* to_string(ContextExchange exchange);
std::optional<ContextExchange> parse_context_exchange(std::string_view text);
const char* to_string(AdapterTargets targets);
std::optional<AdapterTargets> parse_adapter_targets(std::string_view text);

struct Mapping {
    std::uint32_t gpus = 0;
    std::uint32_t tp = 1;          ///< Degree of tensor parallelism.
    std::uint32_t pp = 1;          ///< Pipeline stages.
    std::uint32_t interleave = 1;  ///< Model chunks of a stage (virtual pipeline).
    std::uint32_t cp = 1;          ///< Degree of context parallelism: parts of a sequence.
    ContextExchange cp_comm = ContextExchange::kRing;
    /// Degree of expert parallelism over the ranks of a stage: tp first, then cp, then dp.
    std::uint32_t ep = 1;
    std::uint32_t etp = 1;  ///< Neighbouring ranks that divide each expert's matrices.
    /// ZeRO stage: replicas divide 0: nothing; 1: the optimizer's state; 2: gradients too; 3: also
    /// the parameters (FSDP).
    std::uint32_t zero = 1;
    /// Ranks with the same parameters among which ZeRO divides; such groups are replicas of each
    /// other (HSDP). 0: all of them.
    std::uint32_t hsdp = 0;
    std::uint32_t batch = 0;  ///< Sequences of a step.
    std::uint32_t micro_batch = 1;
    std::uint32_t sequence = 0;  ///< Tokens of a sequence.
    /// Whether tensor parallelism divides also what lies between its matrices.
    bool sequence_parallel = true;
    Recompute recompute = Recompute::kNone;
    /// Layers of each virtual stage that full recomputation takes; 0: all.
    std::uint32_t recompute_layers = 0;
    std::uint32_t offload_layers = 0;  ///< Layers whose activations wait in the host's memory.
    /// Whether inputs of activation functions wait for their backward pass in 8 bits.
    bool fp8_activations = false;
    bool offload_optimizer = false;  ///< Whether the host has and updates the optimizer's state.
    AttentionKernel attention = AttentionKernel::kFlash;
    Recipe recipe = Recipe::kBf16;  ///< Recipe of matrix products; everything else is bf16.
    std::uint32_t grad_bytes = 4;   ///< Bytes of a gradient as it is added up and sent.
    std::uint32_t param_bytes = 2;  ///< Bytes of a layer's parameter as it is held and gathered.
    std::uint32_t lora = 0;         ///< Rank of adapters; all else is frozen. 0: all is trained.
    AdapterTargets lora_targets = AdapterTargets::kAll;
    TensorOverlap tp_overlap = TensorOverlap::kBackward;
    bool overlap_dp = true;      ///< Whether gradients and parameters travel while layers compute.
    bool overlap_pp = true;      ///< Whether a stage computes while it sends to another stage.
    std::uint32_t comm_sms = 0;  ///< Multiprocessors that only communicate.
    bool overlap_ep = false;     ///< Whether another micro-batch hides the exchanges of experts.
    bool uneven = false;         ///< Whether stages may differ by a layer.
    bool cuda_graphs = false;    ///< Whether the host launches passes as a whole.
    bool pp_inside = false;      ///< Ranks are numbered tp, cp, pp, dp; else tp, cp, dp, pp.

    std::uint32_t dp() const { return gpus / (tp * pp * cp); }
    /// Returns the number of ranks that hold the same parameters, except those of experts.
    std::uint32_t replicas() const { return dp() * cp; }
    /// Returns the number of ranks of a stage.
    std::uint32_t stage_ranks() const { return replicas() * tp; }
    std::uint32_t expert_replicas() const { return stage_ranks() / (ep * etp); }
    /// Returns the groups of ranks that each have the whole state (HSDP).
    std::uint32_t instances() const { return hsdp == 0 ? 1 : replicas() / hsdp; }
    /// Returns the number of ranks that divide the state of the same parameters.
    std::uint32_t shards() const { return replicas() / instances(); }
    std::uint32_t expert_shards() const { return expert_replicas() / instances(); }
    std::uint32_t micro_batches() const { return batch / (dp() * micro_batch); }
    std::uint32_t virtual_stages() const { return pp * interleave; }
};

/// What becomes of the activations of a layer until its backward pass.
struct Keeping {
    Recompute recompute = Recompute::kNone;
    bool offloaded = false;  ///< Whether they wait in the host's memory.

    friend auto operator<=>(const Keeping&, const Keeping&) = default;
};
/// Returns it for the n-th layer of a virtual stage, from 0.
Keeping keeping_of(const Mapping& mapping, std::uint32_t layer);

/// Returns the fields that are not 1 or usual: "tp 8, pp 16, dp 64, micro-batch 1".
std::string describe(const Mapping& mapping);

/// Returns which field does not fit, with the nearest value that does; std::nullopt if all fit.
std::optional<std::string> find_fault(const Model& model, const Cluster& cluster,
                                      const Mapping& mapping);

/// Returns the number of layers of each virtual stage, in the order in which a micro-batch passes
/// them. Where the layers do not divide evenly, the stages at the ends get one less first, since
/// they also have the embedding and the logits.
std::vector<std::uint32_t> layers_of_stages(std::uint32_t layers, std::uint32_t stages);

/// The groups of rank 0, each in ascending order. Ranks are numbered with tp first, then cp, dp and
/// pp, or pp before dp.
struct Groups {
    std::vector<std::uint32_t> tensor = {};
    std::vector<std::uint32_t> context = {};
    /// Ranks that divide the state of the same parameters: dp and cp together, or a part of them.
    std::vector<std::uint32_t> data = {};
    std::vector<std::uint32_t> expert = {};
    std::vector<std::uint32_t> expert_tensor = {};  ///< Ranks that divide the same experts.
    std::vector<std::uint32_t> expert_data = {};    ///< Ranks with the same experts.
    std::vector<std::uint32_t> across = {};         ///< A rank of each instance (HSDP).
    std::vector<std::uint32_t> pipeline = {};       ///< One rank of each stage.
};
Groups groups_of(const Mapping& mapping);

}  // namespace softib::plan
