// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A cluster of GPUs as the planner sees it: what a GPU computes, how GPUs reach each other inside
// an NVLink domain, how they reach the HCAs of their node, and the fabric that joins the nodes. A
// cluster is a plain value; presets.h has clusters that exist, spec/cluster reads one from a TOML
// file.
//
// Hosts of the fabric are nodes, and HCA i of a host is NIC (rail) i of the node. Rates are bytes
// per second in one direction unless a name says otherwise.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "plan/cluster/rates.h"
#include "plan/cluster/recipe.h"

namespace softib::plan {

struct Gpu {
    std::string name = {};
    /// Peak rates by Precision in FLOP/s, dense (without structured sparsity); 0: not supported.
    std::array<double, kPrecisions.size()> peak_flops = {};
    std::uint64_t memory_bytes = 0;  ///< The total that the driver reports.
    double memory_bytes_per_s = 0;
    std::uint32_t sms = 0;                 ///< Streaming multiprocessors.
    std::uint32_t compute_capability = 0;  ///< 80, 90, 100: NCCL's tuning goes by it.
    double power_w = 0;                    ///< Maximum power of the module.
    double host_bytes_per_s = 0;           ///< Rate to and from the host's memory.
    Rates rates = {};                      ///< What its kernels reach.

    double peak(Precision precision) const {
        return peak_flops[static_cast<std::size_t>(precision)];
    }

    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// GPUs that load and store each other's memory: those of a node, or of several (NVL72).
struct NvLink {
    std::uint32_t domain_gpus = 8;  ///< GPUs of one domain; 1: there is no NVLink.
    double bytes_per_s = 0;         ///< Rate of one GPU.
    double latency_us = 0;          ///< Time from a store to its arrival, one way.
    std::uint32_t links = 0;        ///< NVLink links of one GPU.
    bool switched = true;           ///< Whether an NVSwitch gives every pair the full rate.
    bool nvls = false;              ///< Whether NVSwitches reduce and multicast (NVLink SHARP).

    friend bool operator==(const NvLink&, const NvLink&) = default;
};

/// PCIe between a GPU and its NIC.
struct Pcie {
    double bytes_per_s = 0;
    double latency_us = 0;  ///< One way.

    friend bool operator==(const Pcie&, const Pcie&) = default;
};

enum class LinkLayer : std::uint8_t { kInfiniBand, kRoce };
const char* to_string(LinkLayer layer);

/// The network between nodes, as the simulator takes it.
struct ClusterFabric {
    topo::Spec spec = {};  ///< Shape of the fabric: `hosts` are nodes, `hcas_per_host` their NICs.
    LinkLayer link_layer = LinkLayer::kInfiniBand;
    std::string engine = "auto";  ///< Name of the routing engine.
    bool adaptive = true;  ///< Whether switches choose among ports that the engine found equal.
    bool sharp = false;    ///< Whether switches aggregate (SHARP).
    bool collnet = false;  ///< Whether NCCL lets them: it has a plug-in (training steps alone).
    std::uint16_t mtu = 4096;
    /// Fabrics that share nothing: each NIC has a port in each, with this part of its rate. `spec`
    /// is one of them, with links of the whole rate of a NIC.
    std::uint32_t planes = 1;
    double link_part = 1;  ///< The part of their rate that links have, for a fault that is assumed.
    std::uint32_t failed_planes = 0;  ///< Planes that carry nothing; the others carry all.
    double cable_m = 5;               ///< Average length of a cable, from which its delay follows.

    /// Returns the part of its rate that a NIC has in the planes that work. Traffic is spread
    /// evenly over planes that are alike, so that all of them together are one fabric of this rate.
    double speed_factor() const {
        return link_part * static_cast<double>(planes - failed_planes) / planes;
    }

    friend bool operator==(const ClusterFabric&, const ClusterFabric&) = default;
};

struct Cluster {
    std::string name = {};
    std::string title = {};   ///< One line for people.
    std::string source = {};  ///< Where the figures are published.
    Gpu gpu = {};
    std::uint32_t gpus_per_node = 8;
    NvLink nvlink = {};
    Pcie pcie = {};
    ClusterFabric fabric = {};
    double node_power_w = 0;  ///< Maximum power of a whole node.

    std::uint32_t nodes() const { return fabric.spec.hosts; }
    std::uint32_t nics_per_node() const { return fabric.spec.hcas_per_host; }
    std::uint32_t gpus() const { return nodes() * gpus_per_node; }
    /// Returns how many nodes share one NVLink domain; 1 if a domain is a node or a part of one.
    std::uint32_t domain_nodes() const {
        return nvlink.domain_gpus > gpus_per_node ? nvlink.domain_gpus / gpus_per_node : 1;
    }
    /// Returns the GPUs of one NVLink domain, at most all GPUs of the cluster.
    std::uint32_t domain_gpus() const {
        return nvlink.domain_gpus < gpus() ? nvlink.domain_gpus : gpus();
    }
    /// Returns the rate of data, without headers, of the link of one NIC.
    double link_bytes_per_s() const;
    /// Returns the rate of data that one NIC sends: that of its link, or of PCIe if that is less.
    double nic_bytes_per_s() const;
    /// Returns a GPU's share of the data rate of all NICs of its node.
    double fabric_bytes_per_gpu_s() const {
        return nic_bytes_per_s() * nics_per_node() / gpus_per_node;
    }

    friend bool operator==(const Cluster&, const Cluster&) = default;
};

/// Returns the part of a link's rate that carries payload, the rest being headers, with packets of
/// this MTU in the middle of an RDMA WRITE.
double wire_efficiency(LinkLayer layer, std::uint16_t mtu);

/// Returns the cluster with `nodes` nodes and a fabric of that size.
Cluster with_nodes(Cluster cluster, std::uint32_t nodes);

/// The most ports of a switch of this kind: InfiniBand's port numbers have 8 bits.
constexpr std::uint32_t radix_max(LinkLayer layer) {
    return layer == LinkLayer::kRoce ? 512 : 254;
}
/// Returns the cluster with each NIC split over `planes` planes. Switches keep their rate, and have
/// as many more ports as these are slower, up to radix_max().
Cluster with_planes(Cluster cluster, std::uint32_t planes);

/// Returns what is wrong with a cluster: a number that is 0, an NVLink domain that is neither a
/// part nor a multiple of a node, or SHARP on Ethernet; std::nullopt if nothing is.
std::optional<std::string> find_fault(const Cluster& cluster);
/// Returns why an operation cannot take all nodes, if the last NVLink domain has only some of its
/// own; std::nullopt if all domains are alike.
std::optional<std::string> find_cut_domain(const Cluster& cluster);

/// Returns sentences about what limits a cluster and may surprise its author: PCIe that is slower
/// than the link of its NIC, with the key of a cluster's file that changes it; switches that a
/// model of the network has to replace.
std::vector<std::string> notes_of(const Cluster& cluster);

}  // namespace softib::plan
