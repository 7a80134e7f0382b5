// SPDX-License-Identifier: BSD-2-Clause
// Published numbers about fabrics and collective operations, with functions that compute ours.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/topo/report.h"
#include "core/topo/spec.h"
#include "net/plant/latency.h"
#include "plan/cluster/presets.h"
#include "plan/collective/collective_model.h"
#include "plan/collective/validation_machines.h"
#include "plan/validation.h"

namespace softib::plan {

namespace {

constexpr const char* kSuperPodSource = "NVIDIA RA-11333, tables 3 and 4";
constexpr const char* kB200Report = "public NCCL report on 8 x B200 + 8 x NDR nodes, 2026-04";
constexpr std::uint64_t kEightGb = 8ULL << 30;

Cluster cluster_named(std::string_view name) {
    return find_preset(name).value_or(Cluster{});
}

// ---- Components ----

topo::Fabric superpod(std::uint32_t units) {
    return topo::generate(cluster_named(fmt::format("superpod-h100:{}", units)).fabric.spec)
        .value_or(topo::Fabric{});
}

template <std::uint32_t kUnits, std::uint32_t kLevel>
double superpod_switches() {
    const topo::Fabric fabric = superpod(kUnits);
    return static_cast<double>(std::ranges::count_if(fabric.nodes, [](const topo::Node& node) {
        return node.kind == topo::NodeKind::kSwitch && node.level == kLevel;
    }));
}

/// Returns the cables of nodes, or those above the leaves. The 4 ports of the manager are cabled to
/// leaves too.
template <std::uint32_t kUnits, bool kNodes>
double superpod_cables() {
    const topo::Fabric fabric = superpod(kUnits);
    constexpr double kManagerPorts = 4;
    double count = kNodes && kUnits <= 4 ? kManagerPorts : 0;
    for (const topo::Node& node : fabric.nodes) {
        for (const topo::PortLink& link : node.ports) {
            const bool leaf = node.kind == topo::NodeKind::kSwitch && node.level == 0;
            if (leaf && link.peer != topo::kNoNode) {
                const bool to_node = fabric.node(link.peer).kind == topo::NodeKind::kHca;
                count += to_node == kNodes ? 1 : 0;
            }
        }
    }
    return count;
}

template <std::uint32_t kUnits>
void add_superpod(std::vector<ValidationRow>& rows, std::array<double, 3> switches,
                  std::array<double, 2> cables) {
    const std::string name = fmt::format("SuperPOD H100, {} SU", kUnits);
    const std::string id = kUnits <= 4 ? "T1" : "T2";
    const auto add = [&](const char* what, double expected, const char* unit, double (*ours)()) {
        rows.push_back({.id = id,
                        .claim = name + ": " + what,
                        .parameters = "64 ports, 32 nodes of 8 rails a unit",
                        .expected = expected,
                        .unit = unit,
                        .source = kSuperPodSource,
                        .ours = ours});
    };
    add("leaf switches", switches[0], "switches", superpod_switches<kUnits, 0>);
    add("spine switches", switches[1], "switches", superpod_switches<kUnits, 1>);
    if (switches[2] != 0) {
        add("core switches", switches[2], "switches", superpod_switches<kUnits, 2>);
    }
    add("cables of nodes and manager", cables[0], "cables", superpod_cables<kUnits, true>);
    add("cables between leaf and spine", cables[1], "cables", superpod_cables<kUnits, false>);
}

double meta_gpus() {
    return cluster_named("meta-roce-24k").gpus();
}

/// Returns the number of cables above a spine for each cable below it.
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

/// Returns the HCAs of the largest full tree of three levels in one subnet: with radix r there are
/// 5 switches for r HCAs, and each has a LID.
template <std::uint32_t kRadix>
double endpoints_of_a_subnet() {
    return std::floor(topo::LidBudget::kLimit * double{kRadix} / (kRadix + 5));
}

void add_components(std::vector<ValidationRow>& rows) {
    add_superpod<1>(rows, {8, 4, 0}, {252, 256});
    add_superpod<2>(rows, {16, 8, 0}, {508, 512});
    add_superpod<3>(rows, {24, 16, 0}, {764, 768});
    add_superpod<4>(rows, {32, 16, 0}, {1020, 1024});
    add_superpod<16>(rows, {128, 128, 64}, {4096, 4096});
    add_superpod<32>(rows, {256, 256, 128}, {8192, 8192});
    add_superpod<64>(rows, {512, 512, 256}, {16'384, 16'384});
    constexpr const char* kLlama = "The Llama 3 Herd of Models, 3.3.1";
    rows.push_back({.id = "T4",
                    .claim = "Meta's RoCE cluster: GPUs",
                    .parameters = "16 GPUs a rack, 192 racks a pod, 8 pods",
                    .expected = 24'576,
                    .unit = "GPUs",
                    .source = kLlama,
                    .ours = meta_gpus});
    rows.push_back({.id = "T4",
                    .claim = "Meta's RoCE cluster: bandwidth between pods, of that inside",
                    .parameters = "192 cables down a spine need 27.4 up; we round up to 28",
                    .expected = 1.0 / 7,
                    .tolerance = 0.025,
                    .unit = "",
                    .source = kLlama,
                    .ours = meta_taper});
    constexpr const char* kLids = "IBA: unicast LIDs 1 to 0xBFFF, one for each switch";
    rows.push_back({.id = "T5",
                    .claim = "HCAs of a subnet, full tree of three levels, 64 ports",
                    .expected = 45'589,
                    .unit = "HCAs",
                    .source = kLids,
                    .ours = endpoints_of_a_subnet<64>});
    rows.push_back({.id = "T5",
                    .claim = "HCAs of a subnet, full tree of three levels, 144 ports",
                    .expected = 47'501,
                    .unit = "HCAs",
                    .source = kLids,
                    .ours = endpoints_of_a_subnet<144>});
}

// ---- Links ----

template <LinkLayer kLayer>
double efficiency() {
    return wire_efficiency(kLayer, 4096);
}

/// Returns a model of two hosts at one switch.
std::unique_ptr<CollectiveModel> pair_of_hosts(topo::Generation generation, net::ModelKind kind) {
    Cluster cluster = cluster_named("hgx-h200:2");
    cluster.fabric.spec.generation = generation;
    CollectiveOptions options;
    options.stack = Stack::kHost;
    options.model = kind;
    auto model = CollectiveModel::make(cluster, options);
    return model ? *std::move(model) : nullptr;
}

double edr_write_gbps() {
    const auto model = pair_of_hosts(topo::Generation::kEdr, net::ModelKind::kPacket);
    const auto us = model ? model->send_between_nodes(8 << 20, 1) : std::unexpected(std::string());
    return us ? (8 << 20) * 8 / *us / 1e3 : 0;
}

double mpi_latency_us() {
    const auto model = pair_of_hosts(topo::Generation::kHdr, net::ModelKind::kPacket);
    const auto timing =
        model ? model->time(Op::kSendRecv, Algorithm::kDirect, 8) : std::unexpected(std::string());
    return timing ? timing->us : 0;
}

/// Returns the time of an operation on the first nodes of the report's machine.
Timing b200_timing(Op op, Algorithm algorithm, std::uint32_t nodes, std::uint32_t channels) {
    CollectiveOptions options;
    options.channels = channels;
    const auto model = CollectiveModel::make(with_nodes(cluster_named("hgx-b200"), nodes), options);
    const auto timing = model ? (*model)->time(op, algorithm, kEightGb, Protocol::kSimple)
                              : std::unexpected(model.error());
    return timing.value_or(Timing{});
}

double pair_over_ndr() {
    return b200_timing(Op::kSendRecv, Algorithm::kDirect, 2, 8).algbw;
}

void add_links(std::vector<ValidationRow>& rows) {
    rows.push_back({.id = "L1",
                    .claim = "part of an InfiniBand link that carries data",
                    .parameters = "RC WRITE, MTU 4096",
                    .expected = 4096.0 / 4122,
                    .unit = "",
                    .source = "LRH 8, BTH 12, ICRC 4, VCRC 2 bytes",
                    .ours = efficiency<LinkLayer::kInfiniBand>});
    rows.push_back({.id = "L1",
                    .claim = "part of a RoCEv2 link that carries data",
                    .parameters = "RC WRITE, MTU 4096, with preamble and gap",
                    .expected = 4096.0 / 4178,
                    .unit = "",
                    .source = "Ethernet 38, IPv4 20, UDP 8, BTH 12, ICRC 4 bytes",
                    .ours = efficiency<LinkLayer::kRoce>});
    rows.push_back({.id = "L2",
                    .claim = "ib_write_bw over EDR",
                    .parameters = "1 QP, MTU 4096, packets",
                    .expected = 96.6,
                    .tolerance = 0,
                    .tolerance_up = 0.03,
                    .unit = "Gb/s",
                    .source = "NVIDIA forum, 273376",
                    .ours = edr_write_gbps});
    rows.push_back({.id = "L3",
                    .claim = "MPI, 8 bytes one way",
                    .parameters = "HDR, one switch; 0.9 to 1.2 us with 15 %",
                    .expected = 1.05,
                    .tolerance = 0.27,
                    .tolerance_up = 0.31,
                    .unit = "us",
                    .source = "OSU latency on EDR and HDR clusters; Azure HBv3",
                    .ours = mpi_latency_us,
                    .fitted = true,
                    .note = "kHostUs, an MPI's overhead, is 0.1 us because 0.3 us missed this row "
                            "and the row of C5 by hosts; those two are no independent checks"});
    rows.push_back({.id = "L4",
                    .claim = "one pair of GPUs over NDR",
                    .parameters = "sendrecv, 8 GB",
                    .expected = 42.5,
                    .tolerance = 0.05,
                    .unit = "GB/s",
                    .source = kB200Report,
                    .ours = pair_over_ndr,
                    .fitted = true,
                    .note = "kChannelBytesPerS, what a channel copies, is this number"});
}

// ---- Collectives ----

template <std::uint32_t kNodes, std::uint32_t kChannels>
double b200_ring() {
    return b200_timing(Op::kAllReduce, Algorithm::kRing, kNodes, kChannels).busbw;
}
template <std::uint32_t kNodes>
double b200_tree() {
    return b200_timing(Op::kAllReduce, Algorithm::kTree, kNodes, 16).busbw;
}
double b200_two_nodes_nvls() {
    return b200_timing(Op::kAllReduce, Algorithm::kNvlsTree, 2, 0).busbw;
}

struct PublishedRing {
    std::uint32_t nodes;
    double busbw;
    double (*ours)();
};

void add_rings(std::vector<ValidationRow>& rows) {
    constexpr std::array<PublishedRing, 6> kForced{{{2, 344, b200_ring<2, 8>},
                                                    {4, 332, b200_ring<4, 8>},
                                                    {8, 306, b200_ring<8, 8>},
                                                    {16, 307, b200_ring<16, 8>},
                                                    {32, 303, b200_ring<32, 8>},
                                                    {64, 280, b200_ring<64, 8>}}};
    constexpr std::array<PublishedRing, 6> kAuto{{{2, 352, b200_ring<2, 16>},
                                                  {4, 385, b200_ring<4, 16>},
                                                  {8, 385, b200_ring<8, 16>},
                                                  {16, 378, b200_ring<16, 16>},
                                                  {32, 385, b200_ring<32, 16>},
                                                  {64, 350, b200_ring<64, 16>}}};
    constexpr std::array<PublishedRing, 3> kTrees{
        {{2, 332, b200_tree<2>}, {8, 192, b200_tree<8>}, {64, 191, b200_tree<64>}}};
    const auto add = [&](const char* id, const char* claim, const char* parameters,
                         const PublishedRing& row) {
        rows.push_back({.id = id,
                        .claim = fmt::format("{}, {} nodes", claim, row.nodes),
                        .parameters = parameters,
                        .expected = row.busbw,
                        .tolerance = 0.1,
                        .unit = "GB/s",
                        .source = kB200Report,
                        .ours = row.ours});
    };
    const std::size_t forced = rows.size();
    for (const PublishedRing& row : kForced) {
        add("C1", "ring all-reduce, busbw", "8 x B200, 8 NDR NICs, 8 GB, one channel a NIC", row);
    }
    rows[forced].note =
        "the report does not say how many channels its rings had; one a NIC for C1 and two for C1b "
        "is our inference from its tree rows, and these rows depend on it";
    const std::size_t shared = rows.size();
    for (const PublishedRing& row : kAuto) {
        add("C1b", "all-reduce without NVLS, busbw", "the same, two channels a NIC", row);
    }
    rows[shared].note =
        "the report has 9 % less with two nodes than with four, which no latency explains: NCCL's "
        "are the same there, and its tuning takes a ring for both; what NICs lose at GPUs' memory "
        "(B53) is the same too";
    for (const PublishedRing& row : kTrees) {
        add("C1c", "tree all-reduce, busbw", "the same, NCCL's limit of a channel", row);
    }
    rows.push_back({.id = "C2",
                    .claim = "two nodes with NVLS, busbw",
                    .parameters = "8 x B200, 8 NDR NICs, 8 GB, NVLSTree; the bound is 750",
                    .expected = 713,
                    .tolerance = 0.05,
                    .unit = "GB/s",
                    .source = kB200Report,
                    .ours = b200_two_nodes_nvls});
}

/// Returns the time of an operation of hosts on a tree of two levels.
Timing host_timing(topo::Generation generation, std::uint32_t hosts, Op op, Algorithm algorithm,
                   std::uint64_t bytes) {
    Cluster cluster = with_nodes(cluster_named("hgx-h200"), hosts);
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    cluster.fabric.spec.generation = generation;
    cluster.fabric.sharp = true;
    CollectiveOptions options;
    options.stack = Stack::kHost;
    const auto model = CollectiveModel::make(cluster, options);
    const auto timing =
        model ? (*model)->time(op, algorithm, bytes) : std::unexpected(model.error());
    return timing.value_or(Timing{});
}

template <topo::Generation kGeneration, std::uint32_t kHosts, Op kOp, Algorithm kAlgorithm,
          std::uint64_t kBytes>
double on_hosts_us() {
    return host_timing(kGeneration, kHosts, kOp, kAlgorithm, kBytes).us;
}

constexpr std::uint64_t kMega = 1 << 20;

/// Returns the rate of an all-reduce on a streaming tree, as a part of the rate between two hosts.
double sat_of_link() {
    constexpr std::uint64_t kBytes = 256 * kMega;
    const double us =
        host_timing(topo::Generation::kHdr, 64, Op::kAllReduce, Algorithm::kSharp, kBytes).us;
    const double alone =
        host_timing(topo::Generation::kHdr, 2, Op::kSendRecv, Algorithm::kDirect, kBytes).us;
    return alone / us;
}

double sat_gain() {
    constexpr std::uint64_t kBytes = 256 * kMega;
    const auto us = [](Algorithm algorithm) {
        return host_timing(topo::Generation::kHdr, 64, Op::kAllReduce, algorithm, kBytes).us;
    };
    return us(Algorithm::kRing) / us(Algorithm::kSharp);
}

/// Returns the length from which on a streaming tree is faster than a low-latency tree.
double sat_threshold() {
    const SharpTimes times = sharp_times(topo::Generation::kHdr, 24.8e9);
    constexpr std::uint32_t kLevels = 2;
    std::uint64_t bytes = 256;
    while (llt_us(times, kLevels, bytes) <= sat_us(times, kLevels, bytes) && bytes < kMega) {
        bytes += 256;
    }
    return static_cast<double>(bytes);
}

template <topo::Generation kGeneration>
double sharp_tree_limit() {
    const SharpLimits limits = sharp_limits(kGeneration);
    return limits.llt_trees + limits.sat_trees;
}

void add_sharp(std::vector<ValidationRow>& rows) {
    constexpr const char* kComhpc = "Graham et al., COMHPC 2016";
    constexpr const char* kIsc = "Graham et al., ISC 2020";
    using topo::Generation;
    rows.push_back(
        {.id = "C5",
         .claim = "SHARP all-reduce of 8 bytes",
         .parameters = "128 hosts, EDR",
         .expected = 2.83,
         .tolerance = 0.2,
         .unit = "us",
         .source = kComhpc,
         .ours = on_hosts_us<Generation::kEdr, 128, Op::kAllReduce, Algorithm::kSharp, 8>,
         .fitted = true,
         .note = "SharpTimes::reduce_us, the time of one datagram in a switch"});
    rows.push_back(
        {.id = "C5",
         .claim = "all-reduce of 8 bytes by hosts",
         .parameters = "128 hosts, EDR, recursive doubling",
         .expected = 6.01,
         .tolerance = 0.2,
         .unit = "us",
         .source = kComhpc,
         .ours = on_hosts_us<Generation::kEdr, 128, Op::kAllReduce, Algorithm::kRecursive, 8>});
    rows.push_back({.id = "C6",
                    .claim = "streaming aggregation, of a link's bandwidth",
                    .parameters = "64 hosts, HDR, 256 MiB; 95 % or more",
                    .expected = 0.95,
                    .tolerance = 0.005,
                    .tolerance_up = 0.05,
                    .unit = "",
                    .source = kIsc,
                    .ours = sat_of_link,
                    .note = "SharpTimes::sat_efficiency is the published 0.95 itself, so this row "
                            "checks only that nothing else is lost"});
    rows.push_back({.id = "C6",
                    .claim = "streaming aggregation against a ring of hosts",
                    .parameters = "64 hosts, HDR, 256 MiB; 2 to 5 times",
                    .expected = 2,
                    .tolerance = 0.1,
                    .tolerance_up = 1.5,
                    .unit = "times",
                    .source = kIsc,
                    .ours = sat_gain});
    rows.push_back({.id = "C7",
                    .claim = "length from which on trees stream",
                    .parameters = "64 hosts, HDR; 4 to 16 KiB",
                    .expected = 8192,
                    .tolerance = 0.5,
                    .tolerance_up = 1,
                    .unit = "bytes",
                    .source = "ISC 2020; UCC's threshold is 16 KiB",
                    .ours = sat_threshold});
    rows.push_back({.id = "C8",
                    .claim = "trees of a subnet of Quantum",
                    .parameters = "63 low-latency and 63 streaming, one of these a switch",
                    .expected = 126,
                    .unit = "trees",
                    .source = "NVIDIA SHARP 3.13 documentation",
                    .ours = sharp_tree_limit<Generation::kHdr>});
    rows.push_back({.id = "C8",
                    .claim = "trees of a subnet of Quantum-2",
                    .parameters = "511 low-latency and 511 streaming, one of these a port",
                    .expected = 1022,
                    .unit = "trees",
                    .source = "NVIDIA SHARP 3.13 documentation",
                    .ours = sharp_tree_limit<Generation::kNdr>});
}

/// Returns the latency of a small all-reduce on nodes of 8 GPUs.
template <std::uint32_t kNodes, Algorithm kAlgorithm>
double nccl_small() {
    const nccl::Communicator comm{
        .ranks = kNodes * 8, .nodes = kNodes, .graph = {8, 48, 48}, .nvls_graph = {8, 46, 48}};
    return std::round(nccl::estimate(comm, Op::kAllReduce, kAlgorithm, Protocol::kLl).latency_us);
}

void add_nccl(std::vector<ValidationRow>& rows) {
    const auto add = [&](std::uint32_t nodes, const char* name, double expected, double (*ours)()) {
        rows.push_back({.id = "C9",
                        .claim = fmt::format("NCCL's latency of a small all-reduce, {} LL, {} "
                                             "nodes of 8",
                                             name, nodes),
                        .parameters = "tuning.cc of NCCL 2.30, Intel CPUs",
                        .expected = expected,
                        .unit = "us",
                        .source = "NVIDIA/nccl 2.30.7",
                        .ours = ours});
    };
    add(2, "ring", 40, nccl_small<2, Algorithm::kRing>);
    add(2, "tree", 25, nccl_small<2, Algorithm::kTree>);
    add(16, "tree", 55, nccl_small<16, Algorithm::kTree>);
    add(128, "tree", 85, nccl_small<128, Algorithm::kTree>);
}

/// Returns the rate of a dispatch as DeepEP counts it: a GPU's bytes to all nodes, its own
/// included.
template <std::uint32_t kNodes>
double deepep_dispatch() {
    const auto model = CollectiveModel::make(with_nodes(cluster_named("h800-2048"), kNodes), {});
    constexpr std::uint64_t kBytes = 4096ULL * 8 * 7168;
    const auto timing = model ? (*model)->time(Op::kAllToAll, Algorithm::kDirect, kBytes)
                              : std::unexpected(model.error());
    return timing ? static_cast<double>(kBytes) / timing->us / 1e3 : 0;
}

/// Returns the time of a dispatch of 128 tokens to 8 experts each, in FP8 with scales.
double deepep_low_latency() {
    const auto model = CollectiveModel::make(with_nodes(cluster_named("h800-2048"), 32), {});
    constexpr std::uint64_t kBytes = 128ULL * 8 * (7168 + 7168 / 128 * 4);
    const auto timing = model ? (*model)->time(Op::kAllToAll, Algorithm::kDirect, kBytes)
                              : std::unexpected(model.error());
    return timing ? timing->us : 0;
}

void add_all_to_all(std::vector<ValidationRow>& rows) {
    constexpr const char* kDeepEp = "DeepEP README, H800 with NDR";
    const auto add = [&](const char* claim, const char* parameters, double expected,
                         const char* unit, double (*ours)(), const char* miss) {
        rows.push_back({.id = "C10",
                        .claim = claim,
                        .parameters = parameters,
                        .expected = expected,
                        .tolerance = 0.15,
                        .unit = unit,
                        .source = kDeepEp,
                        .ours = ours,
                        .known_miss = miss != nullptr,
                        .note = miss == nullptr ? "" : miss});
    };
    add("MoE dispatch to 32 GPUs", "4096 tokens of 7168 in FP8, 8 experts each", 58, "GB/s",
        deepep_dispatch<4>, nullptr);
    add("MoE dispatch to 64 GPUs", "the same", 51, "GB/s", deepep_dispatch<8>, nullptr);
    add("MoE dispatch of few tokens to 256 GPUs", "128 tokens, low latency", 194, "us",
        deepep_low_latency, nullptr);
}

}  // namespace

std::vector<ValidationRow> fabric_rows() {
    std::vector<ValidationRow> rows;
    add_components(rows);
    add_links(rows);
    add_rings(rows);
    add_sharp(rows);
    add_nccl(rows);
    add_all_to_all(rows);
    add_machine_rows(rows);
    return rows;
}

}  // namespace softib::plan
