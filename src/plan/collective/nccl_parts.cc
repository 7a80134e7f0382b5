// SPDX-License-Identifier: BSD-2-Clause
// The parts of NCCL's operations, by algorithm.
#include "plan/collective/nccl_parts.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/topo/spec.h"
#include "plan/cluster/fabric.h"
#include "plan/collective/algorithms.h"
#include "plan/collective/collective_model.h"

namespace softib::plan {

namespace {

constexpr double kUsPerS = 1e6;

/// Returns the part of an operation's bytes that a ring of `count` members sends over each edge.
double ring_factor(Op op, double count) {
    return op == Op::kAllReduce   ? 2 * (count - 1) / count
           : op == Op::kBroadcast ? 1
                                  : (count - 1) / count;
}

/// Returns the bytes on the wire for each byte of data: LL has a flag of 4 bytes beside each 4,
/// LL128 one of 8 in each 128.
double wire_bytes(Protocol protocol) {
    return protocol == Protocol::kLl ? 2 : protocol == Protocol::kLl128 ? 128.0 / 120 : 1;
}

std::uint64_t scaled_bytes(std::uint64_t bytes, double by) {
    return std::max<std::uint64_t>(
        static_cast<std::uint64_t>(static_cast<double>(bytes) * by + 0.5), 1);
}

/// Returns the communicator with one rank for each domain.
nccl::Communicator domains_of(nccl::Communicator comm) {
    comm.ranks = comm.nodes;
    return comm;
}

/// Returns the communicator of the ranks in one domain.
nccl::Communicator one_domain_of(nccl::Communicator comm) {
    comm.ranks /= comm.nodes;
    comm.nodes = 1;
    return comm;
}

/// Returns the microseconds that NVLink takes for these bytes of one GPU.
double nvlink_us(const Cluster& cluster, double bytes) {
    const double rate = nvlink_rate(cluster);
    return rate > 0 ? bytes / rate * kUsPerS : 0;
}

}  // namespace

double nvlink_rate(const Cluster& cluster) {
    // NCCL's rate for a link of each generation; if the number of links is unknown, the cluster's
    // rate holds.
    const std::uint32_t cc = cluster.gpu.compute_capability;
    const double link = (cc >= 100 ? 40.1 : cc >= 90 ? 20.6 : 20.0) * 1e9;
    const double known = link * cluster.nvlink.links;
    return known > 0 ? std::min(known, cluster.nvlink.bytes_per_s) : cluster.nvlink.bytes_per_s;
}

NcclParts::NcclParts(const Cluster& cluster, Layout layout, const nccl::Communicator& comm,
                     std::uint32_t channels)
    : group_{.cluster = cluster,
             .layout = std::move(layout),
             .comm = comm,
             .channels = channels,
             .channels_given = channels != 0} {
    if (channels == 0) {
        // NCCL runs two channels for each of its search. Those of NICs of 800 Gb/s are divided
        // there into several that are each as fast as a channel of a NIC of 400.
        constexpr double kNdrChannel = 40;
        const std::uint32_t nics = group_.layout.nics_per_domain();
        const bool several = group_.layout.domains() > 1 && comm.graph.bw_inter >= kNdrChannel;
        group_.channels = 2 * (several ? std::max(nics, comm.graph.channels) : nics);
    }
}

nccl::Choice NcclParts::choose(Op op, std::uint64_t bytes, std::optional<Protocol> protocol) const {
    const auto chosen = nccl::choose(group_.comm, op, bytes, {}, protocol);
    return chosen.value_or(
        nccl::Choice{computes(Algorithm::kDirect, op) ? Algorithm::kDirect : Algorithm::kRing,
                     Protocol::kSimple, 0});
}

Parts NcclParts::parts(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const {
    return parts(op, row_of(algorithm), protocol, bytes);
}

Parts NcclParts::parts(Op op, const AlgorithmRow& row, Protocol protocol,
                       std::uint64_t bytes) const {
    if (group_.layout.domains() < 2) {
        return inside(op, row, protocol, static_cast<double>(bytes));
    }
    Parts parts = row.between(group_, op, protocol, bytes);
    const double slower = nccl::size_factor(group_.comm, op, row.tuning, protocol, bytes);
    parts.fabric_us_min = std::max(parts.fabric_us_min, gpu_memory_us(parts.rounds)) / slower;
    parts.nvlink_us /= slower;
    return parts;
}

/// Returns the least microseconds in which NICs read all that they send from GPUs' memory, or write
/// all that they receive to it.
double NcclParts::gpu_memory_us(const std::vector<Flows>& rounds) const {
    std::uint64_t bytes = 0;
    const std::size_t nics = std::size_t{group_.cluster.nodes()} * group_.cluster.nics_per_node();
    for (const Flows& round : rounds) {
        std::vector<std::uint64_t> out(nics);
        std::vector<std::uint64_t> in(nics);
        std::uint64_t most = 0;
        for (const NicFlow& flow : round) {
            if (flow.from != flow.to) {
                most = std::max({most, out[flow.from] += flow.bytes, in[flow.to] += flow.bytes});
            }
        }
        bytes += most;
    }
    return static_cast<double>(bytes) / (group_.cluster.nic_bytes_per_s() * kGpuMemoryShare) *
           kUsPerS;
}

/// Returns the parts of an operation within one NVLink domain.
Parts NcclParts::inside(Op op, const AlgorithmRow& row, Protocol protocol, double bytes) const {
    Parts parts;
    const double ranks = group_.comm.ranks;
    const Algorithm inner = row.inside;
    const Algorithm by = inner == Algorithm::kNvls && !group_.comm.nvls ? Algorithm::kRing : inner;
    const nccl::Estimate nccl = nccl::estimate(group_.comm, op, by, protocol);
    if (nccl.algbw > 0) {
        parts.software_us = nccl.latency_us;
    } else if (row.algorithm == Algorithm::kDirect) {
        // Messages go to their receivers at once: one hop.
        const nccl::Latencies& hops = nccl::kRingTuning.hops;
        parts.software_us = kDirectStartUs + (group_.comm.nvlink ? hops.nvlink : hops.pci).back();
    } else {
        parts.software_us =
            nccl::latency_us(group_.comm, Op::kAllGather, Algorithm::kRing, protocol, 1);
    }
    const double moved = op == Op::kAllToAll   ? (ranks - 1) / ranks
                         : op == Op::kSendRecv ? 1
                                               : ring_factor(op, ranks);
    parts.nvlink_us = nvlink_us(group_.cluster, bytes * moved * wire_bytes(protocol));
    if (by == Algorithm::kNvls && nccl.algbw > 0) {
        parts.nvlink_us = bytes / (nccl::nvls_limit(group_.comm, op) * 1e3);
    } else if (nccl.algbw > 0 && (by == Algorithm::kTree || protocol != Protocol::kSimple)) {
        // NCCL's kernels have limits: rings with Simple alone reach the rate of the links.
        parts.nvlink_us = std::max(parts.nvlink_us, bytes / (nccl.algbw * 1e3)) /
                          nccl::size_factor(group_.comm, op, row_of(by).tuning, protocol,
                                            static_cast<std::uint64_t>(bytes));
    }
    return parts;
}

Parts ring_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes) {
    Parts parts;
    const double factor = ring_factor(op, group.layout.ranks()) * wire_bytes(protocol);
    parts.software_us = nccl::latency_us(group.comm, op, Algorithm::kRing, protocol, bytes);
    parts.rounds.push_back(
        ring_flows(group.layout, group.channels, scaled_bytes(bytes, factor / group.channels)));
    parts.flow_bytes_per_s = kChannelBytesPerS;
    const double gpus = group.layout.gpus_per_domain();
    parts.nvlink_us =
        nvlink_us(group.cluster, static_cast<double>(bytes) * factor * (gpus - 1) / gpus);
    if (protocol != Protocol::kSimple) {
        const double algbw = nccl::estimate(group.comm, op, Algorithm::kRing, protocol).algbw;
        parts.fabric_us_min = static_cast<double>(bytes) / (algbw * 1e3);
    }
    return parts;
}

namespace {

/// Returns the channels of NCCL's search that a tree has: NCCL runs two for each.
double tree_channels(const NcclGroup& group, Algorithm algorithm) {
    return group.channels_given                ? group.channels / 2.0
           : algorithm == Algorithm::kNvlsTree ? group.comm.nvls_graph.channels
                                               : group.comm.graph.channels;
}

Parts by_trees(const NcclGroup& group, Op op, Algorithm algorithm, Protocol protocol,
               std::uint64_t bytes) {
    // The bytes of a channel are halved between two trees.
    Parts parts{.flow_bytes_per_s = kChannelBytesPerS / 2};
    const double wire = wire_bytes(protocol);
    if (op == Op::kBroadcast) {
        // In each domain the data pass all GPUs, as in an all-reduce.
        const auto p = static_cast<std::size_t>(protocol);
        const nccl::Latencies& hops = nccl::kTreeTuning.hops;
        parts.software_us =
            hops.base[p] +
            (group.layout.gpus_per_domain() - 1) * (group.comm.nvlink ? hops.nvlink : hops.pci)[p] +
            (nccl::hop_us(protocol) + group.comm.hop_more_us) *
                tree_down_depth(group.layout.domains());
        parts.rounds.push_back(tree_down_flows(group.layout, group.channels,
                                               scaled_bytes(bytes, wire / group.channels)));
        parts.nvlink_us = nvlink_us(group.cluster, static_cast<double>(bytes) * wire);
        return parts;
    }
    parts.software_us = nccl::latency_us(group.comm, op, algorithm, protocol, bytes);
    parts.rounds.push_back(
        tree_flows(group.layout, group.channels, scaled_bytes(bytes, wire / group.channels)));
    const double gpus = group.layout.gpus_per_domain();
    if (gpus > 1) {
        const double limit =
            nccl::tree_limit(group.comm, algorithm, protocol, tree_channels(group, algorithm));
        parts.fabric_us_min = static_cast<double>(bytes) / (limit * 1e3);
    } else if (protocol == Protocol::kLl) {
        // A flag beside each word limits kernels more than NICs.
        const double algbw = nccl::estimate(group.comm, op, algorithm, protocol).algbw;
        parts.fabric_us_min = static_cast<double>(bytes) / (algbw * 1e3);
    }
    parts.nvlink_us =
        algorithm == Algorithm::kNvlsTree
            ? static_cast<double>(bytes) / (nccl::nvls_limit(group.comm, op) * 1e3)
            : nvlink_us(group.cluster, 2 * static_cast<double>(bytes) * wire * (gpus - 1) / gpus);
    return parts;
}

}  // namespace

Parts tree_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes) {
    return by_trees(group, op, Algorithm::kTree, protocol, bytes);
}

Parts nvls_tree_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes) {
    return by_trees(group, op, Algorithm::kNvlsTree, protocol, bytes);
}

/// Returns the parts of an algorithm on two levels: reduce-scatter inside domains, rings over
/// domains with a part of the bytes for each NIC, all-gather inside domains.
Parts hierarchical_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes) {
    Parts parts;
    const nccl::Communicator above = domains_of(group.comm);
    const nccl::Communicator below = one_domain_of(group.comm);
    const double factor = ring_factor(op, group.layout.domains()) * wire_bytes(protocol);
    parts.software_us = nccl::latency_us(above, op, Algorithm::kRing, protocol,
                                         bytes / group.layout.gpus_per_domain());
    if (group.layout.gpus_per_domain() > 1) {
        parts.software_us += nccl::latency_us(below, op, Algorithm::kRing, protocol, bytes);
    }
    parts.rounds.push_back(
        ring_flows(group.layout, group.channels, scaled_bytes(bytes, factor / group.channels)));
    parts.flow_bytes_per_s = kChannelBytesPerS;
    const double gpus = group.layout.gpus_per_domain();
    parts.nvlink_us = nvlink_us(
        group.cluster, static_cast<double>(bytes) * wire_bytes(protocol) * ring_factor(op, gpus));
    return parts;
}

Parts recursive_parts(const NcclGroup& group, Op op, Protocol protocol, std::uint64_t bytes) {
    Parts parts;
    const double wire = wire_bytes(protocol);
    const std::uint64_t share = scaled_bytes(group.nic_share(bytes), wire);
    if (op != Op::kAllGather) {
        parts.rounds = halving_rounds(group.layout, share);
    }
    if (op != Op::kReduceScatter) {
        std::ranges::move(doubling_rounds(group.layout, share), std::back_inserter(parts.rounds));
    }
    parts.round_us = nccl::hop_us(protocol) + group.comm.hop_more_us;
    parts.flow_bytes_per_s = kChannelBytesPerS * group.channels / group.layout.nics_per_domain();
    const nccl::Communicator below = one_domain_of(group.comm);
    const double gpus = group.layout.gpus_per_domain();
    if (gpus > 1) {
        parts.software_us = nccl::latency_us(below, op, Algorithm::kRing, protocol, bytes);
    }
    parts.nvlink_us =
        nvlink_us(group.cluster, static_cast<double>(bytes) * wire * ring_factor(op, gpus));
    return parts;
}

Parts pat_parts(const NcclGroup& group, Op op, Protocol, std::uint64_t bytes) {
    Parts parts;
    parts.software_us =
        nccl::latency_us(domains_of(group.comm), op, Algorithm::kPat, Protocol::kSimple, bytes);
    parts.rounds = pat_rounds(group.layout, group.nic_share(bytes));
    // NCCL gives PAT three quarters of the links.
    constexpr double kPatShare = 0.75;
    const double domains = group.layout.domains();
    parts.fabric_us_min = static_cast<double>(group.nic_share(bytes)) * (domains - 1) / domains /
                          (group.cluster.nic_bytes_per_s() * kPatShare) * kUsPerS;
    parts.flow_bytes_per_s = kChannelBytesPerS * group.channels / group.layout.nics_per_domain();
    const double gpus = group.layout.gpus_per_domain();
    parts.nvlink_us = nvlink_us(group.cluster, static_cast<double>(bytes) * ring_factor(op, gpus));
    return parts;
}

Parts direct_parts(const NcclGroup& group, Op op, Protocol, std::uint64_t bytes) {
    Parts parts;
    parts.software_us = kDirectStartUs + nccl::hop_us(Protocol::kSimple) + group.comm.hop_more_us;
    if (op == Op::kSendRecv) {
        parts.rounds.push_back(send_recv_flows(group.layout, bytes));
        parts.flow_bytes_per_s = kChannelBytesPerS;
        parts.nvlink_us = nvlink_us(group.cluster, static_cast<double>(bytes));
        return parts;
    }
    const double gpus = group.layout.gpus_per_domain();
    const double each = static_cast<double>(bytes) / group.layout.ranks();
    parts.rounds.push_back(all_to_all_flows(
        group.layout, scaled_bytes(1, each * gpus * gpus / group.layout.nics_per_domain())));
    // For each domain, a GPU sends all but one of its messages over NVLink: to the receiver in its
    // own domain, or to the GPU here that is on the rail of the receiver.
    parts.nvlink_us = nvlink_us(group.cluster, each * (gpus - 1) * group.layout.domains());
    return parts;
}

std::expected<std::uint32_t, std::string> CollectiveModel::sharp_levels() {
    if (sharp_levels_) {
        return *sharp_levels_;
    }
    if (!cluster_.fabric.sharp) {
        return std::unexpected(kNoSharp);
    }
    auto fabric = modelled_plane(cluster_);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    for (const net::Failure& failure : failures_) {
        net::take_out(*fabric, failure.what);
    }
    constexpr std::uint8_t kLanes = 8;
    auto routed = net::Routed::make(*std::move(fabric), cluster_.fabric.engine, kLanes);
    if (!routed) {
        return std::unexpected(routed.error().message);
    }
    routed_ = std::make_unique<net::Routed>(*std::move(routed));
    const SharpLimits limits = sharp_limits(cluster_.fabric.spec.generation);
    TreeBook manager(*routed_, limits);
    std::uint32_t most = 0;
    // NCCL has a SHARP job for each HCA of a node.
    for (std::uint32_t nic = 0; nic < layout().nics_per_domain(); ++nic) {
        std::vector<std::uint32_t> ends;
        for (std::uint32_t p = 0; p < layout().domains(); ++p) {
            ends.push_back(layout().end(p, nic));
        }
        const SharpTree kind = limits.sat_trees != 0 ? SharpTree::kSat : SharpTree::kLlt;
        const auto tree = manager.add(ends, kind);
        if (!tree) {
            return std::unexpected(tree.error());
        }
        most = std::max(most, manager.tree(*tree).levels);
    }
    sharp_levels_ = most;
    return most;
}

std::expected<Parts, std::string> CollectiveModel::sharp_on_hosts(std::uint64_t bytes) {
    const auto levels = sharp_levels();
    if (!levels) {
        return std::unexpected(levels.error());
    }
    const SharpTimes times =
        sharp_times(cluster_.fabric.spec.generation, cluster_.nic_bytes_per_s());
    const bool streams = sharp_limits(cluster_.fabric.spec.generation).sat_trees != 0;
    return Parts{
        .round_us = host_round_us(step_us_),
        .streamed_us = streams ? sharp_us(times, *levels, bytes) : llt_us(times, *levels, bytes)};
}

std::expected<Parts, std::string> CollectiveModel::sharp(Op op, const AlgorithmRow& row,
                                                         std::uint64_t bytes) {
    const auto levels = sharp_levels();
    if (!levels) {
        return std::unexpected(levels.error());
    }
    const bool nvls = row.needs_nvls;
    Parts parts;
    parts.software_us = nccl::latency_us(nccl_.comm(), op, row.algorithm, Protocol::kSimple, bytes);
    SharpTimes times = sharp_times(cluster_.fabric.spec.generation, cluster_.nic_bytes_per_s());
    times.software_us = 0;  // NCCL's latency above includes it.
    times.sat_efficiency = std::min(times.sat_efficiency, kGpuMemoryShare);
    const bool streams = sharp_limits(cluster_.fabric.spec.generation).sat_trees != 0;
    const std::uint64_t share = std::max<std::uint64_t>(nccl_.nic_share(bytes), 1);
    parts.streamed_us = streams ? sharp_us(times, *levels, share) : llt_us(times, *levels, share);
    const double gpus = layout().gpus_per_domain();
    parts.nvlink_us = nvlink_us(cluster_, static_cast<double>(bytes) * ring_factor(op, gpus));
    if (nvls) {
        // Data go in and out of an NVSwitch once, at the rate that NCCL expects of its links.
        const nccl::Communicator domain = one_domain_of(nccl_.comm());
        const double algbw = nccl::estimate(domain, op, Algorithm::kNvls, Protocol::kSimple).algbw;
        parts.nvlink_us = algbw > 0 ? static_cast<double>(bytes) / (algbw * 1e3) : parts.nvlink_us;
    }
    return parts;
}

}  // namespace softib::plan
