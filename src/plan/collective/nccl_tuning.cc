// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/nccl_tuning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ranges>

#include "plan/collective/algorithms.h"
#include "plan/collective/nccl_parts.h"

namespace softib::plan::nccl {

namespace {

constexpr Latencies kRingHops{
    .base = {6.6, 14, 8.4}, .nvlink = {0.6, 1.9, 3.4}, .pci = {1, 2.5, 5.7}, .net = {2.7, 4, 14}};
constexpr Latencies kTreeHops{
    .base = {6.8, 14, 8.4}, .nvlink = {0.6, 1.25, 4}, .pci = {1, 1.9, 4}, .net = {5, 8.5, 14}};

/// Limits for 1 node, for 2, and for more.
using ByNodes = std::array<double, 3>;
/// Limits by generation: Volta, Ampere, Hopper, Blackwell.
using Limits = std::array<ByNodes, 4>;
constexpr Limits kLlMax{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr Limits kRingLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr Limits kTreeLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr Limits kTree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr Limits kNvlsTree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
constexpr std::array<double, 4> kNvlsEfficiency{0, 0, 0.85, 0.74};

/// Rates that NCCL's search tries for a channel, the highest first.
constexpr std::array kIntraSm80{40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                                9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
constexpr std::array kInterSm80{48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                                7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kIntraSm90{60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
constexpr std::array kInterSm90{48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kIntraSm100{90.0, 80.0, 70.0, 60.0, 50.0, 45.0,
                                 40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array kInterSm100{96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0,
                                 20.0, 17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

// NCCL's correction of the bandwidth of trees, by protocol and powers of two from 64 bytes on: at
// medium sizes they are slower than its model.
constexpr std::array<std::array<double, 24>, 3> kTreeCorrection{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

std::size_t generation_of(std::uint32_t compute_capability) {
    return compute_capability >= 100  ? 3
           : compute_capability >= 90 ? 2
           : compute_capability >= 80 ? 1
                                      : 0;
}

std::size_t nodes_index(const Communicator& comm) {
    return std::min(comm.nodes, 3U) - 1;
}

std::size_t index(Protocol protocol) {
    return static_cast<std::size_t>(protocol);
}

double log2i(std::uint32_t value) {
    return static_cast<double>(std::bit_width(value)) - 1;
}

/// The most channels that NCCL's search finds (half of MAXCHANNELS), which is also the most GPUs of
/// a node that an NVLS group has as heads.
constexpr std::uint32_t kChannelsMax = 32;
/// The most GPUs of a node that CollNet takes.
constexpr std::uint32_t kCollNetGpusMax = 8;

bool is_half(Op op) {
    return op == Op::kAllGather || op == Op::kReduceScatter;
}

std::uint32_t gpus_per_node(const Communicator& comm) {
    return comm.ranks / comm.nodes;
}

/// Returns whether CollNet can do the operation between nodes: an all-gather or a reduce-scatter
/// needs a NIC for each GPU.
bool has_collnet(const Communicator& comm, Op op) {
    return comm.collnet && comm.nodes > 1 && (!is_half(op) || comm.nic_each);
}

bool has_nvls(const Communicator& comm) {
    return comm.nvls && comm.nvls_graph.channels >= 2;
}

/// Returns the GB/s of a channel of NVLS or NVLSTree inside a node.
double nvls_intra(const Communicator& comm, Op op) {
    const Graph& graph = comm.nvls_graph;
    const double ppn = comm.ranks_per_node();
    const double intra = graph.bw_intra * kNvlsEfficiency[generation_of(comm.compute_capability)] *
                         (graph.channels - 1) / graph.channels;
    return intra * (op == Op::kAllReduce ? 2 : (ppn - 1) / ppn);
}

/// Returns the highest busbw of LL: limited by GPUs on one node, by CPUs on several.
double ll_max(const Communicator& comm) {
    const std::size_t by = comm.nodes == 1 ? generation_of(comm.compute_capability)
                           : comm.amd_cpu  ? 1
                                           : 0;
    return kLlMax[by][nodes_index(comm)];
}

/// Returns the busbw of a tree whose channels have `busbw` together.
double tree_busbw(const Communicator& comm, Protocol protocol, double busbw, double channels) {
    const std::size_t generation = generation_of(comm.compute_capability);
    const std::size_t nodes = nodes_index(comm);
    busbw = std::min(busbw * .92, channels * kTree[generation][nodes]);
    if (protocol == Protocol::kLl) {
        busbw = std::min(busbw / 3.8, ll_max(comm));
    }
    if (protocol == Protocol::kLl128) {
        busbw = std::min(busbw * (comm.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                         channels * kTreeLl128[generation][nodes]);
    }
    return busbw;
}

double sharp_busbw(const Communicator& comm, Op op) {
    const Graph& graph = comm.collnet_graph.channels != 0 ? comm.collnet_graph : comm.graph;
    if (op != Op::kAllReduce) {
        return comm.ranks_per_node() * std::min(graph.bw_intra, graph.bw_inter * 0.9);
    }
    double factor = comm.ranks_per_node() / graph.channels;
    factor -= (factor - 1) / 2;
    return graph.channels * graph.bw_intra / factor * (comm.compute_capability >= 90 ? .85 : 1);
}

/// Returns the GB/s of all channels of the graph of rings.
double channels_busbw(const Communicator& comm) {
    return comm.graph.channels * (comm.nodes <= 2 ? comm.graph.bw_intra : comm.graph.bw_inter);
}

/// Returns the GB/s inside nodes of all channels of a tree of two nodes, or of CollNet.
double faster_busbw(const Communicator& comm) {
    return comm.graph.channels * std::max(comm.tree_intra, comm.graph.bw_intra);
}

double ring_busbw(const Communicator& comm, Protocol protocol) {
    const double busbw = channels_busbw(comm);
    switch (protocol) {
        case Protocol::kLl:
            return std::min(ll_max(comm), busbw * .5);
        case Protocol::kLl128:
            return std::min(
                busbw * .92,
                comm.graph.channels *
                    kRingLl128[generation_of(comm.compute_capability)][nodes_index(comm)]);
        case Protocol::kSimple:
            break;
    }
    return busbw;
}

double steps_of(Op op, double ranks) {
    return op == Op::kAllReduce                               ? 2 * (ranks - 1)
           : op == Op::kReduceScatter || op == Op::kAllGather ? ranks - 1
                                                              : ranks;
}

double ring_latency(const Communicator& comm, Op op, Protocol protocol, double intra,
                    double inter) {
    const double steps = steps_of(op, comm.ranks);
    if (op == Op::kBroadcast) {
        // As in NCCL: on one node a broadcast costs the latency of one step, else of all steps.
        if (comm.nodes == 1) {
            return (comm.nvlink ? kRingHops.nvlink : kRingHops.pci)[index(protocol)];
        }
        const Latencies& hops = protocol == Protocol::kSimple ? kTreeHops : kRingHops;
        return steps * hops.net[index(protocol)];
    }
    // Every step of a ring between nodes costs the post of a message.
    double post = 0;
    if (comm.nodes > 1) {
        post = (comm.amd_cpu ? 2.0 : 1.0) * (protocol == Protocol::kSimple ? 3 : 1);
    }
    const double inter_steps =
        comm.nodes == 1 ? 0 : (op == Op::kAllReduce ? 2.0 : 1.0) * (comm.nodes - 1);
    return (steps - inter_steps) * std::max(intra, post) + inter_steps * inter;
}

/// Returns the channels that NCCL runs for rings and trees between nodes.
std::uint32_t channels_of(const Communicator& comm) {
    const std::uint32_t channels = 2 * comm.graph.channels;
    const bool more = comm.compute_capability >= 90 && comm.graph.bw_intra > 45 && channels < 16;
    return more ? 2 * channels : channels;
}

/// Returns the speeds that NCCL's search tries for a channel between nodes, the highest first.
std::span<const double> speeds_between(std::uint32_t compute_capability) {
    if (compute_capability >= 100) {
        return kInterSm100;
    }
    return compute_capability >= 90 ? std::span<const double>(kInterSm90)
                                    : std::span<const double>(kInterSm80);
}
std::span<const double> speeds_inside(std::uint32_t compute_capability) {
    if (compute_capability >= 100) {
        return kIntraSm100;
    }
    return compute_capability >= 90 ? std::span<const double>(kIntraSm90)
                                    : std::span<const double>(kIntraSm80);
}

/// Returns a graph with fast channels divided in two, if it may have that many, as NCCL does after
/// its search.
Graph divided(Graph graph, std::uint32_t compute_capability, std::uint32_t channels_max) {
    const bool many = compute_capability > 80 && graph.bw_inter < 50 && graph.channels > 4;
    if (graph.bw_inter >= 25 && !many && 2 * graph.channels <= channels_max) {
        return {2 * graph.channels, graph.bw_intra / 2, graph.bw_inter / 2};
    }
    return graph;
}

/// Returns the graph of rings with the most bandwidth of those whose channels are no faster than
/// `most` and have `sum` together, as NCCL's search finds it.
Graph search(std::span<const double> speeds, double most, double sum, std::uint32_t channels_max) {
    Graph best;
    for (const double speed : speeds) {
        const bool too_slow = best.channels != 0 && speed < .49 * best.bw_inter;
        if (speed > most || too_slow) {
            continue;
        }
        const auto channels =
            static_cast<std::uint32_t>(std::min<double>(channels_max, sum / speed));
        if (channels * speed > best.channels * best.bw_inter) {
            best = {channels, speed, speed};
        }
    }
    if (best.channels == 0) {
        return {1, speeds.back(), speeds.back()};
    }
    return best;
}

/// Returns the GB/s inside nodes that NCCL's search finds for the channels of a tree: up to twice
/// what they have between nodes, since two nodes send each other only half of a tree's traffic.
/// NVLink gives `sum` to all channels; 0: nodes have one GPU.
double tree_speed(std::span<const double> speeds, const Graph& rings, double sum) {
    double found = rings.bw_intra;
    for (const double speed : std::ranges::reverse_view(speeds)) {
        const bool fits = sum <= 0 || speed * rings.channels <= sum;
        if (speed > found && found < 2 * rings.bw_inter && fits) {
            found = speed;
        }
    }
    return found;
}

/// Returns the GB/s that NCCL takes a NIC for: the speed that its driver reports, or the rate of
/// PCIe if that is less. Headers are no part of NCCL's model.
double seen_nic_rate(const Cluster& cluster) {
    const double link = topo::link_speed(cluster.fabric.spec.generation).mbps / 8000.0 *
                        cluster.fabric.speed_factor();
    return std::min(link, cluster.pcie.bytes_per_s / 1e9);
}

double latency_of(const Communicator& comm, Op op, const Tuning& tuning, Protocol protocol) {
    const std::size_t p = index(protocol);
    const double intra = (comm.nvlink ? tuning.hops.nvlink : tuning.hops.pci)[p];
    const bool exposed = comm.ranks == comm.nodes;
    const double inter = (exposed ? kTreeHops.net : tuning.hops.net)[p] + comm.hop_more_us;
    return tuning.hops.base[p] + tuning.latency(comm, op, protocol, intra, inter);
}

}  // namespace

constexpr Tuning kRingTuning{
    .hops = kRingHops,
    .enabled = [](const Communicator&,
                  Op op) { return op == Op::kAllReduce || op == Op::kBroadcast || is_half(op); },
    .busbw = [](const Communicator& comm, Op,
                Protocol protocol) { return ring_busbw(comm, protocol); },
    .latency = ring_latency,
    .only_simple = false,
    .busbw_of_ring = true};

constexpr Tuning kTreeTuning{
    .hops = kTreeHops,
    .enabled = [](const Communicator&, Op op) { return op == Op::kAllReduce; },
    .busbw =
        [](const Communicator& comm, Op, Protocol protocol) {
            // Without a chain inside nodes NCCL's search finds only its simplest tree.
            const double simplest = comm.nodes > 1 && comm.ranks == comm.nodes ? .85 : 1;
            return tree_busbw(comm, protocol,
                              comm.nodes <= 2 ? faster_busbw(comm) : channels_busbw(comm),
                              comm.graph.channels) *
                   simplest;
        },
    .latency =
        [](const Communicator& comm, Op, Protocol, double intra, double inter) {
            return 2 * (static_cast<double>(gpus_per_node(comm) - 1) * intra +
                        log2i(comm.nodes) * inter);
        },
    .only_simple = false,
    .corrected = [](const Communicator&) -> std::size_t { return 23; }};

/// PAT is for nodes with one GPU.
constexpr Tuning kPatTuning{
    .hops = {.nvlink = {0, 0, 4}, .pci = {0, 0, 4}, .net = {0, 0, 14}},
    .enabled = [](const Communicator& comm,
                  Op op) { return comm.nodes == comm.ranks && is_half(op); },
    .busbw = [](const Communicator& comm, Op, Protocol) { return channels_busbw(comm) * .75; },
    .latency =
        [](const Communicator& comm, Op, Protocol, double, double inter) {
            return 8 + log2i(comm.nodes) * (inter / 3.5) + comm.ranks * 2.8;
        }};

/// NVLS needs GPUs that have it, and CollNet between nodes.
constexpr Tuning kNvlsTuning{
    .hops = {.nvlink = {0, 0, 25}, .net = {0, 0, 18}},
    .enabled =
        [](const Communicator& comm, Op op) {
            return has_nvls(comm) && (comm.nodes == 1 || has_collnet(comm, op)) &&
                   (op == Op::kAllReduce || (is_half(op) && gpus_per_node(comm) <= kChannelsMax));
        },
    .busbw =
        [](const Communicator& comm, Op op, Protocol) {
            return comm.nvls_graph.channels *
                   std::min(nvls_intra(comm, op), comm.nvls_graph.bw_inter);
        },
    .latency = [](const Communicator& comm, Op, Protocol, double intra,
                  double inter) { return intra + (comm.nodes > 1 ? inter : 0); },
    .busbw_of_ring = true};

constexpr Tuning kNvlsTreeTuning{
    .hops = {.nvlink = {0, 0, 25}, .net = {0, 0, 20.9}},
    .enabled = [](const Communicator& comm,
                  Op op) { return has_nvls(comm) && comm.nodes > 1 && op == Op::kAllReduce; },
    .busbw =
        [](const Communicator& comm, Op op, Protocol) {
            const double inter = comm.nvls_graph.bw_inter * (comm.nodes <= 2 ? 2 : 1);
            return comm.nvls_graph.channels *
                   std::min({nvls_intra(comm, op), inter,
                             kNvlsTree[generation_of(comm.compute_capability)][nodes_index(comm)]});
        },
    .latency = [](const Communicator& comm, Op, Protocol, double intra,
                  double inter) { return intra + 2 * log2i(comm.nodes) * inter; },
    .busbw_of_ring = true,
    .corrected = [](const Communicator& comm) -> std::size_t {
        return comm.compute_capability >= 100 ? 24 : 0;
    }};

constexpr Tuning kCollNetDirectTuning{
    .hops = {.nvlink = {0, 0, 3.7}, .pci = {0, 0, 3.7}, .net = {0, 0, 31}},
    .enabled =
        [](const Communicator& comm, Op op) {
            return has_collnet(comm, op) && comm.nvswitch &&
                   gpus_per_node(comm) <= kCollNetGpusMax && (op == Op::kAllReduce || is_half(op));
        },
    .busbw = [](const Communicator& comm, Op op, Protocol) { return sharp_busbw(comm, op); },
    .latency =
        [](const Communicator& comm, Op, Protocol, double intra, double inter) {
            const double others = gpus_per_node(comm) - 1;
            return 2 * (std::min(1.0, others) * intra + others * 0.4) + inter;
        }};

constexpr Tuning kCollNetChainTuning{
    .hops = {.nvlink = {0, 0, 2.8}, .pci = {0, 0, 2.8}, .net = {0, 0, 30}},
    .enabled =
        [](const Communicator& comm, Op op) {
            return has_collnet(comm, op) && gpus_per_node(comm) <= kCollNetGpusMax &&
                   op == Op::kAllReduce;
        },
    .busbw = [](const Communicator& comm, Op,
                Protocol) { return comm.graph.channels * comm.graph.bw_intra; },
    .latency =
        [](const Communicator& comm, Op, Protocol, double intra, double inter) {
            return 2 * static_cast<double>(gpus_per_node(comm) - 1) * intra + inter;
        }};

Estimate estimate(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol) {
    const Tuning* const tuning = row_of(algorithm).tuning;
    if (comm.ranks < 2 || tuning == nullptr || !tuning->enabled(comm, op) ||
        (tuning->only_simple && protocol != Protocol::kSimple)) {
        return {};
    }
    double algbw = tuning->busbw(comm, op, protocol);
    if (algorithm == Algorithm::kRing || !is_half(op)) {
        algbw *= tuning->busbw_of_ring ? comm.ranks / steps_of(op, comm.ranks) : .5;
    }
    return {latency_of(comm, op, *tuning, protocol), algbw};
}

double latency_us(const Communicator& comm, Op op, Algorithm algorithm, Protocol protocol,
                  std::uint64_t bytes) {
    const Tuning* const tuning = row_of(algorithm).tuning;
    double latency = tuning == nullptr ? 0 : latency_of(comm, op, *tuning, protocol);
    const bool plateau = algorithm == Algorithm::kRing && protocol == Protocol::kSimple &&
                         comm.nodes > 1 && op == Op::kAllReduce && comm.graph.channels != 0 &&
                         bytes / (std::uint64_t{channels_of(comm)} * comm.ranks) >= 64;
    if (plateau) {
        latency *= comm.compute_capability < 80 ? 1.9 : 1.4;
    }
    return latency;
}

double size_factor(const Communicator& comm, Op op, const Tuning* tuning, Protocol protocol,
                   std::uint64_t bytes) {
    const std::uint64_t blocks = bytes >> 6;
    const std::size_t size =
        blocks == 0 ? 24 : static_cast<std::size_t>(std::bit_width(blocks)) - 1;
    const bool corrected = op == Op::kAllReduce && tuning != nullptr &&
                           tuning->corrected != nullptr && size < tuning->corrected(comm);
    return corrected ? kTreeCorrection[index(protocol)][size] : 1;
}

std::optional<double> expected_us(const Communicator& comm, Op op, Algorithm algorithm,
                                  Protocol protocol, std::uint64_t bytes) {
    double algbw = estimate(comm, op, algorithm, protocol).algbw;
    if (algbw <= 0) {
        return std::nullopt;
    }
    algbw *= size_factor(comm, op, row_of(algorithm).tuning, protocol, bytes);
    return latency_us(comm, op, algorithm, protocol, bytes) +
           static_cast<double>(bytes) / (1000 * algbw);
}

double hop_us(Protocol protocol) {
    return kTreeHops.net[index(protocol)];
}

double tree_limit(const Communicator& comm, Algorithm algorithm, Protocol protocol,
                  double channels) {
    if (algorithm == Algorithm::kNvlsTree) {
        const double limit = kNvlsTree[generation_of(comm.compute_capability)][nodes_index(comm)];
        return channels * limit * comm.ranks / steps_of(Op::kAllReduce, comm.ranks);
    }
    return tree_busbw(comm, protocol, INFINITY, channels) / 2;
}

double nvls_limit(const Communicator& comm, Op op) {
    const double links = comm.nvls_graph.channels * comm.nvls_graph.bw_intra *
                         kNvlsEfficiency[generation_of(comm.compute_capability)];
    // A GPU gives the NVSwitch all of its data and gets its share of the sum, or gives its share
    // and gets all; an all-reduce does both.
    return op == Op::kAllReduce ? links / (1 + 1 / comm.ranks_per_node()) : links;
}

std::optional<Choice> choose(const Communicator& on, Op op, std::uint64_t bytes,
                             std::span<const Algorithm> among, std::optional<Protocol> wanted) {
    std::optional<Choice> best;
    Communicator comm = on;
    comm.hop_more_us = 0;
    for (const Algorithm algorithm : kAlgorithms) {
        if (!among.empty() && std::ranges::find(among, algorithm) == among.end()) {
            continue;
        }
        for (const Protocol protocol : kProtocols) {
            if (wanted && protocol != *wanted) {
                continue;
            }
            const auto time = expected_us(comm, op, algorithm, protocol, bytes);
            if (time && (!best || *time < best->expected_us)) {
                best = Choice{algorithm, protocol, *time};
            }
        }
    }
    return best;
}

Protocol choose_protocol(const Communicator& comm, Op op, Algorithm algorithm,
                         std::uint64_t bytes) {
    const auto chosen = choose(comm, op, bytes, std::array{algorithm});
    return chosen ? chosen->protocol : Protocol::kSimple;
}

Communicator communicator_of(const Cluster& cluster, std::uint32_t domains) {
    const std::uint32_t per_domain = cluster.domain_gpus();
    return communicator_of(
        cluster, domains, per_domain,
        std::max(cluster.nics_per_node() * per_domain / cluster.gpus_per_node, 1U));
}

Communicator communicator_of(const Cluster& cluster, std::uint32_t domains,
                             std::uint32_t per_domain, std::uint32_t nics) {
    const std::uint32_t cc = cluster.gpu.compute_capability;
    const double nic = seen_nic_rate(cluster);
    const double nvlink = nvlink_rate(cluster) / 1e9;
    Communicator comm{.ranks = domains * per_domain,
                      .nodes = domains,
                      .compute_capability = cc,
                      .nvlink = cluster.nvlink.domain_gpus > 1,
                      .nvswitch = cluster.nvlink.switched && cluster.nvlink.domain_gpus > 1,
                      .nvls = cluster.nvlink.nvls && cc >= 90 && per_domain > 1,
                      .nic_each = nics >= per_domain};
    if (domains > 1) {
        // A channel leaves the node where it would close its ring: it uses the NVLink of all GPUs
        // but one.
        const bool chained = per_domain > 1 && nvlink > 0;
        const double sum = chained ? nvlink * per_domain / (per_domain - 1.0) : nic * nics;
        const auto speeds = speeds_between(cc);
        const Graph found = search(speeds, nic, sum, std::min(nics, kChannelsMax));
        comm.graph = divided(found, cc, kChannelsMax);
        comm.tree_intra = tree_speed(speeds, comm.graph, chained ? sum : 0);
        const std::uint32_t direct_max = std::min(per_domain, kCollNetGpusMax);
        comm.collnet_graph = found;
        comm.collnet_graph.channels = std::min(found.channels, direct_max);
        comm.collnet_graph = divided(comm.collnet_graph, cc, direct_max);
        comm.collnet_graph.bw_intra = tree_speed(speeds, comm.collnet_graph, chained ? sum : 0);
        const std::uint32_t heads = std::min(per_domain, kChannelsMax);
        comm.nvls_graph = {heads, nvlink / heads, nic * std::min(nics, heads) / heads};
    } else {
        comm.graph =
            divided(search(speeds_inside(cc), nvlink, nvlink, kChannelsMax), cc, kChannelsMax);
        comm.nvls_graph = {16, nvlink / 16, nvlink / 16};
    }
    return comm;
}

}  // namespace softib::plan::nccl
