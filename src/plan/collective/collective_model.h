// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long a collective operation takes on a cluster. The time has three parts:
//   software  latencies of NCCL's kernels and proxies, by NCCL's published constants
//             (nccl_tuning.h), or the overhead of an MPI on hosts; they add up, as in NCCL's model;
//   fabric    the traffic of the algorithm between NICs, played on a model of the fabric (stage.h):
//             contention, routes, failures and oversubscription are in it. SHARP's trees are built
//             on the routes (sharp.h) and stream at the rate of their links;
//   NVLink    bytes that GPUs move inside their domain, by its rate. It overlaps with the fabric.

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "net/model.h"
#include "net/sim/failures.h"
#include "net/sim/routed.h"
#include "plan/cluster/cluster.h"
#include "plan/collective/collective.h"
#include "plan/collective/flows.h"
#include "plan/collective/nccl_parts.h"
#include "plan/collective/nccl_tuning.h"
#include "plan/collective/sharp.h"
#include "plan/collective/stage.h"

namespace softib::plan {

struct AlgorithmRow;

enum class Stack : std::uint8_t {
    kNccl,
    kHost,  ///< An MPI with one rank on each node, on the node's first NIC, without GPUs.
};

struct CollectiveOptions {
    std::uint32_t domains = 0;   ///< NVLink domains that take part, from the first on; 0: all.
    std::uint32_t channels = 0;  ///< Channels between domains; 0: as NCCL, see NcclParts.
    /// Whether NCCL has a SHARP plug-in that is enabled (NCCL_COLLNET_ENABLE=1); its choice then
    /// includes algorithms in which switches aggregate.
    bool collnet = false;
    RankOrder order = RankOrder::kTopology;
    bool rails_aligned = true;
    std::uint64_t seed = 1;
    Stack stack = Stack::kNccl;
    double step_us = 0;      ///< Software time that an MPI adds to each step, to post its receive.
    double hop_more_us = 0;  ///< Further latency of NCCL's hops between domains.
    net::ModelKind model = net::ModelKind::kFlow;
    std::vector<net::Failure> failures = {};  ///< What has failed from the beginning on.
};

/// The longest message that an MPI sends at once. For a longer one it sends a request, and the
/// receiver fetches the data by RDMA READ (UCX's rendezvous). PlayOptions::eager_bytes of traces
/// has the same value.
inline constexpr std::uint64_t kEagerBytes = 64 * 1024;

/// The error where switches must aggregate and do not.
inline constexpr const char* kNoSharp =
    "the cluster's switches do not aggregate: set sharp in its fabric";

struct Timing {
    double us = 0;
    double software_us = 0;
    double fabric_us = 0;
    double nvlink_us = 0;
    double algbw = 0;  ///< GB/s
    double busbw = 0;  ///< GB/s
    Protocol protocol = Protocol::kSimple;
    bool scaled = false;  ///< Whether only a part of the bytes was played (stage.h).
};

class CollectiveModel {
  public:
    /// Makes the model of a cluster. The error says what does not fit and what to do.
    static std::expected<std::unique_ptr<CollectiveModel>, std::string> make(
        const Cluster& cluster, const CollectiveOptions& options);

    const Cluster& cluster() const { return cluster_; }
    const Layout& layout() const { return nccl_.layout(); }
    std::uint32_t ranks() const { return layout().ranks(); }
    /// Returns why CollNet, which was asked for, cannot start, so that NCCL goes on without it.
    const std::optional<std::string>& collnet_fault() const { return collnet_fault_; }

    /// Returns the time of an operation. Without a protocol it is the one that NCCL would take with
    /// this algorithm and size.
    std::expected<Timing, std::string> time(Op op, Algorithm algorithm, std::uint64_t bytes,
                                            std::optional<Protocol> protocol = {});
    std::expected<Timing, std::string> time(Op op, const AlgorithmRow& row, std::uint64_t bytes,
                                            std::optional<Protocol> protocol = {});
    /// Returns the number of a node in the middle of the cluster, in another NVLink domain than the
    /// first node.
    std::uint32_t far_node() const;
    /// Returns the microseconds that a transfer takes from the first node to far_node(), with the
    /// same part on each of the first `rails` NICs and without NCCL.
    std::expected<double, std::string> send_between_nodes(std::uint64_t bytes, std::uint32_t rails);
    /// Returns the GB/s that each NIC has when every domain sends to the one that is half the
    /// number of domains further on, so that all traffic crosses the middle of the fabric.
    std::expected<double, std::string> across_halves(std::uint64_t bytes);
    /// Returns the algorithm and protocol that NCCL would take; kDirect for an operation that NCCL
    /// has no algorithms for.
    nccl::Choice choose(Op op, std::uint64_t bytes, std::optional<Protocol> protocol = {}) const;
    /// Does the same out of some algorithms and protocols; an empty list means all.
    nccl::Choice choose(Op op, std::uint64_t bytes, std::span<const Algorithm> among,
                        std::span<const Protocol> protocols) const;
    /// Returns the time in which the first rank has its part of `bytes` from every other rank, or
    /// the other ranks have theirs from the first. Each domain sends by all of its NICs.
    std::expected<Timing, std::string> one_and_all(std::uint64_t bytes, bool gather);
    /// Returns why the time of an algorithm of NCCL's is no time of NCCL: it would not take it for
    /// this operation on these GPUs, with CollNet or without; std::nullopt if it might.
    std::optional<std::string> find_no_choice(Op op, Algorithm algorithm) const;
    /// Returns whether NCCL considers an algorithm in which switches between domains aggregate, if
    /// it has CollNet. For that a domain may not have too many GPUs.
    bool considers_collnet(Op op) const;

  private:
    CollectiveModel(const Cluster& cluster, const CollectiveOptions& options);
    std::expected<void, std::string> start_collnet();
    std::optional<std::string> find_refusal(Op op, const AlgorithmRow& row) const;
    /// Returns whether switches between domains aggregate in this algorithm.
    bool aggregates(const AlgorithmRow& row) const;
    std::expected<Parts, std::string> parts_of(Op op, const AlgorithmRow& row, Protocol protocol,
                                               std::uint64_t bytes);
    std::expected<Parts, std::string> sharp(Op op, const AlgorithmRow& row, std::uint64_t bytes);
    std::expected<Parts, std::string> on_hosts(Op op, const AlgorithmRow& row, std::uint64_t bytes);
    std::expected<Parts, std::string> sharp_on_hosts(std::uint64_t bytes);
    std::expected<std::uint32_t, std::string> sharp_levels();
    std::expected<Played, std::string> play(const Parts& parts, std::size_t round, Op op,
                                            const AlgorithmRow& row, Protocol protocol);

    Cluster cluster_;
    NcclParts nccl_;
    Stack stack_;
    double step_us_;
    std::unique_ptr<net::Routed> routed_ = {};  ///< Routes for SHARP's trees, made when needed.
    std::vector<net::Failure> failures_ = {};
    std::unique_ptr<Stage> stage_ = {};
    std::optional<std::uint32_t> sharp_levels_ = {};
    std::optional<std::string> collnet_fault_ = {};
    double leaf_us_;  ///< Latency between two HCAs of one leaf.
    /// A set of flows that was played, from which the time of the same flows with more or fewer
    /// bytes follows.
    struct Known {
        std::uint64_t bytes = 0;  ///< Bytes of the longest flow.
        Played played = {};
    };
    /// Sets that were played, by operation, algorithm, protocol and round.
    std::map<std::tuple<Op, const AlgorithmRow*, Protocol, std::size_t>, Known> known_ = {};
};

}  // namespace softib::plan
