// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The parts of the operations of an MPI with one rank on each node: rounds, one after the other.

#include <cstdint>

#include "plan/collective/collective.h"
#include "plan/collective/flows.h"
#include "plan/collective/nccl_parts.h"

namespace softib::plan {

/// Hosts of an MPI, as the functions below see them.
struct HostGroup {
    const Layout& layout;
    double round_us = 0;  ///< Software of each round.
    double leaf_us = 0;   ///< Latency between two HCAs of one leaf.
};

/// Returns the software of a round of an MPI that needs `step_us` to post a receive.
double host_round_us(double step_us);

// Each returns the parts of an operation by one algorithm.
Parts ring_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes);
Parts recursive_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes);
Parts tree_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes);
Parts pat_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes);
Parts direct_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes);

}  // namespace softib::plan
