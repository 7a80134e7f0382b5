// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How NCCL chooses an algorithm and a protocol: its model of latency and bandwidth, with the
// constants that NCCL 2.30 publishes in src/graph/tuning.cc. The bandwidths here are NCCL's own
// estimates and serve its choice; collective_model.h computes how long an operation takes on a
// fabric.
//
// Bandwidths are in GB/s and times in microseconds, as in NCCL.

#include <array>
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
    /// The graph of CollNetDirect, which has a channel for each of at most 8 GPUs, as NCCL's search
    /// does not divide them; no channels: it is `graph`.
    Graph collnet_graph = {};
    /// Further latency of each hop between nodes, of which NCCL's choice knows nothing: hosts that
    /// sleep, or a path through the kernel.
    double hop_more_us = 0;

    double ranks_per_node() const { return static_cast<double>(ranks) / nodes; }
};

/// Returns the communicator of all GPUs in the first `domains` NVLink domains of a cluster, without
/// CollNet. A domain is what NCCL calls a node.
Communicator communicator_of(const Cluster& cluster, std::uint32_t domains);
/// Returns the communicator of `per_domain` GPUs in each of `domains` NVLink domains, which use
/// `nics` NICs in each domain.
Communicator communicator_of(const Cluster& cluster, std::uint32_t domains,
                             std::uint32_t per_domain, std::uint32_t nics);

/// Values by protocol: LL, LL128, Simple.
using ByProtocol = std::array<double, 3>;

/// Latencies in microseconds of one algorithm.
struct Latencies {
    ByProtocol base = {};
    ByProtocol nvlink = {};  ///< A hop over NVLink.
    ByProtocol pci = {};     ///< A hop over PCIe.
    ByProtocol net = {};     ///< A hop between nodes.
};

/// What NCCL's tuning says of one algorithm.
struct Tuning {
    Latencies hops = {};
    /// Returns whether NCCL would consider the algorithm for this operation.
    bool (*enabled)(const Communicator& comm, Op op) = nullptr;
    double (*busbw)(const Communicator& comm, Op op, Protocol protocol) = nullptr;
    /// Returns the latency; `intra` and `inter` are those of a hop inside and between nodes.
    double (*latency)(const Communicator& comm, Op op, Protocol protocol, double intra,
                      double inter) = nullptr;
    bool only_simple = true;     ///< Whether it has the protocol Simple alone.
    bool busbw_of_ring = false;  ///< Whether its busbw counts the bytes of a ring, else one way.
    /// Returns the first power of two, from 64 bytes on, whose bandwidth needs no correction;
    /// nullptr: none does.
    std::size_t (*corrected)(const Communicator& comm) = nullptr;
};
extern const Tuning kRingTuning;
extern const Tuning kTreeTuning;
extern const Tuning kPatTuning;
extern const Tuning kNvlsTuning;
extern const Tuning kNvlsTreeTuning;
extern const Tuning kCollNetDirectTuning;
extern const Tuning kCollNetChainTuning;

struct Estimate {
    double latency_us = 0;
    double algbw = 0;  ///< 0: NCCL would not take it.
};
Estimate estimate(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol);

/// Returns the part of its bandwidth that an algorithm has at this size: NCCL's correction of trees
/// at medium sizes.
double size_factor(const Communicator& comm, Op op, const Tuning* tuning, Protocol protocol,
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
/// not empty, and with one protocol if that is given; std::nullopt if NCCL has none for the
/// operation.
std::optional<Choice> choose(const Communicator& comm, Op op, std::uint64_t bytes,
                             std::span<const Algorithm> among = {},
                             std::optional<Protocol> protocol = {});
/// Returns the protocol that NCCL would take with a given algorithm; Simple if it knows none.
Protocol choose_protocol(const Communicator& comm, Op op, Algorithm algorithm, std::uint64_t bytes);

}  // namespace softib::plan::nccl
