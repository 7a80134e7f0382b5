// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What an operation of one communicator consists of, by NCCL's algorithms: software, traffic
// between NICs, bytes on NVLink. collective_model.h times it alone on a fabric; trace/player.h
// plays many at once.

#include <cstdint>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/collective/collective.h"
#include "plan/collective/flows.h"
#include "plan/collective/nccl_tuning.h"

namespace softib::plan {

/// What one channel, a thread block, copies at most. Fitted on row L4: a pair of GPUs over NDR
/// reaches 42.5 of 50 GB/s.
inline constexpr double kChannelBytesPerS = 42.5e9;

/// The part of a NIC's data rate that is left between the wire and a GPU's memory: PCIe and the
/// switch that both are at take the rest. Fitted on row B53: an NDR NIC that several channels share
/// gives NCCL 47 of 49.7 GB/s.
inline constexpr double kGpuMemoryShare = 0.946;

/// What messages between ranks cost to start: NCCL's base latency of Simple.
inline constexpr double kDirectStartUs = 8.4;

/// What an operation consists of.
struct Parts {
    double software_us = 0;
    std::vector<Flows> rounds = {};  ///< One after the other.
    double repeats = 1;              ///< All rounds, so often.
    double round_us = 0;             ///< Software and latency that each round adds.
    double flow_bytes_per_s = 0;     ///< Of a flow, at most; 0: no limit.
    double fabric_us_min = 0;        ///< Limits of channels, and of NICs at GPUs' memory.
    double streamed_us = 0;          ///< Besides: what switches aggregate.
    double nvlink_us = 0;
};

class NcclParts {
  public:
    /// Without `channels` there are two for each NIC between domains, as NCCL has.
    NcclParts(const Cluster& cluster, Layout layout, const nccl::Communicator& comm,
              std::uint32_t channels = 0);

    const Layout& layout() const { return layout_; }
    const nccl::Communicator& comm() const { return comm_; }
    /// What NCCL would take; direct for what it has no choice of.
    nccl::Choice choose(Op op, std::uint64_t bytes) const;
    /// Any algorithm that computes the operation, except those of switches.
    Parts parts(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const;
    /// The share of an operation that one NIC has.
    std::uint64_t nic_share(std::uint64_t bytes) const { return bytes / layout_.nics_per_domain(); }

  private:
    Parts between(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const;
    double gpu_memory_us(const std::vector<Flows>& rounds) const;
    Parts inside(Op op, Algorithm algorithm, Protocol protocol, double bytes) const;
    Parts ring(Op op, Protocol protocol, std::uint64_t bytes) const;
    Parts tree(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const;
    Parts levels(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const;
    Parts recursive(Op op, Protocol protocol, std::uint64_t bytes) const;
    Parts pat(Op op, std::uint64_t bytes) const;
    Parts direct(Op op, std::uint64_t bytes) const;

    Cluster cluster_;
    Layout layout_;
    nccl::Communicator comm_;
    std::uint32_t channels_;
};

/// What an NVLink domain's GPU moves in one direction by NCCL's kernels, in bytes per second.
double nvlink_rate(const Cluster& cluster);

}  // namespace softib::plan
