// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/nearest.h"
#include "core/topo/spec.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr std::uint64_t kMebi = 1U << 20;

/// Returns GPUs with figures of NVIDIA's data sheets: dense rates of the SXM modules. The memory is
/// what nvidia-smi shows.
std::vector<Gpu> make_gpus() {
    return {
        {.name = "A100",
         .peak_flops = {19.5 * kTera, 156 * kTera, 312 * kTera, 312 * kTera, 0, 0},
         .memory_bytes = 81920 * kMebi,
         .memory_bytes_per_s = 2039 * kGiga,
         .sms = 108,
         .compute_capability = 80,
         .power_w = 400},
        {.name = "H100",
         .peak_flops = {67 * kTera, 494.7 * kTera, 989.4 * kTera, 989.4 * kTera, 1978.9 * kTera, 0},
         .memory_bytes = 81559 * kMebi,
         .memory_bytes_per_s = 3350 * kGiga,
         .sms = 132,
         .compute_capability = 90,
         .power_w = 700},
        {.name = "H800",
         .peak_flops = {67 * kTera, 494.7 * kTera, 989.4 * kTera, 989.4 * kTera, 1978.9 * kTera, 0},
         .memory_bytes = 81559 * kMebi,
         .memory_bytes_per_s = 3350 * kGiga,
         .sms = 132,
         .compute_capability = 90,
         .power_w = 700},
        {.name = "H200",
         .peak_flops = {67 * kTera, 494.7 * kTera, 989.4 * kTera, 989.4 * kTera, 1978.9 * kTera, 0},
         .memory_bytes = 143771 * kMebi,
         .memory_bytes_per_s = 4800 * kGiga,
         .sms = 132,
         .compute_capability = 90,
         .power_w = 700},
        {.name = "B200",
         .peak_flops = {75 * kTera, 1125 * kTera, 2250 * kTera, 2250 * kTera, 4500 * kTera,
                        9000 * kTera},
         .memory_bytes = 183359 * kMebi,
         .memory_bytes_per_s = 7700 * kGiga,
         .sms = 148,
         .compute_capability = 100,
         .power_w = 1000},
        {.name = "GB200",
         .peak_flops = {80 * kTera, 1250 * kTera, 2500 * kTera, 2500 * kTera, 5000 * kTera,
                        10000 * kTera},
         .memory_bytes = 189471 * kMebi,
         .memory_bytes_per_s = 8000 * kGiga,
         .sms = 152,
         .compute_capability = 100,
         .power_w = 1200},
    };
}

const Gpu& gpu(std::string_view name) {
    return *std::ranges::find(gpus(), name, &Gpu::name);
}

/// Returns a cluster of nodes with 8 GPUs and a NIC for each GPU.
Cluster hgx(std::string_view gpu_name, std::uint32_t nodes, topo::Shape shape,
            topo::Generation generation) {
    Cluster cluster;
    cluster.gpu = gpu(gpu_name);
    cluster.gpus_per_node = 8;
    cluster.nvlink = nvlink_of(cluster.gpu);
    cluster.pcie = pcie_of(cluster.gpu);
    cluster.fabric.spec.shape = shape;
    cluster.fabric.spec.hosts = nodes;
    cluster.fabric.spec.hcas_per_host = 8;
    cluster.fabric.spec.generation = generation;
    cluster.fabric.sharp = generation != topo::Generation::kEdr;
    return cluster;
}

/// Returns a SuperPOD of scalable units with 32 nodes of 8 rails. With up to 4 units, the subnet
/// manager's host takes the ports of one node (RA-11333, table 4); larger SuperPODs have other
/// ports for it (table 3).
Cluster superpod_h100(std::uint32_t units) {
    constexpr std::uint32_t kNodes = 32;
    const std::uint32_t nodes = units <= 4 ? units * kNodes - 1 : units * kNodes;
    Cluster cluster = hgx("H100", nodes, topo::Shape::kSuperPod, topo::Generation::kNdr);
    cluster.node_power_w = 10'200;
    return cluster;
}

Cluster superpod_a100(std::uint32_t units) {
    Cluster cluster = hgx("A100", units * 20, topo::Shape::kSuperPod, topo::Generation::kHdr);
    cluster.node_power_w = 6'500;
    return cluster;
}

/// Returns pods of 192 racks with 16 GPUs each. Within a pod all reach each other at full rate;
/// between pods there is a seventh of it.
Cluster meta_roce(std::uint32_t pods) {
    Cluster cluster = hgx("H100", pods * 192 * 2, topo::Shape::kFatTree, topo::Generation::kNdr);
    cluster.fabric.link_layer = LinkLayer::kRoce;
    cluster.fabric.sharp = false;
    topo::Spec& spec = cluster.fabric.spec;
    spec.radix = 220;
    spec.levels = 3;
    spec.hosts_per_switch = 16;
    spec.spine_oversubscription = {.down = 7, .up = 1};
    return cluster;
}

Cluster meta_infiniband(std::uint32_t nodes) {
    return hgx("H100", nodes, topo::Shape::kSuperPod, topo::Generation::kNdr);
}

Cluster ebay(std::uint32_t nodes) {
    return hgx("H100", nodes, topo::Shape::kRailOptimized, topo::Generation::kNdr);
}

Cluster h800(std::uint32_t nodes) {
    return hgx("H800", nodes, topo::Shape::kRailOptimized, topo::Generation::kNdr);
}

Cluster hgx_h200(std::uint32_t nodes) {
    return hgx("H200", nodes, topo::Shape::kRailOptimized, topo::Generation::kNdr);
}

Cluster hgx_b200(std::uint32_t nodes) {
    Cluster cluster = hgx("B200", nodes, topo::Shape::kRailOptimized, topo::Generation::kNdr);
    cluster.node_power_w = 14'300;
    return cluster;
}

/// Returns racks of 18 trays with 4 GPUs and 4 NICs each. NVLink joins all GPUs of a rack.
Cluster nvl72_xdr(std::uint32_t racks) {
    Cluster cluster = hgx("GB200", racks * 18, topo::Shape::kRailOptimized, topo::Generation::kXdr);
    cluster.gpus_per_node = 4;
    cluster.fabric.spec.hcas_per_host = 4;
    cluster.node_power_w = 132'000.0 / 18;
    return cluster;
}

struct Maker {
    Preset preset;
    Cluster (*make)(std::uint32_t);
};

const std::vector<Maker>& makers() {
    static const std::vector<Maker> all{
        {{"superpod-h100", "SU", 8, 64, "DGX SuperPOD: units of 32 DGX H100, NDR, rail-optimized",
          "NVIDIA RA-11333, tables 3 and 4"},
         superpod_h100},
        {{"superpod-a100", "SU", 20, 28, "DGX SuperPOD: units of 20 DGX A100, HDR, rail-optimized",
          "NVIDIA RA-10043 (Selene has 28 units)"},
         superpod_a100},
        {{"meta-ib-24k", "node", 3072, 3072, "Meta's InfiniBand cluster: 24,576 H100, NDR",
          "Meta, Building Meta's GenAI Infrastructure, 2024; radix and levels of Quantum-2 "
          "assumed"},
         meta_infiniband},
        {{"meta-roce-24k", "pod", 8, 8, "Meta's RoCE cluster: 24,576 H100, 400GbE, pods share 1:7",
          "Llama 3 herd, 3.3.1; spines and cores of one radix assumed"},
         meta_roce},
        {{"ebay-h100", "node", 60, 256, "eBay's e-Llama cluster: 60 x 8 H100, InfiniBand",
          "eBay, Scaling LLMs for e-commerce, 2025; NDR and rails assumed"},
         ebay},
        {{"h800-2048", "node", 256, 256, "2,048 H800 as DeepSeek-V3's: 8 NDR NICs a node",
          "DeepSeek-V3 report, 3.1; rails assumed"},
         h800},
        {{"hgx-h200", "node", 32, 512, "Nodes of 8 H200 with 8 NDR NICs, rail-optimized",
          "NVIDIA data sheets"},
         hgx_h200},
        {{"hgx-b200", "node", 64, 512, "Nodes of 8 B200 with 8 NDR NICs, rail-optimized",
          "NVIDIA data sheets; the machine of validation rows C1 and C2"},
         hgx_b200},
        {{"nvl72-xdr", "rack", 8, 128, "NVL72 racks of 72 GB200 with an XDR NIC for each GPU",
          "NVIDIA data sheets of GB200 NVL72 and Quantum-X800; rails assumed"},
         nvl72_xdr},
    };
    return all;
}

}  // namespace

const std::vector<Gpu>& gpus() {
    static const std::vector<Gpu> all = make_gpus();
    return all;
}

std::expected<Gpu, std::string> find_gpu(std::string_view name) {
    std::string wanted(name);
    std::ranges::transform(wanted, wanted.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    std::vector<std::string_view> names;
    for (const Gpu& each : gpus()) {
        if (each.name == wanted) {
            return each;
        }
        names.emplace_back(each.name);
    }
    return std::unexpected(unknown_name("GPU", wanted, names));
}

NvLink nvlink_of(const Gpu& gpu) {
    // Latency of one way through an NVSwitch: 822 to 829 ns on H100 (MSCCL++, table 1), 792 on
    // GB200. Other GPUs are assumed to have the same.
    constexpr double kHopper = 0.825;
    constexpr double kBlackwell = 0.792;
    if (gpu.name == "A100") {
        return {8, 300 * kGiga, kHopper, 12, true, false};
    }
    if (gpu.name == "H800") {
        return {8, 200 * kGiga, kHopper, 8, true, true};
    }
    if (gpu.name == "B200") {
        return {8, 900 * kGiga, kBlackwell, 18, true, true};
    }
    if (gpu.name == "GB200") {
        return {72, 900 * kGiga, kBlackwell, 18, true, true};
    }
    return {8, 450 * kGiga, kHopper, 18, true, true};
}

Pcie pcie_of(const Gpu& gpu) {
    constexpr double kGen4 = 26 * kGiga;
    constexpr double kGen5 = 55 * kGiga;
    constexpr double kGen6 = 110 * kGiga;
    return {.bytes_per_s = gpu.name == "A100"    ? kGen4
                           : gpu.name == "GB200" ? kGen6
                                                 : kGen5,
            .latency_us = 0.35};
}

const std::vector<Preset>& presets() {
    static const std::vector<Preset> all = [] {
        std::vector<Preset> result;
        for (const Maker& maker : makers()) {
            result.push_back(maker.preset);
        }
        return result;
    }();
    return all;
}

std::expected<Cluster, std::string> find_preset(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    std::vector<std::string_view> names;
    for (const auto& [preset, make] : makers()) {
        names.emplace_back(preset.name);
        if (preset.name != name) {
            continue;
        }
        std::uint64_t size = preset.size_default;
        if (colon != text.npos) {
            const auto given = parse_count(text.substr(colon + 1));
            if (!given || *given == 0 || *given > preset.size_max) {
                return std::unexpected(
                    fmt::format("the size of preset {} must be 1 to {} ({}s), not '{}'", name,
                                preset.size_max, preset.unit, text.substr(colon + 1)));
            }
            size = *given;
        }
        Cluster cluster = make(static_cast<std::uint32_t>(size));
        cluster.name = text;
        cluster.title = preset.title;
        cluster.source = preset.source;
        cluster.fabric.spec.name = name;
        return cluster;
    }
    return std::unexpected(unknown_name("preset", name, names));
}

}  // namespace softib::plan
