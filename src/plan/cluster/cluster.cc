// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/link/rate.h"
#include "core/topo/spec.h"
#include "plan/cluster/fabric.h"

namespace softib::plan {

namespace {

/// Bytes around the payload of an InfiniBand packet in the middle of an RDMA WRITE.
constexpr double kInfiniBandHeaders = 8 + 12 + 4 + 2;  // LRH, BTH, ICRC, VCRC
/// Bytes around the payload of a RoCE packet: Ethernet, IPv4, UDP, BTH, ICRC, FCS; preamble and the
/// gap between frames.
constexpr double kRoceHeaders = 14 + 20 + 8 + 12 + 4 + 4 + 8 + 12;

}  // namespace

const char* to_string(LinkLayer layer) {
    return layer == LinkLayer::kInfiniBand ? "InfiniBand" : "RoCE";
}

double wire_efficiency(LinkLayer layer, std::uint16_t mtu) {
    const double headers = layer == LinkLayer::kInfiniBand ? kInfiniBandHeaders : kRoceHeaders;
    return mtu / (mtu + headers);
}

double Cluster::link_bytes_per_s() const {
    const std::uint32_t block_ps = link::ps_per_block(fabric.spec.generation, topo::Width::k4x);
    return 64e12 / block_ps * fabric.speed_factor() *
           wire_efficiency(fabric.link_layer, fabric.mtu);
}

double Cluster::nic_bytes_per_s() const {
    return std::min(link_bytes_per_s(), pcie.bytes_per_s);
}

Cluster with_nodes(Cluster cluster, std::uint32_t nodes) {
    topo::Spec& spec = cluster.fabric.spec;
    spec.hosts = nodes;
    // If all nodes fit in one pod of a tree with 3 levels, the third level is not needed.
    if (spec.levels == 3 && spec.hosts_per_switch != 0) {
        const topo::Taper& taper = spec.spine_oversubscription;
        const std::uint32_t pod_leaves = spec.radix * taper.down / (taper.down + taper.up);
        if (nodes * spec.hcas_per_host <= pod_leaves * spec.hosts_per_switch) {
            spec.levels = 2;
            spec.spine_oversubscription = {};
        }
    }
    return cluster;
}

Cluster with_planes(Cluster cluster, std::uint32_t planes) {
    ClusterFabric& fabric = cluster.fabric;
    const std::uint32_t most = radix_max(fabric.link_layer);
    for (std::uint32_t* const ports : {&fabric.spec.radix, &fabric.spec.hosts_per_switch}) {
        *ports = std::min(*ports * planes / fabric.planes, most);
    }
    fabric.planes = planes;
    return cluster;
}

std::vector<std::string> notes_of(const Cluster& cluster) {
    std::vector<std::string> notes;
    const double pcie = cluster.pcie.bytes_per_s;
    if (const double link = cluster.link_bytes_per_s(); pcie < link) {
        notes.push_back(fmt::format(
            "PCIe limits each NIC of {} to {:.1f} GB/s, and its {} link could take {:.1f}: say how "
            "fast PCIe is by the key gbs in [pcie]",
            cluster.name, pcie / 1e9, topo::link_speed(cluster.fabric.spec.generation).name,
            link / 1e9));
    }
    if (const std::uint32_t ports = plane_of(cluster).radix;
        ports > radix_max(LinkLayer::kInfiniBand)) {
        notes.push_back(
            fmt::format("models of the network number ports with 8 bits: {} is timed with more "
                        "switches, of {} ports, in place of those of {}",
                        cluster.name, radix_max(LinkLayer::kInfiniBand), ports));
    }
    return notes;
}

std::optional<std::string> find_fault(const Cluster& cluster) {
    const struct {
        double value;
        const char* name;
    } needed[] = {{static_cast<double>(cluster.nodes()), "nodes"},
                  {static_cast<double>(cluster.gpus_per_node), "gpus_per_node"},
                  {static_cast<double>(cluster.nics_per_node()), "nics_per_node"},
                  {static_cast<double>(cluster.nvlink.domain_gpus), "nvlink domain_gpus"},
                  {cluster.gpu.peak(Precision::kBf16), "the GPU's bf16 rate"},
                  {static_cast<double>(cluster.gpu.memory_bytes), "the GPU's memory"},
                  {cluster.pcie.bytes_per_s, "the pcie rate"}};
    for (const auto& [value, name] : needed) {
        if (value <= 0) {
            return fmt::format("{} must be more than 0", name);
        }
    }
    if (cluster.nvlink.domain_gpus > 1 && cluster.nvlink.bytes_per_s <= 0) {
        return "an nvlink domain of several GPUs needs a rate: set gbs in [nvlink], or domain_gpus "
               "1";
    }
    const std::uint32_t domain = cluster.nvlink.domain_gpus;
    const std::uint32_t node = cluster.gpus_per_node;
    if (domain > node ? domain % node != 0 : node % domain != 0) {
        return fmt::format(
            "nvlink domain_gpus {} must divide the {} GPUs of a node or be a multiple of them",
            domain, node);
    }
    if (cluster.fabric.failed_planes >= cluster.fabric.planes) {
        return fmt::format("failed_planes must be less than planes, of which there {}",
                           cluster.fabric.planes == 1
                               ? std::string("is 1: set planes in [fabric]")
                               : fmt::format("are {}", cluster.fabric.planes));
    }
    if (cluster.fabric.link_layer == LinkLayer::kRoce && cluster.fabric.sharp) {
        return "Ethernet switches do not aggregate: leave out sharp, or take link_layer infiniband";
    }
    return std::nullopt;
}

std::optional<std::string> find_cut_domain(const Cluster& cluster) {
    const std::uint32_t each = cluster.domain_nodes();
    const std::uint32_t nodes = cluster.nodes();
    if (nodes <= each || nodes % each == 0) {
        return std::nullopt;
    }
    return fmt::format(
        "{} nodes of {} leave its last NVLink domain of {} incomplete, and all domains of an "
        "operation are alike: take {} or {} nodes",
        nodes, cluster.name, each, nodes / each * each, (nodes / each + 1) * each);
}

}  // namespace softib::plan
