// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How NCCL chooses an algorithm and a protocol: its model of latency and bandwidth, with the
// constants that NCCL 2.30 publishes in src/graph/tuning.cc. NCCL's figures are its guesses and
// decide the choice alone; how long an operation takes on a fabric, collective_model.h says.
//
// Bandwidths are GB/s, times microseconds, as there.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/collective/collective.h"

namespace softib::plan::nccl {

/// What NCCL's search of the topology has found.
struct Graph {
    std::uint32_t channels = 0;
    double bw_intra = 0;  ///< Of a channel inside nodes,
    double bw_inter = 0;  ///< and between them.
};

struct Communicator {
    std::uint32_t ranks = 0;
    std::uint32_t nodes = 1;
    std::uint32_t compute_capability = 90;
    bool amd_cpu = false;  ///< Else Intel: its limits of LL and its cost of a post differ.
    bool nvlink = true;    ///< Else PCIe inside nodes.
    bool nvswitch = true;
    bool nvls = true;      ///< The GPUs and their switches can.
    bool collnet = false;  ///< A SHARP plug-in is there and enabled.
    Graph graph = {};      ///< The one of rings and trees.
    Graph nvls_graph = {};

    double ranks_per_node() const { return static_cast<double>(ranks) / nodes; }
};

/// Of the first `nodes` NVLink domains of a cluster: what NCCL calls a node is a domain.
Communicator communicator_of(const Cluster& cluster, std::uint32_t domains);
/// Of so many GPUs in each of these domains, which have `nics` NICs each for them.
Communicator communicator_of(const Cluster& cluster, std::uint32_t domains,
                             std::uint32_t per_domain, std::uint32_t nics);

struct Estimate {
    double latency_us = 0;
    double algbw = 0;  ///< 0: NCCL would not take it.
};
Estimate estimate(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol);

/// Returns the time that NCCL expects; std::nullopt if it would not take the combination.
std::optional<double> expected_us(const Communicator& comm, Op op, Algorithm algorithm,
                                  Protocol protocol, std::uint64_t bytes);

/// The latency that NCCL charges to an operation of this size.
double latency_us(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol,
                  std::uint64_t bytes);

/// What a hop between nodes costs that nothing hides.
double hop_us(Protocol protocol);

/// What a channel of this algorithm carries at most as busbw; 0: no published limit.
double channel_limit(const Communicator& comm, Algorithm algorithm, Protocol protocol);

struct Choice {
    Algorithm algorithm = Algorithm::kRing;
    Protocol protocol = Protocol::kSimple;
    double expected_us = 0;
};
/// Returns the fastest of what NCCL knows, or of `among` if that is not empty.
std::optional<Choice> choose(const Communicator& comm, Op op, std::uint64_t bytes,
                             std::span<const Algorithm> among = {});
/// Returns the protocol that NCCL would take with a given algorithm; Simple if it knows none.
Protocol choose_protocol(const Communicator& comm, Op op, Algorithm algorithm, std::uint64_t bytes);

}  // namespace softib::plan::nccl
