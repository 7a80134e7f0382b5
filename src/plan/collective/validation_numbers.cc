// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/validation_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/topo/report.h"
#include "core/topo/spec.h"
#include "plan/cluster/presets.h"

namespace softib::plan {

namespace {

Cluster cluster_named(std::string_view name) {
    return find_preset(name).value_or(Cluster{});
}

topo::Fabric superpod(std::uint32_t units) {
    return topo::generate(cluster_named(fmt::format("superpod-h100:{}", units)).fabric.spec)
        .value_or(topo::Fabric{});
}

/// Returns two hosts at one switch.
Cluster pair_of_hosts(Generation generation) {
    Cluster cluster = cluster_named("hgx-h200:2");
    cluster.fabric.spec.generation = generation;
    return cluster;
}

constexpr std::uint64_t kStreamed = 256 * kMebi;

/// Returns the time of an exchange of experts on nodes of H800.
double exchange_us(std::uint32_t nodes, std::uint64_t bytes) {
    return timed(with_nodes(cluster_named("h800-2048"), nodes), {}, Op::kAllToAll,
                 Algorithm::kDirect, bytes)
        .us;
}

}  // namespace

Timing timed(const Cluster& cluster, const CollectiveOptions& options, Op op, Algorithm algorithm,
             std::uint64_t bytes, std::optional<Protocol> protocol) {
    const auto model = CollectiveModel::make(cluster, options);
    return model ? (*model)->time(op, algorithm, bytes, protocol).value_or(Timing{}) : Timing{};
}

double superpod_switches(std::uint32_t units, std::uint32_t level) {
    const topo::Fabric fabric = superpod(units);
    return static_cast<double>(std::ranges::count_if(fabric.nodes, [&](const topo::Node& node) {
        return node.kind == topo::NodeKind::kSwitch && node.level == level;
    }));
}

double superpod_cables(std::uint32_t units, bool of_nodes) {
    const topo::Fabric fabric = superpod(units);
    constexpr double kManagerPorts = 4;
    double count = of_nodes && units <= 4 ? kManagerPorts : 0;
    for (const topo::Node& node : fabric.nodes) {
        for (const topo::PortLink& link : node.ports) {
            const bool leaf = node.kind == topo::NodeKind::kSwitch && node.level == 0;
            if (leaf && link.peer != topo::kNoNode) {
                const bool to_node = fabric.node(link.peer).kind == topo::NodeKind::kHca;
                count += to_node == of_nodes ? 1 : 0;
            }
        }
    }
    return count;
}

double meta_gpus() {
    return cluster_named("meta-roce-24k").gpus();
}

double meta_taper() {
    const auto fabric = topo::generate(cluster_named("meta-roce-24k").fabric.spec);
    if (!fabric) {
        return 0;
    }
    double up = 0;
    double down = 0;
    for (const topo::Node& node : fabric->nodes) {
        for (const topo::PortLink& link : node.ports) {
            if (node.kind == topo::NodeKind::kSwitch && node.level == 1 &&
                link.peer != topo::kNoNode) {
                (fabric->node(link.peer).level == 2 ? up : down) += 1;
            }
        }
    }
    return up / down;
}

double endpoints_of_a_subnet(std::uint32_t radix) {
    // For r HCAs there are 5 switches, and each has a LID.
    return std::floor(topo::LidBudget::kLimit * static_cast<double>(radix) / (radix + 5));
}

double edr_write_gbps() {
    const auto model = CollectiveModel::make(
        pair_of_hosts(Generation::kEdr), {.stack = Stack::kHost, .model = net::ModelKind::kPacket});
    const auto us =
        model ? (*model)->send_between_nodes(8 << 20, 1) : std::unexpected(model.error());
    return us ? (8 << 20) * 8 / *us / 1e3 : 0;
}

double mpi_latency_us() {
    return timed(pair_of_hosts(Generation::kHdr),
                 {.stack = Stack::kHost, .model = net::ModelKind::kPacket}, Op::kSendRecv,
                 Algorithm::kDirect, 8)
        .us;
}

Timing b200(Op op, Algorithm algorithm, std::uint32_t nodes, std::uint32_t channels) {
    return timed(with_nodes(cluster_named("hgx-b200"), nodes), {.channels = channels}, op,
                 algorithm, 8 * kGibi, Protocol::kSimple);
}

double on_hosts_us(Generation generation, std::uint32_t hosts, Op op, Algorithm algorithm,
                   std::uint64_t bytes) {
    Cluster cluster = with_nodes(cluster_named("hgx-h200"), hosts);
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    cluster.fabric.spec.generation = generation;
    cluster.fabric.sharp = true;
    return timed(cluster, {.stack = Stack::kHost}, op, algorithm, bytes).us;
}

double sat_of_link() {
    return on_hosts_us(Generation::kHdr, 2, Op::kSendRecv, Algorithm::kDirect, kStreamed) /
           on_hosts_us(Generation::kHdr, 64, Op::kAllReduce, Algorithm::kSharp, kStreamed);
}

double sat_gain() {
    return on_hosts_us(Generation::kHdr, 64, Op::kAllReduce, Algorithm::kRing, kStreamed) /
           on_hosts_us(Generation::kHdr, 64, Op::kAllReduce, Algorithm::kSharp, kStreamed);
}

double sat_threshold() {
    const SharpTimes times = sharp_times(Generation::kHdr, 24.8e9);
    constexpr std::uint32_t kLevels = 2;
    std::uint64_t bytes = 256;
    while (llt_us(times, kLevels, bytes) <= sat_us(times, kLevels, bytes) && bytes < kMebi) {
        bytes += 256;
    }
    return static_cast<double>(bytes);
}

double sharp_trees(Generation generation) {
    const SharpLimits limits = sharp_limits(generation);
    return limits.llt_trees + limits.sat_trees;
}

double nccl_small(std::uint32_t nodes, Algorithm algorithm) {
    const nccl::Communicator comm{
        .ranks = nodes * 8, .nodes = nodes, .graph = {8, 48, 48}, .nvls_graph = {8, 46, 48}};
    return std::round(nccl::estimate(comm, Op::kAllReduce, algorithm, Protocol::kLl).latency_us);
}

double deepep_dispatch(std::uint32_t nodes) {
    constexpr std::uint64_t kBytes = 4096ULL * 8 * 7168;
    const double us = exchange_us(nodes, kBytes);
    return us > 0 ? static_cast<double>(kBytes) / us / 1e3 : 0;
}

double deepep_low_latency() {
    return exchange_us(32, 128ULL * 8 * (7168 + 7168 / 128 * 4));
}

}  // namespace softib::plan
