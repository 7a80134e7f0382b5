// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/base/nearest.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

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
    {"superpod-h100", "SU", 32, 64},      {"superpod-a100", "SU", 20, 28},
    {"meta-ib-24k", "node", 1, 3072},     {"meta-roce-24k", "pod", 192 * 2, 8},
    {"ebay-h100", "node", 1, 256},        {"h800-2048", "node", 1, 256},
    {"hgx-h100", "node", 1, 512},         {"hgx-h200", "node", 1, 512},
    {"nvl72-ndr", "rack", 18, 128},       {"nvl72-gb300", "rack", 18, 128},
    {"hgx-b200", "node", 1, 512},         {"nvl72-xdr", "rack", 18, 128},
    {"hgx-b300", "node", 1, 512},         {"nvl72-8planes", "rack", 18, 1820},
    {"azure-nd-h100-v5", "node", 1, 512}, {"azure-nd-h200-v5", "node", 1, 512},
    {"aws-p5", "node", 1, 512},           {"aws-p5en", "node", 1, 512},
    {"aws-p6-b200", "node", 1, 512},      {"aws-p6-b300", "node", 1, 512},
    {"gcp-a3-mega", "node", 1, 512},      {"gcp-a3-ultra", "node", 1, 512},
    {"gcp-a4", "node", 1, 512},           {"oci-h100", "node", 1, 512},
    {"oci-b200", "node", 1, 512}};

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
        std::vector<Gpu> result;
        std::ranges::transform(sold_gpus(), std::back_inserter(result), &SoldGpu::gpu);
        for (Gpu& gpu : result) {
            gpu.rates = rates_of(gpu.compute_capability);
        }
        return result;
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

const SoldGpu& sold(const Gpu& gpu) {
    const auto found =
        std::ranges::find(sold_gpus(), gpu.name, [](const SoldGpu& each) { return each.gpu.name; });
    SOFTIB_CHECK(found != sold_gpus().end());  // All GPUs are from there.
    return *found;
}

Cluster made_of(std::string_view gpu) {
    Cluster cluster;
    cluster.gpu = *std::ranges::find(gpus(), gpu, &Gpu::name);
    cluster.nvlink = sold(cluster.gpu).nvlink;
    cluster.pcie = sold(cluster.gpu).pcie;
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
