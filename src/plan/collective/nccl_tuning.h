// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How NCCL chooses an algorithm and a protocol: its model of latency and bandwidth, with the
// constants that NCCL 2.30 publishes in src/graph/tuning.cc. The bandwidths here are NCCL's own
// estimates and serve its choice; collective_model.h computes how long an operation takes on a
// fabric.
//
// Bandwidths are in GB/s and times in microseconds, as in NCCL.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/collective/collective.h"

namespace softib::plan::nccl {

/// The result of NCCL's search of the topology. NCCL runs two channels for each that it finds.
struct Graph {
    std::uint32_t channels = 0;
    double bw_intra = 0;  ///< Bandwidth of a channel inside nodes.
    double bw_inter = 0;  ///< Bandwidth of a channel between nodes.
};

struct Communicator {
    std::uint32_t ranks = 0;
    std::uint32_t nodes = 1;
    std::uint32_t compute_capability = 90;
    bool amd_cpu = false;  ///< AMD, else Intel: limits of LL and the cost of a post differ.
    bool nvlink = true;    ///< Whether GPUs of a node are joined by NVLink, else by PCIe.
    bool nvswitch = true;
    bool nvls = true;  ///< Whether NVSwitches can reduce (NVLink SHARP).
    /// Whether there is a SHARP plug-in and NCCL_COLLNET_ENABLE is 1; it is 0 by default.
    bool collnet = false;
    bool nic_each = true;   ///< Whether there is a NIC for each GPU.
    Graph graph = {};       ///< The graph of rings, and of trees unless they have their own.
    double tree_intra = 0;  ///< Bandwidth of a tree's channel inside nodes; 0: graph.bw_intra.
    Graph nvls_graph = {};  ///< The graph of NVLS.

    double ranks_per_node() const { return static_cast<double>(ranks) / nodes; }
};

/// Returns the communicator of all GPUs in the first `domains` NVLink domains of a cluster, without
/// CollNet. A domain is what NCCL calls a node.
Communicator communicator_of(const Cluster& cluster, std::uint32_t domains);
/// Returns the communicator of `per_domain` GPUs in each of `domains` NVLink domains, which use
/// `nics` NICs in each domain.
Communicator communicator_of(const Cluster& cluster, std::uint32_t domains,
                             std::uint32_t per_domain, std::uint32_t nics);

struct Estimate {
    double latency_us = 0;
    double algbw = 0;  ///< 0: NCCL would not take it.
};
Estimate estimate(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol);

/// Returns the part of its bandwidth that an algorithm has at this size: NCCL's correction of trees
/// at medium sizes.
double size_factor(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol,
                   std::uint64_t bytes);

/// Returns the time that NCCL expects; std::nullopt if it would not take the combination.
std::optional<double> expected_us(const Communicator& comm, Op op, Algorithm algorithm,
                                  Protocol protocol, std::uint64_t bytes);

/// Returns the latency that NCCL expects of an operation of this size.
double latency_us(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol,
                  std::uint64_t bytes);

/// Returns the latency of a hop between nodes that nothing hides.
double hop_us(Protocol protocol);

/// Returns the algbw that NCCL's kernels of a tree or of NVLSTree reach with `channels` channels of
/// its search: the limits that NCCL publishes for a channel and a protocol. They are those of GPUs
/// that pass data on inside nodes; a node with one GPU is limited by its NIC.
double tree_limit(const Communicator& comm, Algorithm algorithm, Protocol protocol,
                  double channels);
/// Returns the algbw at which the NVSwitches of a domain reduce, multicast, or do both, by the part
/// of the links' rate that NCCL publishes for it.
double nvls_limit(const Communicator& comm, Op op);

struct Choice {
    Algorithm algorithm = Algorithm::kRing;
    Protocol protocol = Protocol::kSimple;
    double expected_us = 0;
};
/// Returns the algorithm and protocol that NCCL expects to be fastest, out of `among` if that is
/// not empty; std::nullopt if NCCL has none for the operation.
std::optional<Choice> choose(const Communicator& comm, Op op, std::uint64_t bytes,
                             std::span<const Algorithm> among = {});
/// Returns the protocol that NCCL would take with a given algorithm; Simple if it knows none.
Protocol choose_protocol(const Communicator& comm, Op op, Algorithm algorithm, std::uint64_t bytes);

}  // namespace softib::plan::nccl
