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
/// How attention is computed: by one kernel that keeps no scores (FlashAttention), or by a kernel
/// for each operation.
enum class AttentionKernel : std::uint8_t { kFlash, kUnfused };
/// Which part of tensor parallelism's communication is hidden: none; what the backward pass can
/// hide behind its own matrix products; or that of the forward pass too, cut into pieces.
enum class TensorOverlap : std::uint8_t { kNone, kBackward, kAll };

const char* to_string(Recompute recompute);
const char* to_string(AttentionKernel kernel);
const char* to_string(TensorOverlap overlap);
std::optional<Recompute> parse_recompute(std::string_view text);
std::optional<AttentionKernel> parse_attention_kernel(std::string_view text);
std::optional<TensorOverlap> parse_tensor_overlap(std::string_view text);

struct Mapping {
    std::uint32_t gpus = 0;
    std::uint32_t tp = 1;          ///< Degree of tensor parallelism.
    std::uint32_t pp = 1;          ///< Pipeline stages.
    std::uint32_t interleave = 1;  ///< Model chunks of a stage (virtual pipeline).
    std::uint32_t cp = 1;          ///< Degree of context parallelism: parts of a sequence.
    /// Degree of expert parallelism over the ranks of a stage: tp first, then cp, then dp. An
    /// expert is whole on its rank.
    std::uint32_t ep = 1;
    /// ZeRO stage: replicas divide 0: nothing; 1: the optimizer's state; 2: gradients too; 3: also
    /// the parameters (FSDP).
    std::uint32_t zero = 1;
    std::uint32_t batch = 0;  ///< Sequences of a step.
    std::uint32_t micro_batch = 1;
    std::uint32_t sequence = 0;  ///< Tokens of a sequence.
    /// Whether tensor parallelism divides also what lies between its matrices.
    bool sequence_parallel = true;
    Recompute recompute = Recompute::kNone;
    AttentionKernel attention = AttentionKernel::kFlash;
    Recipe recipe = Recipe::kBf16;  ///< Recipe of matrix products; everything else is bf16.
    std::uint32_t grad_bytes = 4;   ///< Bytes of a gradient as it is added up and sent.
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
    std::uint32_t expert_replicas() const { return stage_ranks() / ep; }
    std::uint32_t micro_batches() const { return batch / (dp() * micro_batch); }
    std::uint32_t virtual_stages() const { return pp * interleave; }
};

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
    std::vector<std::uint32_t> data = {};  ///< Ranks with the same parameters: dp and cp together.
    std::vector<std::uint32_t> expert = {};
    std::vector<std::uint32_t> expert_data = {};  ///< Ranks with the same experts.
    std::vector<std::uint32_t> pipeline = {};     ///< One rank of each stage.
};
Groups groups_of(const Mapping& mapping);

}  // namespace softib::plan
