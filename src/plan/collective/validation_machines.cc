// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/validation_machines.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "plan/cluster/presets.h"
#include "plan/collective/collective_model.h"
#include "plan/collective/victims.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

constexpr const char* kPico = "HLC-Lab/pico, medians of 2025-07";
constexpr std::uint64_t kKibi = 1 << 10;
constexpr std::uint64_t kMebi = 1 << 20;
constexpr std::uint64_t kGibi = 1 << 30;

/// A row of which a tolerance of the reference says: 25 % for latencies, 10 % for plateaus.
struct MachineRow {
    const char* id;
    std::string claim;
    const char* parameters;
    double expected;
    double tolerance;
    const char* unit;
    const char* source;
    std::function<double()> ours;
    const char* miss = nullptr;    ///< Why it is missed.
    const char* remark = nullptr;  ///< What else to know of a row that is met.
};

void add_row(std::vector<ValidationRow>& rows, MachineRow row) {
    rows.push_back({.id = row.id,
                    .claim = std::move(row.claim),
                    .parameters = row.parameters,
                    .expected = row.expected,
                    .tolerance = row.tolerance,
                    .unit = row.unit,
                    .source = row.source,
                    .ours = std::move(row.ours),
                    .known_miss = row.miss != nullptr,
                    .note = row.miss != nullptr     ? row.miss
                            : row.remark != nullptr ? row.remark
                                                    : ""});
}

// ---- MPI with one rank a node ----

Cluster hosts_of(topo::Generation generation, std::uint32_t hosts) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), hosts);
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    cluster.fabric.spec.generation = generation;
    return cluster;
}

double mpi_us(std::uint32_t hosts, Op op, Algorithm algorithm, std::uint64_t bytes) {
    CollectiveOptions options;
    options.stack = Stack::kHost;
    options.model = net::ModelKind::kPacket;
    const auto model = CollectiveModel::make(hosts_of(topo::Generation::kHdr, hosts), options);
    const auto timing =
        model ? (*model)->time(op, algorithm, bytes) : std::unexpected(model.error());
    return timing.value_or(Timing{}).us;
}

/// All others send to one, or one to all others: each its part of so many bytes.
double one_and_all_us(std::uint32_t hosts, std::uint64_t bytes, bool gather) {
    Cluster cluster = hosts_of(topo::Generation::kHdr, hosts);
    cluster.fabric.spec.hcas_per_host = 1;
    const auto stage = make_stage(cluster, {.model = net::ModelKind::kPacket});
    if (!stage) {
        return 0;
    }
    Flows flows;
    for (std::uint32_t host = 1; host < hosts; ++host) {
        flows.push_back({gather ? host : 0, gather ? 0 : host, bytes / hosts, 0});
    }
    const auto played = (*stage)->play(flows);
    return played ? played->us + played->latency_us : 0;
}

void add_hosts(std::vector<ValidationRow>& rows) {
    constexpr const char* kHdrTree =
        "Open MPI, one rank a node, 200 Gb/s; packets on a tree of HDR, which is assumed";
    constexpr const char* kTwoRails =
        "the machine stripes messages over two rails of 100 Gb/s; our one link of 200 Gb/s loses "
        "nothing to that";
    const auto add = [&](const char* id, const char* claim, double expected, double tolerance,
                         std::function<double()> ours, const char* miss = nullptr) {
        add_row(rows,
                {id, claim, kHdrTree, expected, tolerance, "us", kPico, std::move(ours), miss});
    };
    const auto gathered = [](std::uint32_t hosts, Algorithm algorithm, std::uint64_t bytes) {
        return [=] { return mpi_us(hosts, Op::kAllGather, algorithm, bytes); };
    };
    add("B19", "a step of a ring, 32 nodes of Leonardo", 1.53, 0.25,
        [] { return mpi_us(32, Op::kAllGather, Algorithm::kRing, 512) / 31; });
    add("B20", "all-to-all of 64 MiB, 32 nodes", 2807, 0.1,
        [] { return mpi_us(32, Op::kAllToAll, Algorithm::kDirect, 64 * kMebi); });
    add("B23", "ring all-gather of 256 bytes, 32 nodes", 48.7, 0.25,
        gathered(32, Algorithm::kRing, 256));
    add("B23", "ring all-gather of 512 MiB, 32 nodes", 23'347, 0.1,
        gathered(32, Algorithm::kRing, 512 * kMebi),
        "the measured ring reaches 178 Gb/s of 200, ours loses headers alone and reaches 198; the "
        "rest is acknowledgements, PCIe and the host, which a wire does not have");
    add("B24", "recursive all-gather of 256 bytes, 32 nodes", 14.1, 0.25,
        gathered(32, Algorithm::kRecursive, 256),
        "the measured run spends 2.8 us a round, nearly twice what its ring spends a step; we "
        "charge a round as a step");
    add("B25", "gather of 512 MiB, 31 nodes to one", 23'071, 0.1,
        [] { return one_and_all_us(32, 512 * kMebi, true); });
    add("B28", "scatter of 64 MiB, one node to 63", 2743, 0.1,
        [] { return one_and_all_us(64, 64 * kMebi, false); });
    add("B30", "ring all-gather of 32 bytes, 4 nodes of Leonardo", 5.0, 0.25,
        gathered(4, Algorithm::kRing, 32),
        "a step takes 1.67 us there, and 1.53 us with 32 nodes; ours is that of a ping-pong");
    add("B30", "ring all-gather of 32 MiB, 4 nodes of Leonardo", 1669, 0.1,
        gathered(4, Algorithm::kRing, 32 * kMebi), kTwoRails);
    add("B31", "ring all-gather of 256 bytes, 32 nodes of Leonardo", 47.4, 0.25,
        gathered(32, Algorithm::kRing, 256));
    add("B31", "ring all-gather of 256 MiB, 32 nodes of Leonardo", 11'866, 0.1,
        gathered(32, Algorithm::kRing, 256 * kMebi), kTwoRails);
}

// ---- Victims and aggressors ----

double slowdown(std::uint32_t hosts, VictimOp op, std::uint64_t bytes, Aggressor aggressor) {
    Cluster cluster = hosts_of(topo::Generation::kHdr, hosts);
    cluster.fabric.spec.hcas_per_host = 1;
    if (hosts <= 8) {
        cluster.fabric.spec.shape = topo::Shape::kSingleSwitch;
    } else {
        cluster.fabric.spec.radix = 16;
    }
    const double alone = victim_us(cluster, op, bytes, Aggressor::kNone).value_or(0);
    return alone > 0 ? victim_us(cluster, op, bytes, aggressor).value_or(0) / alone : 0;
}

void add_victims(std::vector<ValidationRow>& rows) {
    constexpr const char* kSetUp =
        "every second host a victim; ours on packets and a tree of HDR with 8 hosts a leaf, the "
        "machine is a dragonfly+";
    constexpr const char* kCrab = "CRAB, medians";
    constexpr const char* kNoControl =
        "our adapters have no congestion control here, and our switches choose among all spines: "
        "the incast's packets fill the buffers behind every cable to its leaf, and victims get "
        "what is left; how the machine divides its buffers is not published";
    const auto add = [&](const char* id, const char* claim, double expected, double tolerance,
                         std::function<double()> ours, const char* miss = nullptr) {
        add_row(rows,
                {id, claim, kSetUp, expected, tolerance, "times", kCrab, std::move(ours), miss});
    };
    add("B54", "all-gather of 16 MiB, 8 hosts, slower by an incast", 602.0 / 602, 0.1,
        [] { return slowdown(8, VictimOp::kAllGather, 16 * kMebi, Aggressor::kIncast); });
    add("B58", "all-gather of 2 MiB, 64 hosts, slower by an all-to-all", 422.0 / 408, 0.1,
        [] { return slowdown(64, VictimOp::kAllGather, 2 * kMebi, Aggressor::kAllToAll); });
    add(
        "B58", "all-gather of 2 MiB, 64 hosts, slower by an incast", 2153.0 / 408, 0.25,
        [] { return slowdown(64, VictimOp::kAllGather, 2 * kMebi, Aggressor::kIncast); },
        "alone our ring needs about 0.17 ms, the machine's 0.41: its hosts spend 13 us on each "
        "64 KiB, which an incast does not lengthen; the rest is as in B60");
    add("B60", "all-to-all of 256 KiB a peer, 64 hosts, slower by an all-to-all", 417.0 / 417, 0.1,
        [] { return slowdown(64, VictimOp::kAllToAll, 256 * kKibi, Aggressor::kAllToAll); });
    add(
        "B60", "all-to-all of 256 KiB a peer, 64 hosts, slower by an incast", 2572.0 / 417, 0.25,
        [] { return slowdown(64, VictimOp::kAllToAll, 256 * kKibi, Aggressor::kIncast); },
        kNoControl);
}

// ---- Links of clouds ----

/// What a WRITE of 8 MiB reaches, by packets.
double write_gbps(topo::Generation generation) {
    Cluster cluster = hosts_of(generation, 2);
    cluster.fabric.spec.hcas_per_host = 1;
    const auto stage = make_stage(cluster, {.model = net::ModelKind::kPacket});
    const auto played =
        stage ? (*stage)->play({{0, 1, 8 * kMebi, 0}}) : std::unexpected(std::string());
    return played ? 8 * kMebi * 8 / (played->us + played->latency_us) / 1e3 : 0;
}

void add_floors(std::vector<ValidationRow>& rows) {
    const struct {
        topo::Generation generation;
        const char* name;
        double floor;
    } floors[] = {{topo::Generation::kEdr, "EDR", 95},
                  {topo::Generation::kHdr, "HDR", 190},
                  {topo::Generation::kNdr, "NDR", 390}};
    for (const auto& [generation, name, floor] : floors) {
        rows.push_back({.id = "B14",
                        .claim = fmt::format("ib_write_bw over {}, at least", name),
                        .parameters = "the floor below which Azure takes a node out",
                        .expected = floor,
                        .tolerance = 0,
                        .tolerance_up = 0.05,
                        .unit = "Gb/s",
                        .source = "azurehpc-health-checks, 2026-05",
                        .ours = [generation] { return write_gbps(generation); }});
    }
}

// ---- NCCL ----

/// By one algorithm, or as NCCL chooses without a SHARP plug-in, which NVLS across nodes needs.
double nccl_busbw(const char* name, std::uint64_t bytes, std::optional<Algorithm> algorithm) {
    Cluster cluster = *find_preset(name);
    cluster.fabric.sharp = cluster.fabric.sharp && algorithm;
    const auto model = CollectiveModel::make(cluster, {});
    if (!model) {
        return 0;
    }
    const auto timing = (*model)->time(
        Op::kAllReduce, algorithm.value_or((*model)->choose(Op::kAllReduce, bytes).algorithm),
        bytes);
    return timing.value_or(Timing{}).busbw;
}

/// Two hosts with a GPU and an NDR NIC each.
double one_nic_busbw() {
    Cluster cluster = *find_preset("hgx-h200:2");
    cluster.gpus_per_node = 1;
    cluster.nvlink = {.domain_gpus = 1};
    cluster.fabric.spec.hcas_per_host = 1;
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    const auto model = CollectiveModel::make(cluster, {});
    const auto timing = model ? (*model)->time(Op::kAllReduce, Algorithm::kRing, 8 * kGibi)
                              : std::unexpected(model.error());
    return timing.value_or(Timing{}).busbw;
}

void add_nccl_machines(std::vector<ValidationRow>& rows) {
    constexpr const char* kMl = "stas00/ml-engineering";
    const struct {
        std::uint64_t bytes;
        double busbw;
    } sizes[] = {{32 * kKibi, 0.65},   {kMebi, 12.5},  {16 * kMebi, 71.8},
                 {128 * kMebi, 260.0}, {kGibi, 366.0}, {16 * kGibi, 377.0}};
    for (const auto& [bytes, busbw] : sizes) {
        add_row(rows,
                {"B50", "all-reduce of " + show_size(bytes) + ", busbw, 4 nodes of 8 B200",
                 "rings; what the measured run took is not said", busbw, bytes < kGibi ? 0.25 : 0.1,
                 "GB/s", kMl, [bytes] { return nccl_busbw("hgx-b200:4", bytes, Algorithm::kRing); },
                 bytes == 16 * kMebi ? "NCCL's model has LL128 at its full rate here; what "
                                       "the measured run took is not said"
                                     : nullptr});
    }
    add_row(
        rows,
        {"B50", "all-reduce of 17.2 GB, busbw, the same by NCCL's choice",
         "without a SHARP plug-in, which NVLS across nodes needs: NVLSTree", 377, 0.1, "GB/s", kMl,
         [] { return nccl_busbw("hgx-b200:4", 16 * kGibi, {}); }, nullptr,
         "the report of C1 has 266 for NVLSTree on four such nodes, so that this row alone does "
         "not confirm ours. By NCCL's choice, a tree, 32.8 kB and 1.05 MB would have 1.8 and 26 "
         "GB/s, far above what was measured: the rows above are therefore rings. With a plug-in "
         "NCCL would take NVLS, which we have at the bound of its rails, 512 GB/s"});
    constexpr const char* kCoreWeave = "coreweave/nccl-tests";
    add_row(rows, {"B51", "all-reduce of 512 MiB, busbw, 64 H100",
                   "NCCL's choice without a SHARP plug-in", 356, 0.25, "GB/s", kCoreWeave,
                   [] { return nccl_busbw("ebay-h100:8", 512 * kMebi, {}); }});
    add_row(rows, {"B51", "all-reduce of 8 GiB, busbw, 64 H100",
                   "NCCL's choice without a SHARP plug-in", 387, 0.1, "GB/s", kCoreWeave,
                   [] { return nccl_busbw("ebay-h100:8", 8 * kGibi, {}); }});
    add_row(rows, {"B52", "all-reduce of 16 GiB with SHARP, busbw, 8 nodes of H100",
                   "Azure ND H100 v5; it warns below 400", 450, 0.1, "GB/s",
                   "ai-infrastructure-on-azure, 2026-04",
                   [] { return nccl_busbw("ebay-h100:8", 16 * kGibi, Algorithm::kSharp); }});
    add_row(rows, {"B53", "all-reduce over one NDR NIC, busbw", "46 to 48; two channels", 47, 0.1,
                   "GB/s", "nccl-tests, issue 290", one_nic_busbw});
}

}  // namespace

void add_machine_rows(std::vector<ValidationRow>& rows) {
    add_hosts(rows);
    add_victims(rows);
    add_floors(rows);
    add_nccl_machines(rows);
}

}  // namespace softib::plan
