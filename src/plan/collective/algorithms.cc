// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/algorithms.h"

#include <array>

namespace softib::plan {

namespace {

constexpr std::uint32_t kHalves = bit_of(Op::kAllGather) | bit_of(Op::kReduceScatter);
constexpr std::uint32_t kSums = bit_of(Op::kAllReduce) | kHalves;

// In the order of Algorithm.
constexpr std::array kRows{
    AlgorithmRow{.algorithm = Algorithm::kRing,
                 .name = "ring",
                 .operations = kSums | bit_of(Op::kBroadcast),
                 .tuning = &nccl::kRingTuning,
                 .between = ring_parts,
                 .on_hosts = ring_on_hosts,
                 .has_protocols = true,
                 .has_channels = true,
                 .steps = StepKind::kRingOfGpus},
    AlgorithmRow{.algorithm = Algorithm::kTree,
                 .name = "tree",
                 .operations = bit_of(Op::kAllReduce) | bit_of(Op::kBroadcast),
                 .tuning = &nccl::kTreeTuning,
                 .between = tree_parts,
                 .inside = Algorithm::kTree,
                 .on_hosts = tree_on_hosts,
                 .has_protocols = true,
                 .has_channels = true,
                 .steps = StepKind::kTrees},
    AlgorithmRow{.algorithm = Algorithm::kRecursive,
                 .name = "recursive",
                 .operations = kSums,
                 .between = recursive_parts,
                 .on_hosts = recursive_on_hosts,
                 .has_protocols = true,
                 .has_channels = true},
    AlgorithmRow{.algorithm = Algorithm::kHierarchical,
                 .name = "hierarchical",
                 .operations = kSums,
                 .between = hierarchical_parts,
                 .inside = Algorithm::kNvls,
                 .has_protocols = true,
                 .has_channels = true,
                 .steps = StepKind::kRingOfDomains},
    AlgorithmRow{.algorithm = Algorithm::kPat,
                 .name = "pat",
                 .operations = kHalves,
                 .tuning = &nccl::kPatTuning,
                 .between = pat_parts,
                 .on_hosts = pat_on_hosts,
                 .has_channels = true},
    AlgorithmRow{.algorithm = Algorithm::kNvls,
                 .name = "nvls",
                 .operations = kSums,
                 .tuning = &nccl::kNvlsTuning,
                 .inside = Algorithm::kNvls,
                 .needs_nvls = true},
    AlgorithmRow{.algorithm = Algorithm::kNvlsTree,
                 .name = "nvls-tree",
                 .operations = bit_of(Op::kAllReduce),
                 .tuning = &nccl::kNvlsTreeTuning,
                 .between = nvls_tree_parts,
                 .needs_nvls = true,
                 .only_joins = true,
                 .has_channels = true,
                 .steps = StepKind::kTrees},
    AlgorithmRow{.algorithm = Algorithm::kSharp,
                 .name = "sharp",
                 .operations = kSums,
                 .tuning = &nccl::kCollNetDirectTuning,
                 .only_joins = true,
                 .hosts_aggregate = true},
    AlgorithmRow{.algorithm = Algorithm::kSharpChain,
                 .name = "sharp-chain",
                 .operations = bit_of(Op::kAllReduce),
                 .tuning = &nccl::kCollNetChainTuning,
                 .only_joins = true},
    AlgorithmRow{.algorithm = Algorithm::kDirect,
                 .name = "direct",
                 .operations = bit_of(Op::kAllToAll) | bit_of(Op::kSendRecv),
                 .between = direct_parts,
                 .on_hosts = direct_on_hosts}};

constexpr bool has_a_row_each() {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (kRows[i].algorithm != kAlgorithms[i]) {
            return false;
        }
    }
    return kRows.size() == kAlgorithms.size();
}
static_assert(has_a_row_each(), "each algorithm has a row, in the order of kAlgorithms");

}  // namespace

const AlgorithmRow& row_of(Algorithm algorithm) {
    return kRows[static_cast<std::size_t>(algorithm)];
}

std::span<const AlgorithmRow> algorithm_rows() {
    return kRows;
}

}  // namespace softib::plan
