// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "plan/cluster/presets.h"
#include "plan/collective/validation_numbers.h"

namespace softib::plan {

namespace {

Cluster hosts_of(Generation generation, std::uint32_t hosts) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), hosts);
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    cluster.fabric.spec.generation = generation;
    return cluster;
}

/// The same with one NIC a host.
Cluster one_nic_hosts_of(Generation generation, std::uint32_t hosts) {
    Cluster cluster = hosts_of(generation, hosts);
    cluster.fabric.spec.hcas_per_host = 1;
    return cluster;
}

/// Time of a post on an Intel CPU: one queue pair reaches 5 to 8.8 million per second (rows B8,
/// B9).
constexpr double kPostUs = 0.13;

/// Returns the microseconds until the last of these messages has arrived, on the packet model.
double played_us(const Cluster& cluster, const Flows& flows) {
    const auto stage = make_stage(cluster, {.model = net::ModelKind::kPacket});
    const auto played = stage ? (*stage)->play(flows) : std::unexpected(stage.error());
    return played ? played->us + played->latency_us : 0;
}

}  // namespace

double mpi_us(std::uint32_t hosts, Op op, Algorithm algorithm, std::uint64_t bytes) {
    return timed(hosts_of(Generation::kHdr, hosts),
                 {.stack = Stack::kHost, .step_us = kPostUs, .model = net::ModelKind::kPacket}, op,
                 algorithm, bytes)
        .us;
}

double one_and_all_us(std::uint32_t hosts, std::uint64_t bytes, bool gather) {
    Flows flows;
    for (std::uint32_t host = 1; host < hosts; ++host) {
        flows.push_back({gather ? host : 0, gather ? 0 : host, bytes / hosts, 0});
    }
    return played_us(one_nic_hosts_of(Generation::kHdr, hosts), flows);
}

double slowdown(std::uint32_t hosts, VictimOp op, std::uint64_t bytes, Aggressor aggressor) {
    Cluster cluster = one_nic_hosts_of(Generation::kHdr, hosts);
    if (hosts <= 8) {
        cluster.fabric.spec.shape = topo::Shape::kSingleSwitch;
    } else {
        cluster.fabric.spec.radix = 16;
    }
    const double alone = victim_us(cluster, op, bytes, Aggressor::kNone).value_or(0);
    return alone > 0 ? victim_us(cluster, op, bytes, aggressor).value_or(0) / alone : 0;
}

double write_gbps(Generation generation) {
    const double us = played_us(one_nic_hosts_of(generation, 2), {{0, 1, 8 * kMebi, 0}});
    return us > 0 ? 8 * kMebi * 8 / us / 1e3 : 0;
}

double nccl_busbw(std::string_view preset, std::uint64_t bytes,
                  std::optional<Algorithm> algorithm) {
    const auto model = CollectiveModel::make(*find_preset(preset), {});
    if (!model) {
        return 0;
    }
    const auto timing = (*model)->time(
        Op::kAllReduce, algorithm.value_or((*model)->choose(Op::kAllReduce, bytes).algorithm),
        bytes);
    return timing.value_or(Timing{}).busbw;
}

double rings_without_ll128(std::string_view preset, std::uint64_t bytes) {
    const auto busbw = [&](Protocol protocol) {
        return timed(*find_preset(preset), {}, Op::kAllReduce, Algorithm::kRing, bytes, protocol)
            .busbw;
    };
    return std::max(busbw(Protocol::kLl), busbw(Protocol::kSimple));
}

double one_nic_busbw(Algorithm algorithm, std::uint64_t bytes) {
    Cluster cluster = *find_preset("hgx-h200:2");
    cluster.gpus_per_node = 1;
    cluster.nvlink = {.domain_gpus = 1};
    cluster.fabric.spec.hcas_per_host = 1;
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    return timed(cluster, {}, Op::kAllReduce, algorithm, bytes).busbw;
}

}  // namespace softib::plan
