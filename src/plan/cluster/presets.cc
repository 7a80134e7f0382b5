// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/nearest.h"
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
        {.name = "B300",
         .peak_flops = {75 * kTera, 1125 * kTera, 2250 * kTera, 2250 * kTera, 4500 * kTera,
                        13500 * kTera},
         .memory_bytes = 275040 * kMebi,
         .memory_bytes_per_s = 7700 * kGiga,
         .sms = 148,
         .compute_capability = 103,
         .power_w = 1100},
        {.name = "GB300",
         .peak_flops = {80 * kTera, 1250 * kTera, 2500 * kTera, 2500 * kTera, 5000 * kTera,
                        15000 * kTera},
         .memory_bytes = 284208 * kMebi,
         .memory_bytes_per_s = 8000 * kGiga,
         .sms = 152,
         .compute_capability = 103,
         .power_w = 1400},
    };
}

const Cluster& named(std::string_view name) {
    const auto found = std::ranges::find(preset_clusters(), name, &Cluster::name);
    SOFTIB_CHECK(found != preset_clusters().end());  // Each family has its file.
    return *found;
}

/// A family by its cluster's name, and its sizes.
struct Family {
    std::string_view name;
    std::string_view unit;
    std::uint32_t nodes_per_unit;
    std::uint32_t size_max;
};
constexpr Family kFamilies[] = {
    {"superpod-h100", "SU", 32, 64},  {"superpod-a100", "SU", 20, 28},
    {"meta-ib-24k", "node", 1, 3072}, {"meta-roce-24k", "pod", 192 * 2, 8},
    {"ebay-h100", "node", 1, 256},    {"h800-2048", "node", 1, 256},
    {"hgx-h100", "node", 1, 512},     {"hgx-h200", "node", 1, 512},
    {"hgx-b300", "node", 1, 512},     {"nvl72-ndr", "rack", 18, 128},
    {"nvl72-gb300", "rack", 18, 128}, {"hgx-b200", "node", 1, 512},
    {"nvl72-xdr", "rack", 18, 128}};

/// Returns the nodes of a preset of this size. With up to 4 units, the subnet manager's host of a
/// SuperPOD of H100 takes the ports of one node (RA-11333, table 4); larger SuperPODs have other
/// ports for it (table 3).
std::uint32_t nodes_of(const Preset& preset, std::uint32_t size) {
    const bool manager = preset.name == "superpod-h100" && size <= 4;
    return size * preset.nodes_per_unit - (manager ? 1 : 0);
}

}  // namespace

const std::vector<Gpu>& gpus() {
    static const std::vector<Gpu> all = [] {
        std::vector<Gpu> made = make_gpus();
        for (Gpu& gpu : made) {
            gpu.rates = rates_of(gpu.compute_capability);
        }
        return made;
    }();
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
    if (gpu.name == "B200" || gpu.name == "B300") {
        return {8, 900 * kGiga, kBlackwell, 18, true, true};
    }
    if (gpu.name == "GB200" || gpu.name == "GB300") {
        return {72, 900 * kGiga, kBlackwell, 18, true, true};
    }
    return {8, 450 * kGiga, kHopper, 18, true, true};
}

Pcie pcie_of(const Gpu& gpu) {
    constexpr double kGen4 = 26 * kGiga;
    constexpr double kGen5 = 55 * kGiga;
    constexpr double kGen6 = 110 * kGiga;
    return {.bytes_per_s = gpu.name == "A100" ? kGen4
                           : gpu.name == "GB200" || gpu.name == "B300" || gpu.name == "GB300"
                               ? kGen6
                               : kGen5,
            .latency_us = 0.35};
}

Cluster made_of(std::string_view gpu) {
    Cluster cluster;
    cluster.gpu = *std::ranges::find(gpus(), gpu, &Gpu::name);
    cluster.nvlink = nvlink_of(cluster.gpu);
    cluster.pcie = pcie_of(cluster.gpu);
    return cluster;
}

const std::vector<Preset>& presets() {
    static const std::vector<Preset> all = [] {
        std::vector<Preset> result;
        for (const Family& family : kFamilies) {
            const Cluster& cluster = named(family.name);
            result.push_back({.name = cluster.name,
                              .unit = std::string(family.unit),
                              .nodes_per_unit = family.nodes_per_unit,
                              .size_default = cluster.nodes() / family.nodes_per_unit,
                              .size_max = family.size_max,
                              .title = cluster.title,
                              .source = cluster.source});
        }
        return result;
    }();
    return all;
}

std::expected<Cluster, std::string> find_preset(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    std::vector<std::string_view> names;
    for (const Preset& preset : presets()) {
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
        Cluster cluster = named(name);
        cluster.fabric.spec.hosts = nodes_of(preset, static_cast<std::uint32_t>(size));
        cluster.name = text;
        cluster.fabric.spec.name = name;
        return cluster;
    }
    return std::unexpected(unknown_name("preset", name, names));
}

}  // namespace softib::plan
