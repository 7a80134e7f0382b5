// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The traffic of a collective operation as messages that wait for each other. nccl_parts.h has the
// bytes that an algorithm moves in all. A step is one of the messages that move them; it knows
// which messages its sender must have received before.
//
//   ring       A NIC sends step k when it has received step k - 1. GPUs of an NVLink domain are
//              neighbours in the ring; as many steps as a domain has GPUs are one step between
//              NICs.
//   pipeline   For a broadcast's ring, and for trees: parts of the data follow each other. A NIC
//              sends part c when it has received part c, and has at most two parts of one message
//              under way.
//   rounds     A NIC sends its messages of a round when it has received those of all earlier
//              rounds.

#include <cstdint>
#include <span>
#include <vector>

#include "plan/collective/collective.h"
#include "plan/collective/flows.h"

namespace softib::plan {

/// How the rounds of an algorithm become messages.
enum class StepKind : std::uint8_t {
    kRounds,
    kRingOfGpus,     ///< A ring with a step for each GPU.
    kRingOfDomains,  ///< A ring with a step for each NVLink domain.
    kTrees,          ///< A pipeline up and down two trees.
};

inline constexpr std::uint32_t kNoStep = UINT32_MAX;
/// The most steps that a NIC sends to another; a larger ring has fewer and longer steps.
inline constexpr std::uint32_t kStepsMax = 256;

struct CollectiveStep {
    NicFlow flow = {};
    std::vector<std::uint32_t> after = {};  ///< Steps that the sender must have received before.
    std::uint32_t behind = kNoStep;         ///< Step that the sender must have sent before.
    bool leads = true;  ///< Whether it costs software time: not for later parts of a pipeline.
};

struct CollectiveSteps {
    std::vector<CollectiveStep> all = {};  ///< In an order in which a step follows what it awaits.
    std::uint32_t hops = 0;                ///< Most leading steps that wait one for the other.
};

/// Cuts each flow of a ring into `count` steps.
CollectiveSteps ring_steps(const Layout& layout, const Flows& flows, std::uint32_t count);
/// Cuts the flows of a ring into a pipeline of steps that begins at the position `first`.
CollectiveSteps chain_steps(const Layout& layout, const Flows& flows, std::uint32_t first);
/// Cuts the flows of tree_flows() into a pipeline of steps, up and down both trees.
CollectiveSteps tree_steps(const Layout& layout, const Flows& flows);
/// Makes a step of all flows of a round that go from one NIC to the same other.
CollectiveSteps round_steps(std::span<const Flows> rounds);

/// Returns the steps of the rounds that NcclParts gives an algorithm; `first` is the position at
/// which a broadcast begins. The steps move the same bytes between the same NICs, except that each
/// step has at least one byte.
CollectiveSteps steps_of(const Layout& layout, Op op, Algorithm algorithm,
                         std::span<const Flows> rounds, std::uint32_t first);

}  // namespace softib::plan
