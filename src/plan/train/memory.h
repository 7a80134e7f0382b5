// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a mapping needs of a GPU's memory, by parts, on the pipeline stage that needs most.

#include <cstdint>
#include <string>

#include "plan/train/mapping.h"

namespace softib::plan {

struct MemoryUse {
    std::uint32_t stage = 0;  ///< The one that needs most.
    double weights = 0;       ///< All in bytes.
    double gradients = 0;
    double optimizer = 0;    ///< Parameters in 32 bits and two moments.
    double activations = 0;  ///< Of all micro-batches in flight.
    double working = 0;      ///< Logits, a layer that is computed again, gathered parameters.
    double reserved = 0;     ///< What CUDA, NCCL and the allocator take.
    double capacity = 0;

    double total() const {
        return weights + gradients + optimizer + activations + working + reserved;
    }
    bool fits() const { return total() <= capacity; }
};

MemoryUse memory_use(const Model& model, const Gpu& gpu, const Mapping& mapping);

/// "needs 93.1 of 79.6 GiB; try ...": with changes of the mapping that make it fit.
std::string does_not_fit(const Model& model, const Cluster& cluster, const Mapping& mapping,
                         const MemoryUse& use);

/// Parameters that a GPU of a virtual stage holds: those of all replicas, and its experts'.
struct HeldParameters {
    double shared = 0;
    double experts = 0;
};
HeldParameters held_parameters(const Model& model, const Mapping& mapping,
                               std::uint32_t virtual_stage);

/// The first layer of each virtual stage; one more entry at the end.
std::vector<std::uint32_t> first_layers(const Model& model, const Mapping& mapping);

}  // namespace softib::plan
