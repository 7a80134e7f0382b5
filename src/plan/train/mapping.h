// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a training job is laid on GPUs: the degree of each kind of parallelism, the batch, what is
// kept and what is computed again, and what the framework overlaps. Names are Megatron-LM's.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/train/model.h"

namespace softib::plan {

/// Which activations the backward pass computes again: none; attention's scores, or with latent
/// attention what its latents are expanded to; or all.
enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
/// One kernel that keeps no scores (FlashAttention), or a kernel for each operation.
enum class AttentionKernel : std::uint8_t { kFlash, kUnfused };
/// What of tensor parallelism's communication is hidden: nothing; what the backward pass can hide
/// behind its own matrices; and, in pieces, that of the forward pass too.
enum class TensorOverlap : std::uint8_t { kNone, kBackward, kAll };

const char* to_string(Recompute recompute);
const char* to_string(AttentionKernel kernel);
const char* to_string(TensorOverlap overlap);
std::optional<Recompute> parse_recompute(std::string_view text);
std::optional<AttentionKernel> parse_attention_kernel(std::string_view text);
std::optional<TensorOverlap> parse_tensor_overlap(std::string_view text);

struct Mapping {
    std::uint32_t gpus = 0;
    std::uint32_t tp = 1;          ///< Tensor parallelism.
    std::uint32_t pp = 1;          ///< Pipeline stages.
    std::uint32_t interleave = 1;  ///< Model chunks of a stage (virtual pipeline).
    std::uint32_t cp = 1;          ///< Context parallelism: parts of a sequence.
    std::uint32_t ep = 1;          ///< Expert parallelism, within the data-parallel ranks.
    std::uint32_t zero = 1;  ///< 0: all states everywhere; 1: optimizer; 2: gradients too; 3: FSDP.
    std::uint32_t batch = 0;  ///< Sequences of a step.
    std::uint32_t micro_batch = 1;
    std::uint32_t sequence = 0;
    bool sequence_parallel = true;  ///< With tp: what lies between its matrices is divided too.
    Recompute recompute = Recompute::kNone;
    AttentionKernel attention = AttentionKernel::kFlash;
    Precision precision = Precision::kBf16;  ///< Of matrices; everything else is bf16.
    std::uint32_t grad_bytes = 4;            ///< Of a gradient as it is added up and sent.
    TensorOverlap tp_overlap = TensorOverlap::kBackward;
    bool overlap_dp = true;      ///< Gradients and parameters travel while layers compute.
    bool overlap_pp = true;      ///< Sends between stages do not hold up the sender.
    std::uint32_t comm_sms = 0;  ///< Multiprocessors that only communicate.
    bool overlap_ep = false;     ///< Experts' exchanges hide behind another micro-batch.
    bool uneven = false;         ///< Stages may differ by a layer.
    bool pp_inside = false;      ///< Ranks are numbered tp, cp, pp, dp; else tp, cp, dp, pp.

    std::uint32_t dp() const { return gpus / (tp * pp * cp); }
    /// Ranks that have the same parameters, experts' aside.
    std::uint32_t replicas() const { return dp() * cp; }
    std::uint32_t expert_replicas() const { return replicas() / ep; }
    std::uint32_t micro_batches() const { return batch / (dp() * micro_batch); }
    std::uint32_t virtual_stages() const { return pp * interleave; }
};

/// "tp 8, pp 16, dp 64, micro-batch 1": what is not 1 or usual.
std::string describe(const Mapping& mapping);

/// Says what does not divide, with the field and the nearest value that does.
std::optional<std::string> find_fault(const Model& model, const Cluster& cluster,
                                      const Mapping& mapping);

/// Layers of each virtual stage in the order in which a micro-batch passes them. Where the layers
/// do not divide, the ends, which also have the embedding and the logits, get one less first.
std::vector<std::uint32_t> layers_of_stages(std::uint32_t layers, std::uint32_t stages);

/// The groups of rank 0, each in ascending order. Ranks are numbered with tp first, then cp, dp and
/// pp, or pp before dp.
struct Groups {
    std::vector<std::uint32_t> tensor = {};
    std::vector<std::uint32_t> context = {};
    std::vector<std::uint32_t> data = {};  ///< Of dp and cp.
    std::vector<std::uint32_t> expert = {};
    std::vector<std::uint32_t> expert_data = {};  ///< Ranks with the same experts.
    std::vector<std::uint32_t> pipeline = {};     ///< One rank of each stage.
};
Groups groups_of(const Mapping& mapping);

}  // namespace softib::plan
