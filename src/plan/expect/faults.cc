// SPDX-License-Identifier: BSD-2-Clause
#include "plan/expect/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/topo/topology.h"
#include "plan/collective/algorithms.h"

namespace softib::plan {

namespace {

using Planted = std::optional<Setting>;

bool has_gpus(Tool tool) {
    return tool == Tool::kNcclTests;
}

/// Returns whether messages of a run leave their NVLink domain.
bool crosses(const Setting& run, Tool tool) {
    return has_gpus(tool) ? run.cluster.gpus() > run.cluster.domain_gpus()
                          : run.cluster.nodes() > 1;
}

/// Leaves out LL128, as NCCL does where a GPU and its NIC do not share a PCIe switch.
void leave_out_ll128(Setting& run) {
    if (run.protocols.empty()) {
        run.protocols = {kProtocols.begin(), kProtocols.end()};
    }
    std::erase(run.protocols, Protocol::kLl128);
}

void slow_pcie(Cluster& cluster, double part) {
    cluster.pcie.bytes_per_s *= part;
}

std::uint32_t number_in(const std::string& text) {
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

bool names(const std::string& text, const char* word) {
    std::string lower = text;
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    return lower.contains(word) && !lower.starts_with('^');
}

/// Returns 1 for a fact of the first kind, -1 for one of the second.
template <FactKind kFor, FactKind kAgainst>
int weigh_kinds(const Fact& fact, const Setting&) {
    return fact.kind == kFor ? 1 : fact.kind == kAgainst ? -1 : 0;
}

// ---- Rails and links ----

constexpr double kMissing[] = {1, 2, 4, 6, 7};
Planted plant_missing_rail(const Setting& run, Tool tool, double level) {
    const std::uint32_t nics = run.cluster.nics_per_node();
    const auto gone = static_cast<std::uint32_t>(level);
    if (!has_gpus(tool) || !crosses(run, tool) || gone >= nics) {
        return std::nullopt;
    }
    Setting planted = run;
    topo::Spec& spec = planted.cluster.fabric.spec;
    spec.hcas_per_host = nics - gone;
    if (spec.hcas_per_host == 1 && topo::topology_of(spec.shape).rails) {
        spec.shape = topo::Shape::kFatTree;
    }
    return planted;
}
std::string show_missing_rail(const Setting& run, double level) {
    return fmt::format("NCCL uses {:.0f} of the {} NICs of a node: {} missing",
                       run.cluster.nics_per_node() - level, run.cluster.nics_per_node(),
                       level == 1 ? "one rail is" : fmt::format("{:.0f} rails are", level));
}
int weigh_missing_rail(const Fact& fact, const Setting& run) {
    if (fact.kind != FactKind::kInfiniBand && fact.kind != FactKind::kRoce) {
        return 0;
    }
    const std::uint32_t found = number_in(fact.value);
    return found == 0 ? 0 : found < run.cluster.nics_per_node() ? 1 : -1;
}
constexpr const char* kLookMissing[] = {
    "ibstat on every node: all ports must be Active",
    "NCCL_IB_HCA, and the line 'NET/IB : Using' of NCCL_DEBUG=INFO on every rank",
    "ibdev2netdev, and the cables of the rail at its leaf switch"};

constexpr double kSlower[] = {0.5, 0.25, 0.125};
Planted plant_slow_link(const Setting& run, Tool tool, double level) {
    if (!crosses(run, tool)) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.cluster.pcie.bytes_per_s = level * planted.cluster.nic_bytes_per_s();
    return planted;
}
std::string show_slow_link(const Setting&, double level) {
    return fmt::format(
        "a link has 1/{:.0f} of its rate: a generation lower, or fewer lanes (one "
        "slow link is enough to slow all)",
        1 / level);
}
constexpr const char* kLookSlow[] = {
    "iblinkinfo (or ibstat's Rate on every node): look for a link at 2x or 1x, or at a lower speed",
    "ibqueryerrors: symbol errors and LinkDowned at that port; then reseat or replace its cable"};

// ---- PCIe and GPUs' memory ----

constexpr double kPcieParts[] = {0.5, 0.25, 0.125};
Planted plant_slow_pcie(const Setting& run, Tool tool, double level) {
    if (!crosses(run, tool)) {
        return std::nullopt;
    }
    Setting planted = run;
    slow_pcie(planted.cluster, level);
    return planted;
}
std::string show_slow_pcie(const Setting& run, double level) {
    return fmt::format(
        "PCIe gives a NIC {:.1f} GB/s, 1/{:.0f}: fewer lanes, or an older generation",
        run.cluster.pcie.bytes_per_s * level / 1e9, 1 / level);
}
constexpr const char* kLookPcie[] = {
    "lspci -vv of each NIC and GPU: LnkSta beside LnkCap (Speed and Width, 'downgraded')",
    "dmesg: 'limited by ... PCIe x8 link'; MaxReadReq of 4096; the slot and its riser"};

constexpr double kOnce[] = {1};
/// Data stop in hosts' memory, so that in each direction the way between a PCIe switch and its host
/// carries what the NIC sends and what it receives.
Planted plant_no_gdr(const Setting& run, Tool tool, double) {
    if (!has_gpus(tool) || !crosses(run, tool)) {
        return std::nullopt;
    }
    Setting planted = run;
    slow_pcie(planted.cluster, 0.5);
    leave_out_ll128(planted);
    return planted;
}
std::string show_no_gdr(const Setting&, double) {
    return "no GPUDirect RDMA: data pass through hosts' memory, and NCCL leaves out LL128";
}
constexpr const char* kLookGdr[] = {
    "NCCL_DEBUG=INFO: connections must end with /GDRDMA; 'GPU Direct RDMA Enabled for HCA'",
    "lsmod | grep nvidia_peermem (or a kernel and driver with DMA-BUF)",
    "nvidia-smi topo -m: a NIC of a GPU must be PIX or PXB; NCCL_NET_GDR_LEVEL"};

/// Requests between devices go up to the root complex: in each direction, that link carries what
/// the NIC sends and what it receives. NCCL does not know.
Planted plant_acs(const Setting& run, Tool tool, double) {
    Setting planted = run;
    if (!crosses(run, tool)) {
        return std::nullopt;
    }
    if (has_gpus(tool)) {
        slow_pcie(planted.cluster, 0.5);
    } else {
        planted.gpu_memory = 0.5;
    }
    return planted;
}
std::string show_acs(const Setting&, double) {
    return "GPUs and NICs reach each other through the CPU: ACS is on, or a NIC is on the other "
           "NUMA node";
}
constexpr const char* kLookAcs[] = {
    "lspci -vvv | grep ACSCtl: SrcValid+ on a PCIe switch is wrong without virtual machines",
    "nvidia-smi topo -m: NODE or SYS where PIX is expected; the IOMMU (iommu=pt)",
    "numactl and the binding of ranks to the CPU of their NIC"};

// ---- What NCCL takes ----

Planted plant_no_nvls(const Setting& run, Tool tool, double) {
    if (!has_gpus(tool) || !run.cluster.nvlink.nvls || run.cluster.nvlink.domain_gpus < 2) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.cluster.nvlink.nvls = false;
    const auto needs = [](Algorithm each) { return row_of(each).needs_nvls; };
    if (!run.algorithms.empty() && std::ranges::all_of(run.algorithms, needs)) {
        planted.algorithms.clear();
    }
    return planted;
}
std::string show_no_nvls(const Setting&, double) {
    return "NVLS is not used: rings and trees alone";
}
constexpr const char* kLookNvls[] = {
    "NCCL_DEBUG=INFO: 'NVLS multicast support is available' on every GPU; NCCL_NVLS_ENABLE",
    "systemctl status nvidia-fabricmanager, or nvidia-imex on racks; nvidia-smi -q | grep -A2 "
    "Fabric"};

template <Algorithm kForced>
Planted plant_algorithm(const Setting& run, Tool tool, double) {
    if (!has_gpus(tool) || run.cluster.gpus() < 2 ||
        run.algorithms == std::vector<Algorithm>{kForced}) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.algorithms = {kForced};
    return planted;
}
template <Algorithm kForced>
std::string show_algorithm(const Setting&, double) {
    return fmt::format("NCCL takes {} for all sizes, where its own choice is another",
                       to_string(kForced));
}
template <Algorithm kForced>
int weigh_algorithm(const Fact& fact, const Setting&) {
    if (fact.kind != FactKind::kAlgorithm) {
        return 0;
    }
    return names(fact.value, to_string(kForced)) &&
                   !(kForced == Algorithm::kTree && names(fact.value, "nvlstree"))
               ? 1
               : -1;
}
constexpr const char* kLookAlgorithm[] = {
    "NCCL_ALGO and NCCL_TUNER_PLUGIN in the environment of ranks and in /etc/nccl.conf",
    "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING: the algorithm of each size"};

constexpr double kProtocolLevels[] = {0, 1, 2};
Planted plant_protocol(const Setting& run, Tool tool, double level) {
    if (!has_gpus(tool) || run.cluster.gpus() < 2) {
        return std::nullopt;
    }
    Setting planted = run;
    if (level == 0) {
        leave_out_ll128(planted);
    } else {
        planted.protocols = {level == 1 ? Protocol::kSimple : Protocol::kLl};
    }
    return planted.protocols == run.protocols ? std::nullopt : Planted(planted);
}
std::string show_protocol(const Setting&, double level) {
    return level == 0
               ? "NCCL leaves out the protocol LL128"
               : fmt::format("NCCL takes the protocol {} alone", level == 1 ? "Simple" : "LL");
}
constexpr const char* kLookProtocol[] = {
    "NCCL_PROTO in the environment of ranks and in /etc/nccl.conf",
    "nvidia-smi topo -m: LL128 needs a GPU and its NIC behind one PCIe switch (PIX or PXB)"};

constexpr double kChannelLevels[] = {1, 0.5, 0.25, 0};
std::uint32_t channels_at(const Setting& run, double level) {
    const std::uint32_t nics = run.cluster.nics_per_node() * run.cluster.domain_nodes();
    return std::max(1U, static_cast<std::uint32_t>(std::lround(nics * level)));
}
Planted plant_channels(const Setting& run, Tool tool, double level) {
    if (!has_gpus(tool) || !crosses(run, tool) || channels_at(run, level) == run.channels) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.channels = channels_at(run, level);
    return planted;
}
std::string show_channels(const Setting& run, double level) {
    return fmt::format("NCCL has {} between nodes: too few to fill its NICs",
                       channels_at(run, level) == 1
                           ? std::string("one channel")
                           : fmt::format("{} channels", channels_at(run, level)));
}
int weigh_channels(const Fact& fact, const Setting& run) {
    if (fact.kind != FactKind::kChannels) {
        return 0;
    }
    const std::uint32_t usual = 2 * run.cluster.nics_per_node() * run.cluster.domain_nodes();
    return number_in(fact.value) < usual ? 1 : -1;
}
constexpr const char* kLookChannels[] = {
    "NCCL_MAX_NCHANNELS, NCCL_MIN_NCHANNELS, NCCL_MAX_CTAS; the line 'coll channels' of INFO",
    "NCCL_IB_QPS_PER_CONNECTION: several QPs a connection where routes are hashed"};

Planted plant_no_sharp(const Setting& run, Tool tool, double) {
    if (!has_gpus(tool) || !run.collnet) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.collnet = false;
    return planted;
}
std::string show_no_sharp(const Setting&, double) {
    return "SHARP is not used: NCCL goes on without CollNet";
}
constexpr const char* kLookSharp[] = {
    "NCCL_DEBUG=INFO: 'SHARP coll init', 'Connected collnet'; NCCL_COLLNET_ENABLE=1",
    "libnccl-net.so of nccl-rdma-sharp-plugins; sharp_am beside the subnet manager, and its quota"};

// ---- The fabric ----

constexpr double kTapers[] = {2, 3, 4, 7, 102, 104};
constexpr double kSpread = 100;  ///< Levels above: each node is at a leaf switch of its own.
Planted plant_taper(const Setting& run, Tool tool, double level) {
    if (!has_gpus(tool) || !crosses(run, tool)) {
        return std::nullopt;
    }
    Setting planted = run;
    topo::Spec& spec = planted.cluster.fabric.spec;
    const bool spread = level > kSpread;
    spec.oversubscription = {static_cast<std::uint32_t>(spread ? level - kSpread : level), 1};
    if (spread) {
        spec.shape = topo::Shape::kFatTree;
        spec.levels = 2;
        spec.spine_oversubscription = {};
        spec.hosts_per_switch = spec.hcas_per_host;
    }
    return planted;
}
std::string show_taper(const Setting&, double level) {
    return level > kSpread
               ? fmt::format(
                     "the fabric is oversubscribed {:.0f}:1, and every node is at a leaf "
                     "switch of its own",
                     level - kSpread)
               : fmt::format("the fabric is oversubscribed {:.0f}:1 above its leaf switches",
                             level);
}
constexpr const char* kLookTaper[] = {
    "softib topo --from FILE --report, with what ibnetdiscover prints: cables up of each leaf",
    "where the nodes of the job are: Slurm's --switches=1 or the topology plug-in",
    "uplinks that are down: iblinkinfo on the leaf switches"};

/// Routes of a tree are balanced for nodes in its order; those of a job are in another.
Planted plant_static(const Setting& run, Tool tool, double) {
    if (!has_gpus(tool) || !crosses(run, tool) || !run.cluster.fabric.adaptive) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.cluster.fabric.adaptive = false;
    planted.ordered = false;
    return planted;
}
std::string show_static(const Setting&, double) {
    return "adaptive routing is off: flows share uplinks while others are idle";
}
constexpr const char* kLookStatic[] = {
    "NCCL_IB_ADAPTIVE_ROUTING=1, and the service level of NCCL_IB_SL that has it",
    "the subnet manager: ar_mode, routing engine; ibroute or UFM's AR report"};

Planted plant_crossed(const Setting& run, Tool tool, double) {
    if (!has_gpus(tool) || !crosses(run, tool) || !run.rails_aligned ||
        run.cluster.nics_per_node() < 2) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.rails_aligned = false;
    return planted;
}
std::string show_crossed(const Setting&, double) {
    return "messages change rails: NICs are cabled or numbered differently on some nodes";
}
constexpr const char* kLookCrossed[] = {
    "NCCL_CROSS_NIC, and the order of NICs in NCCL_IB_HCA on every node",
    "ibnetdiscover: the leaf switch of each mlx5_N must be the same on all nodes of a unit"};

/// Gigabits per second of the interfaces that NCCL's sockets find.
constexpr double kSocketRates[] = {100, 50, 25, 10, 1};
/// What is left of Ethernet's rate for TCP with an MTU of 1500, and what the kernel adds to a hop:
/// 10 to 50 us.
constexpr double kTcpShare = 1448.0 / 1538;
constexpr double kKernelUs = 30;
Planted plant_sockets(const Setting& run, Tool tool, double level) {
    if (tool == Tool::kPerftest || !crosses(run, tool)) {
        return std::nullopt;
    }
    Setting planted = run;
    Cluster& cluster = planted.cluster;
    topo::Spec& spec = cluster.fabric.spec;
    spec.hcas_per_host = 1;
    spec.shape = topo::topology_of(spec.shape).rails ? topo::Shape::kFatTree : spec.shape;
    cluster.fabric.sharp = false;
    planted.collnet = false;
    cluster.pcie.bytes_per_s = std::min(cluster.nic_bytes_per_s(), level * 1e9 / 8 * kTcpShare);
    planted.hop_more_us += kKernelUs;
    leave_out_ll128(planted);
    return planted;
}
std::string show_sockets(const Setting&, double level) {
    return fmt::format("sockets instead of RDMA, at {:.0f} Gb/s", level);
}
int weigh_sockets(const Fact& fact, const Setting&) {
    switch (fact.kind) {
        case FactKind::kSocket:
            return 1;
        case FactKind::kInfiniBand:
        case FactKind::kRoce:
        case FactKind::kGdr:
            return -1;
        default:
            return 0;
    }
}
constexpr const char* kLookSockets[] = {
    "NCCL_DEBUG=INFO: 'NET/IB : Using', not 'NET/Socket'; NCCL_IB_DISABLE and NCCL_NET",
    "/dev/infiniband in the container, libibverbs, and ulimit -l unlimited",
    "an MPI: UCX_TLS, and --mca pml ucx"};

constexpr double kMtus[] = {1024, 512, 256};
Planted plant_mtu(const Setting& run, Tool tool, double level) {
    if (!crosses(run, tool) || run.cluster.fabric.mtu <= level) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.cluster.fabric.mtu = static_cast<std::uint16_t>(level);
    return planted;
}
std::string show_mtu(const Setting&, double level) {
    return fmt::format("the MTU is {:.0f}", level);
}
int weigh_mtu(const Fact& fact, const Setting& run) {
    const std::uint32_t mtu = number_in(fact.value);
    return fact.kind != FactKind::kMtu || mtu == 0 ? 0 : mtu < run.cluster.fabric.mtu ? 1 : -1;
}
constexpr const char* kLookMtu[] = {
    "ibv_devinfo: active_mtu 4096; the MTU of the partition (ipoib_bc_mtu=5 in partitions.conf)",
    "RoCE: an MTU of 4200 or more on hosts' interfaces and all switches"};

// ---- Hosts ----

constexpr double kDelays[] = {1, 2, 4, 8, 16, 32, 64, 128};
Planted plant_delay(const Setting& run, Tool tool, double level) {
    if (!crosses(run, tool)) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.hop_more_us += level;
    return planted;
}
std::string show_delay(const Setting&, double level) {
    return fmt::format("every message waits about {:.0f} us longer: CPUs sleep or are busy", level);
}
constexpr const char* kLookDelay[] = {
    "cpupower idle-info and frequency-info: C-states off (cpupower idle-set -D 0), performance "
    "governor",
    "ranks and NCCL's proxies have cores of their own: binding, cgroups, irqbalance",
    "perftest without --events, an MPI without blocking waits"};

constexpr double kNvlinkParts[] = {0.75, 0.5, 0.25};
Planted plant_slow_nvlink(const Setting& run, Tool tool, double level) {
    if (!has_gpus(tool) || run.cluster.nvlink.domain_gpus < 2) {
        return std::nullopt;
    }
    Setting planted = run;
    NvLink& nvlink = planted.cluster.nvlink;
    nvlink.bytes_per_s *= level;
    nvlink.links = std::max(1U, static_cast<std::uint32_t>(std::lround(nvlink.links * level)));
    return planted;
}
std::string show_slow_nvlink(const Setting&, double level) {
    return fmt::format("a GPU has {:.0f} % of its NVLink links", 100 * level);
}
constexpr const char* kLookNvlink[] = {"nvidia-smi nvlink -s: all links active, on every GPU",
                                       "nvidia-smi nvlink -e: errors; dmesg: Xid 74"};

/// GPUs of a node copy through hosts' memory, over their PCIe links.
Planted plant_no_p2p(const Setting& run, Tool tool, double) {
    if (!has_gpus(tool) || run.cluster.nvlink.domain_gpus < 2 || run.cluster.domain_nodes() > 1) {
        return std::nullopt;
    }
    Setting planted = run;
    planted.cluster.nvlink.nvls = false;
    planted.cluster.nvlink.links = 0;
    planted.cluster.nvlink.bytes_per_s = run.cluster.pcie.bytes_per_s;
    const auto needs = [](Algorithm each) { return row_of(each).needs_nvls; };
    std::erase_if(planted.algorithms, needs);
    return planted;
}
std::string show_no_p2p(const Setting&, double) {
    return "NVLink is not used: GPUs of a node exchange data over PCIe";
}
constexpr const char* kLookP2p[] = {
    "NCCL_DEBUG=INFO: connections inside a node via P2P, not via SHM; NCCL_P2P_DISABLE",
    "nvidia-smi topo -p2p r; nvidia-fabricmanager; containers that see each GPU alone"};

// The first is named first, if several explain a curve as well as each other.
constexpr Fault kFaults[] = {
    {"slow-link", kSlower, plant_slow_link, show_slow_link, kLookSlow},
    {"rail-missing", kMissing, plant_missing_rail, show_missing_rail, kLookMissing,
     weigh_missing_rail},
    {"no-gpudirect", kOnce, plant_no_gdr, show_no_gdr, kLookGdr,
     weigh_kinds<FactKind::kNoGdr, FactKind::kGdr>},
    {"pcie", kPcieParts, plant_slow_pcie, show_slow_pcie, kLookPcie},
    {"acs", kOnce, plant_acs, show_acs, kLookAcs},
    {"no-nvls", kOnce, plant_no_nvls, show_no_nvls, kLookNvls,
     weigh_kinds<FactKind::kNoNvls, FactKind::kNvls>},
    {"ring", kOnce, plant_algorithm<Algorithm::kRing>, show_algorithm<Algorithm::kRing>,
     kLookAlgorithm, weigh_algorithm<Algorithm::kRing>},
    {"tree", kOnce, plant_algorithm<Algorithm::kTree>, show_algorithm<Algorithm::kTree>,
     kLookAlgorithm, weigh_algorithm<Algorithm::kTree>},
    {"no-sharp", kOnce, plant_no_sharp, show_no_sharp, kLookSharp,
     weigh_kinds<FactKind::kSharpMissing, FactKind::kSharpUsed>},
    {"sockets", kSocketRates, plant_sockets, show_sockets, kLookSockets, weigh_sockets},
    {"channels", kChannelLevels, plant_channels, show_channels, kLookChannels, weigh_channels},
    {"protocol", kProtocolLevels, plant_protocol, show_protocol, kLookProtocol,
     weigh_kinds<FactKind::kProtocol, FactKind::kProtocol>},
    {"oversubscription", kTapers, plant_taper, show_taper, kLookTaper},
    {"static-routes", kOnce, plant_static, show_static, kLookStatic},
    {"rails-crossed", kOnce, plant_crossed, show_crossed, kLookCrossed},
    {"slow-hosts", kDelays, plant_delay, show_delay, kLookDelay},
    {"mtu", kMtus, plant_mtu, show_mtu, kLookMtu, weigh_mtu},
    {"no-nvlink", kOnce, plant_no_p2p, show_no_p2p, kLookP2p,
     weigh_kinds<FactKind::kNoP2p, FactKind::kNoP2p>},
    {"nvlink-links", kNvlinkParts, plant_slow_nvlink, show_slow_nvlink, kLookNvlink}};

}  // namespace

std::span<const Fault> faults() {
    return kFaults;
}

}  // namespace softib::plan
