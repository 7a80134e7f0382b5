// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The algorithms of collective operations, a row each: its name, the operations that it computes,
// NCCL's tuning, the parts of its time on GPUs and on hosts, and its steps as messages. To add one,
// add it to Algorithm (collective.h), in the same place its row (algorithms.cc), and the functions
// that the row names.

#include <cstdint>
#include <span>

#include "plan/collective/collective.h"
#include "plan/collective/host_parts.h"
#include "plan/collective/nccl_parts.h"
#include "plan/collective/nccl_tuning.h"
#include "plan/collective/steps.h"

namespace softib::plan {

struct AlgorithmRow {
    Algorithm algorithm;
    const char* name;
    std::uint32_t operations;  ///< A bit for each Op, by bit_of().
    /// NCCL's tuning; nullptr: NCCL has no such algorithm.
    const nccl::Tuning* tuning = nullptr;
    /// Returns the parts of an operation on several NVLink domains; nullptr: switches between them
    /// aggregate, by trees that the model builds (CollectiveModel::sharp).
    Parts (*between)(const NcclGroup& group, Op op, Protocol protocol,
                     std::uint64_t bytes) = nullptr;
    /// The algorithm of NCCL that does its work inside one domain; kRing for one without.
    Algorithm inside = Algorithm::kRing;
    bool needs_nvls = false;  ///< Whether NVSwitches must add up.
    bool only_joins = false;  ///< Whether it is for several domains alone.
    /// Returns the parts of an operation of an MPI on hosts; nullptr: it needs GPUs, or switches
    /// aggregate.
    Parts (*on_hosts)(const HostGroup& group, Op op, std::uint64_t bytes) = nullptr;
    bool has_protocols = false;    ///< Whether it has NCCL's LL and LL128 beside Simple.
    bool has_channels = false;     ///< Whether its traffic is divided among channels.
    bool hosts_aggregate = false;  ///< Whether switches aggregate what hosts send.
    StepKind steps = StepKind::kRounds;
};

constexpr std::uint32_t bit_of(Op op) {
    return 1U << static_cast<std::uint32_t>(op);
}

const AlgorithmRow& row_of(Algorithm algorithm);
std::span<const AlgorithmRow> algorithm_rows();

}  // namespace softib::plan
