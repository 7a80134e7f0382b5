// SPDX-License-Identifier: BSD-2-Clause
// The parts of NCCL's operations, by algorithm.
#include "plan/collective/nccl_parts.h"

#include <algorithm>
#include <array>
#include <bit>

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
    : cluster_(cluster),
      layout_(std::move(layout)),
      comm_(comm),
      channels_(channels != 0 ? channels : 2 * layout_.nics_per_domain()),
      channels_given_(channels != 0) {}

nccl::Choice NcclParts::choose(Op op, std::uint64_t bytes) const {
    const auto chosen = nccl::choose(comm_, op, bytes);
    return chosen.value_or(
        nccl::Choice{computes(Algorithm::kDirect, op) ? Algorithm::kDirect : Algorithm::kRing,
                     Protocol::kSimple, 0});
}

Parts NcclParts::parts(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const {
    if (layout_.domains() < 2) {
        return inside(op, algorithm, protocol, static_cast<double>(bytes));
    }
    Parts parts = between(op, algorithm, protocol, bytes);
    const double slower = nccl::size_factor(comm_, op, algorithm, protocol, bytes);
    parts.fabric_us_min = std::max(parts.fabric_us_min, gpu_memory_us(parts.rounds)) / slower;
    parts.nvlink_us /= slower;
    return parts;
}

/// Returns the least microseconds in which NICs read all that they send from GPUs' memory, or write
/// all that they receive to it.
double NcclParts::gpu_memory_us(const std::vector<Flows>& rounds) const {
    std::uint64_t bytes = 0;
    const std::size_t nics = std::size_t{cluster_.nodes()} * cluster_.nics_per_node();
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
    return static_cast<double>(bytes) / (cluster_.nic_bytes_per_s() * kGpuMemoryShare) * kUsPerS;
}

/// Returns the parts of an operation on several NVLink domains.
Parts NcclParts::between(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const {
    switch (algorithm) {
        case Algorithm::kRing:
            return ring(op, protocol, bytes);
        case Algorithm::kTree:
        case Algorithm::kNvlsTree:
            return tree(op, algorithm, protocol, bytes);
        case Algorithm::kHierarchical:
            return levels(op, protocol, bytes);
        case Algorithm::kRecursive:
            return recursive(op, protocol, bytes);
        case Algorithm::kPat:
            return pat(op, bytes);
        default:
            return direct(op, bytes);
    }
}

/// Returns the parts of an operation within one NVLink domain.
Parts NcclParts::inside(Op op, Algorithm algorithm, Protocol protocol, double bytes) const {
    Parts parts;
    const double ranks = comm_.ranks;
    const bool nvls = algorithm == Algorithm::kNvls || algorithm == Algorithm::kHierarchical;
    const Algorithm by = nvls && comm_.nvls              ? Algorithm::kNvls
                         : algorithm == Algorithm::kTree ? Algorithm::kTree
                                                         : Algorithm::kRing;
    const nccl::Estimate nccl = nccl::estimate(comm_, op, by, protocol);
    if (nccl.algbw > 0) {
        parts.software_us = nccl.latency_us;
    } else {
        parts.software_us = nccl::latency_us(comm_, Op::kAllGather, Algorithm::kRing, protocol, 1);
    }
    const double moved = op == Op::kAllToAll   ? (ranks - 1) / ranks
                         : op == Op::kSendRecv ? 1
                                               : ring_factor(op, ranks);
    parts.nvlink_us = nvlink_us(cluster_, bytes * moved * wire_bytes(protocol));
    if (by == Algorithm::kNvls && nccl.algbw > 0) {
        parts.nvlink_us = bytes / (nccl::nvls_limit(comm_, op) * 1e3);
    } else if (nccl.algbw > 0 && (by == Algorithm::kTree || protocol != Protocol::kSimple)) {
        // NCCL's kernels have limits: rings with Simple alone reach the rate of the links.
        parts.nvlink_us =
            std::max(parts.nvlink_us, bytes / (nccl.algbw * 1e3)) /
            nccl::size_factor(comm_, op, by, protocol, static_cast<std::uint64_t>(bytes));
    }
    return parts;
}

Parts NcclParts::ring(Op op, Protocol protocol, std::uint64_t bytes) const {
    Parts parts;
    const double factor = ring_factor(op, layout_.ranks()) * wire_bytes(protocol);
    parts.software_us = nccl::latency_us(comm_, op, Algorithm::kRing, protocol, bytes);
    parts.rounds.push_back(ring_flows(layout_, channels_, scaled_bytes(bytes, factor / channels_)));
    parts.flow_bytes_per_s = kChannelBytesPerS;
    const double gpus = layout_.gpus_per_domain();
    parts.nvlink_us = nvlink_us(cluster_, static_cast<double>(bytes) * factor * (gpus - 1) / gpus);
    if (protocol != Protocol::kSimple) {
        const double algbw = nccl::estimate(comm_, op, Algorithm::kRing, protocol).algbw;
        parts.fabric_us_min = static_cast<double>(bytes) / (algbw * 1e3);
    }
    return parts;
}

Parts NcclParts::tree(Op op, Algorithm algorithm, Protocol protocol, std::uint64_t bytes) const {
    Parts parts;
    const double wire = wire_bytes(protocol);
    if (op == Op::kBroadcast) {
        const double depth = std::bit_width(layout_.domains() - 1);
        parts.software_us = nccl::hop_us(protocol) * depth;
        parts.rounds.push_back(
            tree_down_flows(layout_, channels_, scaled_bytes(bytes, wire / channels_)));
        parts.nvlink_us = nvlink_us(cluster_, static_cast<double>(bytes) * wire);
        return parts;
    }
    parts.software_us = nccl::latency_us(comm_, op, algorithm, protocol, bytes);
    parts.rounds.push_back(tree_flows(layout_, channels_, scaled_bytes(bytes, wire / channels_)));
    const double gpus = layout_.gpus_per_domain();
    if (gpus > 1) {
        const double limit = nccl::tree_limit(comm_, algorithm, protocol, tree_channels(algorithm));
        parts.fabric_us_min = static_cast<double>(bytes) / (limit * 1e3);
    }
    parts.nvlink_us =
        algorithm == Algorithm::kNvlsTree
            ? static_cast<double>(bytes) / (nccl::nvls_limit(comm_, op) * 1e3)
            : nvlink_us(cluster_, 2 * static_cast<double>(bytes) * wire * (gpus - 1) / gpus);
    return parts;
}

/// Returns the channels of NCCL's search that a tree has: NCCL runs two for each.
double NcclParts::tree_channels(Algorithm algorithm) const {
    return channels_given_                     ? channels_ / 2.0
           : algorithm == Algorithm::kNvlsTree ? comm_.nvls_graph.channels
                                               : comm_.graph.channels;
}

/// Returns the parts of an algorithm on two levels: reduce-scatter inside domains, rings over
/// domains with a part of the bytes for each NIC, all-gather inside domains.
Parts NcclParts::levels(Op op, Protocol protocol, std::uint64_t bytes) const {
    Parts parts;
    const nccl::Communicator above = domains_of(comm_);
    const nccl::Communicator below = one_domain_of(comm_);
    const double factor = ring_factor(op, layout_.domains()) * wire_bytes(protocol);
    parts.software_us =
        nccl::latency_us(above, op, Algorithm::kRing, protocol, bytes / layout_.gpus_per_domain());
    if (layout_.gpus_per_domain() > 1) {
        parts.software_us += nccl::latency_us(below, op, Algorithm::kRing, protocol, bytes);
    }
    parts.rounds.push_back(ring_flows(layout_, channels_, scaled_bytes(bytes, factor / channels_)));
    parts.flow_bytes_per_s = kChannelBytesPerS;
    const double gpus = layout_.gpus_per_domain();
    parts.nvlink_us = nvlink_us(
        cluster_, static_cast<double>(bytes) * wire_bytes(protocol) * ring_factor(op, gpus));
    return parts;
}

Parts NcclParts::recursive(Op op, Protocol protocol, std::uint64_t bytes) const {
    Parts parts;
    const double wire = wire_bytes(protocol);
    const std::uint64_t share = scaled_bytes(nic_share(bytes), wire);
    if (op != Op::kAllGather) {
        parts.rounds = halving_rounds(layout_, share);
    }
    if (op != Op::kReduceScatter) {
        std::ranges::move(doubling_rounds(layout_, share), std::back_inserter(parts.rounds));
    }
    parts.round_us = nccl::hop_us(protocol);
    parts.flow_bytes_per_s = kChannelBytesPerS * channels_ / layout_.nics_per_domain();
    const nccl::Communicator below = one_domain_of(comm_);
    const double gpus = layout_.gpus_per_domain();
    if (gpus > 1) {
        parts.software_us = nccl::latency_us(below, op, Algorithm::kRing, protocol, bytes);
    }
    parts.nvlink_us =
        nvlink_us(cluster_, static_cast<double>(bytes) * wire * ring_factor(op, gpus));
    return parts;
}

Parts NcclParts::pat(Op op, std::uint64_t bytes) const {
    Parts parts;
    parts.software_us =
        nccl::latency_us(domains_of(comm_), op, Algorithm::kPat, Protocol::kSimple, bytes);
    parts.rounds = pat_rounds(layout_, nic_share(bytes));
    // NCCL gives PAT three quarters of the links.
    constexpr double kPatShare = 0.75;
    const double domains = layout_.domains();
    parts.fabric_us_min = static_cast<double>(nic_share(bytes)) * (domains - 1) / domains /
                          (cluster_.nic_bytes_per_s() * kPatShare) * kUsPerS;
    parts.flow_bytes_per_s = kChannelBytesPerS * channels_ / layout_.nics_per_domain();
    const double gpus = layout_.gpus_per_domain();
    parts.nvlink_us = nvlink_us(cluster_, static_cast<double>(bytes) * ring_factor(op, gpus));
    return parts;
}

Parts NcclParts::direct(Op op, std::uint64_t bytes) const {
    Parts parts;
    parts.software_us = kDirectStartUs + nccl::hop_us(Protocol::kSimple);
    if (op == Op::kSendRecv) {
        parts.rounds.push_back(send_recv_flows(layout_, bytes));
        parts.flow_bytes_per_s = kChannelBytesPerS;
        parts.nvlink_us = nvlink_us(cluster_, static_cast<double>(bytes));
        return parts;
    }
    const double gpus = layout_.gpus_per_domain();
    const double each = static_cast<double>(bytes) / layout_.ranks();
    parts.rounds.push_back(
        all_to_all_flows(layout_, scaled_bytes(1, each * gpus * gpus / layout_.nics_per_domain())));
    // For each domain, a GPU sends all but one of its messages over NVLink: to the receiver in its
    // own domain, or to the GPU here that is on the rail of the receiver.
    parts.nvlink_us = nvlink_us(cluster_, each * (gpus - 1) * layout_.domains());
    return parts;
}

std::expected<std::uint32_t, std::string> CollectiveModel::sharp_levels() {
    if (sharp_levels_) {
        return *sharp_levels_;
    }
    if (!cluster_.fabric.sharp) {
        return std::unexpected(kNoSharp);
    }
    auto fabric = topo::generate(cluster_.fabric.spec);
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

std::expected<Parts, std::string> CollectiveModel::sharp(Op op, Algorithm algorithm,
                                                         std::uint64_t bytes) {
    if (layout().domains() < 2) {
        return std::unexpected("SHARP joins domains, and this is one: take nvls");
    }
    const auto levels = sharp_levels();
    if (!levels) {
        return std::unexpected(levels.error());
    }
    const bool nvls = algorithm == Algorithm::kNvls;
    Parts parts;
    parts.software_us = nccl::latency_us(nccl_.comm(), op, algorithm, Protocol::kSimple, bytes);
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
