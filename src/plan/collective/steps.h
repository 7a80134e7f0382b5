// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The traffic of a collective operation as messages that wait for each other. nccl_parts.h has what
// an algorithm moves in all; a step is a message of it, and knows which messages its sender must
// have received before.
//
//   ring       step k leaves a NIC when step k - 1 has come to it. GPUs of an NVLink domain are
//              neighbours in the ring, and what they pass on inside is one step outside.
//   pipeline   a broadcast's ring, and trees: parts follow each other. Part c leaves a NIC when
//              part c has come to it; it has no more than two parts of one message under way.
//   rounds     a round leaves a NIC when all earlier rounds have come to it.

#include <cstdint>
#include <span>
#include <vector>

#include "plan/collective/collective.h"
#include "plan/collective/flows.h"

namespace softib::plan {

inline constexpr std::uint32_t kNoStep = UINT32_MAX;
/// Steps that a NIC sends to another, at most; those of larger rings are put together.
inline constexpr std::uint32_t kStepsMax = 256;

struct CollectiveStep {
    NicFlow flow = {};
    std::vector<std::uint32_t> after = {};  ///< Steps that its sender has received before.
    std::uint32_t behind = kNoStep;         ///< Step of the same sender that has left before.
    bool leads = true;  ///< Costs the software a hop: not a later part of a pipeline.
};

struct CollectiveSteps {
    std::vector<CollectiveStep> all = {};  ///< Each stands behind those that it waits for.
    std::uint32_t hops = 0;                ///< Leading steps that follow each other, at most.
};

/// Cuts each flow of a ring into `count` steps.
CollectiveSteps ring_steps(const Layout& layout, const Flows& flows, std::uint32_t count);
/// A ring that data enters at the position `first` and leaves where it comes there again.
CollectiveSteps chain_steps(const Layout& layout, const Flows& flows, std::uint32_t first);
/// Up and down both trees of tree_flows().
CollectiveSteps tree_steps(const Layout& layout, const Flows& flows);
CollectiveSteps round_steps(std::span<const Flows> rounds);

/// Steps of the rounds that NcclParts gives an algorithm; `first`: the position at which a
/// broadcast begins. They move the same bytes between the same NICs, each step one at least.
CollectiveSteps steps_of(const Layout& layout, Op op, Algorithm algorithm,
                         std::span<const Flows> rounds, std::uint32_t first);

}  // namespace softib::plan
