// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A cluster of GPUs as the planner sees it: what a GPU computes, how GPUs reach each other inside
// an NVLink domain, how they reach the HCAs of their node, and the fabric that joins the nodes. It
// is a value; presets.h has clusters that exist, spec/cluster reads one from a TOML file.
//
// Hosts of the fabric are nodes, and HCA i of a host is NIC (rail) i of the node. Rates are bytes
// per second in one direction unless a name says otherwise.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/topo/fabric.h"

namespace softib::plan {

/// The types that matrix units multiply.
enum class Precision : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8, kFp4 };
inline constexpr std::array kPrecisions{Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                        Precision::kBf16, Precision::kFp8,  Precision::kFp4};
const char* to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view text);
/// Bytes of one number; FP4 takes half a byte.
double bytes_of(Precision precision);

struct Gpu {
    std::string name = {};
    /// Peak rates by Precision in FLOP/s, dense (without structured sparsity); 0: not supported.
    std::array<double, kPrecisions.size()> peak_flops = {};
    std::uint64_t memory_bytes = 0;  ///< What the driver reports as the total.
    double memory_bytes_per_s = 0;
    std::uint32_t sms = 0;                 ///< Streaming multiprocessors.
    std::uint32_t compute_capability = 0;  ///< 80, 90, 100: NCCL's tuning goes by it.
    double power_w = 0;                    ///< Of the module, at most.

    double peak(Precision precision) const {
        return peak_flops[static_cast<std::size_t>(precision)];
    }
};

/// GPUs that load and store each other's memory: those of a node, or of several (NVL72).
struct NvLink {
    std::uint32_t domain_gpus = 8;  ///< GPUs of one domain; 1: there is no NVLink.
    double bytes_per_s = 0;         ///< Of one GPU.
    double latency_us = 0;          ///< One way, from a store to its arrival.
    std::uint32_t links = 0;        ///< Of one GPU.
    bool switched = true;           ///< NVSwitch: every pair at full rate.
    bool nvls = false;              ///< NVSwitch adds up and multicasts (NVLink SHARP).
};

struct Pcie {
    double bytes_per_s = 0;  ///< Between a GPU and its NIC.
    double latency_us = 0;   ///< One way.
};

enum class LinkLayer : std::uint8_t { kInfiniBand, kRoce };
const char* to_string(LinkLayer layer);

/// The network between nodes, as the simulator takes it.
struct ClusterFabric {
    topo::Spec spec = {};  ///< `hosts` are nodes, `hcas_per_host` NICs of each.
    LinkLayer link_layer = LinkLayer::kInfiniBand;
    std::string engine = "auto";  ///< Of routing.
    bool adaptive = true;         ///< Switches choose among ports that the engine found equal.
    bool sharp = false;           ///< Switches aggregate.
    std::uint16_t mtu = 4096;
    double speed_factor = 1;  ///< Links carry this many times their generation's rate: GDR is XDR
                              ///< twice.
    double cable_m = 5;       ///< Length that a cable has on average, for delays.
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
    double node_power_w = 0;  ///< Everything of a node, at most.

    std::uint32_t nodes() const { return fabric.spec.hosts; }
    std::uint32_t nics_per_node() const { return fabric.spec.hcas_per_host; }
    std::uint32_t gpus() const { return nodes() * gpus_per_node; }
    /// Nodes whose GPUs share one NVLink domain; 1 where a domain is a node or less.
    std::uint32_t domain_nodes() const {
        return nvlink.domain_gpus > gpus_per_node ? nvlink.domain_gpus / gpus_per_node : 1;
    }
    /// GPUs of one NVLink domain, as far as the cluster has them.
    std::uint32_t domain_gpus() const {
        return nvlink.domain_gpus < gpus() ? nvlink.domain_gpus : gpus();
    }
    /// What one NIC sends as the sender's data: its link without headers, or PCIe if that is less.
    double nic_bytes_per_s() const;
    /// The share of NICs that a GPU has: of the fabric, without what NVLink or PCIe allow.
    double fabric_bytes_per_gpu_s() const {
        return nic_bytes_per_s() * nics_per_node() / gpus_per_node;
    }
};

/// Part of a link's data rate that carries a sender's bytes in packets of this MTU in the middle of
/// an RDMA WRITE.
double wire_efficiency(LinkLayer layer, std::uint16_t mtu);

/// The same cluster with its first `nodes` nodes; its fabric is sized anew.
Cluster with_nodes(Cluster cluster, std::uint32_t nodes);

/// Says what does not fit together: a number that is 0, a domain that is no multiple of nodes.
std::optional<std::string> find_fault(const Cluster& cluster);

}  // namespace softib::plan
