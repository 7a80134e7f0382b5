// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory of a GPU that a mapping needs, by parts, on the pipeline stage that needs most.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/train/mapping.h"

namespace softib::plan {

/// Bytes of a GPU's memory.
struct MemoryUse {
    std::uint32_t stage = 0;  ///< The pipeline stage that needs most.
    double weights = 0;
    double gradients = 0;
    double optimizer = 0;    ///< Adam's state: parameters in 32 bits and two moments.
    double activations = 0;  ///< Activations of all micro-batches in flight.
    double working = 0;      ///< Logits, a layer that is computed again, gathered parameters.
    double reserved = 0;     ///< What CUDA, NCCL and the allocator take.
    double capacity = 0;     ///< All memory of the GPU.

    double total() const {
        return weights + gradients + optimizer + activations + working + reserved;
    }
    bool fits() const { return total() <= capacity; }
};

/// Returns the memory use of the pipeline stage that needs most.
MemoryUse memory_use(const Model& model, const Gpu& gpu, const Mapping& mapping);

/// Gives a mapping the least recomputation with which it fits in memory: none, selective, or full
/// in as few layers of each virtual stage as possible; in all if none fits.
void recompute_least(const Model& model, const Gpu& gpu, Mapping& mapping);

/// Returns an error such as "... needs 93.1 GiB of 79.6 GiB; try ...", with changes of the mapping
/// that make it fit.
std::string does_not_fit(const Model& model, const Cluster& cluster, const Mapping& mapping,
                         const MemoryUse& use);

/// Returns the bytes that a micro-batch leaves in a layer for its backward pass if nothing is
/// computed again.
double kept_layer_bytes(const Model& model, const Mapping& mapping, bool experts);

/// Numbers of parameters that a GPU of a virtual stage holds.
struct HeldParameters {
    double shared = 0;    ///< Parameters that all replicas have.
    double experts = 0;   ///< Parameters of its experts.
    double adapters = 0;  ///< With LoRA, those that are trained beside all others.
    double words = 0;     ///< The part of `shared` that is the embedding of the first stage.

    /// Returns those of `shared` and of `experts` that are trained.
    double trained_shared(const Mapping& mapping) const {
        return mapping.lora != 0 ? adapters : shared;
    }
    double trained_experts(const Mapping& mapping) const { return mapping.lora != 0 ? 0 : experts; }
};
/// Returns what a GPU of a virtual stage holds; `first` is from first_layers().
HeldParameters held_parameters(const Model& model, const Mapping& mapping,
                               std::span<const std::uint32_t> first, std::uint32_t virtual_stage);

/// Returns the first layer of each virtual stage, and the number of all layers as a last entry.
std::vector<std::uint32_t> first_layers(const Model& model, const Mapping& mapping);

}  // namespace softib::plan
