// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The parts of an operation of one communicator by NCCL's algorithms: software, traffic between
// NICs, bytes on NVLink. collective_model.h times one operation alone on a fabric; trace/player.h
// plays many at once.

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/collective/collective.h"
#include "plan/collective/flows.h"
#include "plan/collective/nccl_tuning.h"

namespace softib::plan {

struct AlgorithmRow;

/// The most that one channel, which is a thread block, copies. Fitted on row L4: a pair of GPUs
/// over NDR reaches 42.5 of 50 GB/s.
inline constexpr double kChannelBytesPerS = 42.5e9;

/// The part of a NIC's data rate that reaches a GPU's memory; the rest is lost in PCIe and in the
/// PCIe switch between them. Fitted on row B53: an NDR NIC that several channels share gives NCCL
/// 47 of 49.7 GB/s.
inline constexpr double kGpuMemoryShare = 0.946;

/// Microseconds to start messages between ranks: NCCL's base latency of Simple.
inline constexpr double kDirectStartUs = 8.4;

/// The parts of an operation.
struct Parts {
    double software_us = 0;
    std::vector<Flows> rounds = {};  ///< Sets of flows that are played one after the other.
    double repeats = 1;              ///< How often all rounds take place.
    double round_us = 0;             ///< Software and latency that each round adds.
    double flow_bytes_per_s = 0;     ///< Highest rate of a flow; 0: no limit.
    /// Least time in the fabric, by the limits of channels and of NICs at GPUs' memory.
    double fabric_us_min = 0;
    double streamed_us = 0;  ///< Further time in the fabric, in which switches aggregate.
    double nvlink_us = 0;
};

/// A communicator on a cluster, as the functions below see it.
struct NcclGroup {
    Cluster cluster = {};
    Layout layout;
    nccl::Communicator comm = {};
    std::uint32_t channels = 0;   ///< Channels between domains.
    bool channels_given = false;  ///< Whether the user gave their number.

    /// Returns the part of an operation's bytes that falls to each NIC of a domain.
    std::uint64_t nic_share(std::uint64_t bytes) const { return bytes / layout.nics_per_domain(); }
};

// Each returns the parts of an operation of several domains by one algorithm.
Parts ring_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes);
Parts tree_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes);
Parts nvls_tree_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes);
Parts hierarchical_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes);
Parts recursive_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes);
Parts pat_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes);
Parts direct_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes);

class NcclParts {
  public:
    /// `channels` is their number between domains; 0: as in NCCL, two for each NIC, or four if
    /// NICs have 800 Gb/s.
    NcclParts(const Cluster& cluster, Layout layout, const nccl::Communicator& comm,
              std::uint32_t channels = 0);

    const Layout& layout() const { return group_.layout; }
    const nccl::Communicator& comm() const { return group_.comm; }
    /// Says that NCCL has a SHARP plug-in, which is enabled.
    void use_collnet() { group_.comm.collnet = true; }
    /// Returns the algorithm and protocol that NCCL would take; kDirect for an operation that NCCL
    /// has no algorithms for.
    nccl::Choice choose(Op op, std::uint64_t bytes, std::optional<Protocol> protocol = {}) const;
    /// Returns the parts of an operation, by any algorithm that computes it except those in which
    /// switches between domains aggregate.
    Parts parts(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const;
    Parts parts(Op op, const AlgorithmRow& row, Protocol protocol, std::uint64_t bytes) const;
    std::uint64_t nic_share(std::uint64_t bytes) const { return group_.nic_share(bytes); }

  private:
    double gpu_memory_us(const std::vector<Flows>& rounds) const;
    Parts inside(Op op, const AlgorithmRow& row, Protocol protocol, double bytes) const;

    NcclGroup group_;
};

/// Returns the bytes per second that NCCL's kernels move over NVLink in one direction of a GPU.
double nvlink_rate(const Cluster& cluster);

}  // namespace softib::plan
