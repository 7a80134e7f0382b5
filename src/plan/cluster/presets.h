// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// GPUs and clusters that exist, with the source of their figures.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cluster/cluster.h"

namespace softib::plan {

/// A GPU as it is sold.
struct SoldGpu {
    Gpu gpu = {};
    NvLink nvlink = {};  ///< That of the node or rack.
    Pcie pcie = {};      ///< To its NIC: the rate of an x16 slot with payloads of 256 bytes.
};
/// Returns the GPUs of gpus.toml.
const std::vector<SoldGpu>& sold_gpus();
/// Returns the known GPUs: "A100", "H100", "H800", "H200", "B200", "GB200".
const std::vector<Gpu>& gpus();
/// Returns the GPU of this name, in upper or lower case. The error names the nearest one.
std::expected<Gpu, std::string> find_gpu(std::string_view name);

/// Returns this GPU as it is sold; one of gpus().
const SoldGpu& sold(const Gpu& gpu);

/// Returns a cluster of nodes of this GPU, with the NVLink and PCIe in which it is sold.
Cluster made_of(std::string_view gpu);
/// Returns the clusters of the files in clusters/.
const std::vector<Cluster>& preset_clusters();

/// A family of clusters that differ in size.
struct Preset {
    std::string name = {};
    std::string unit = {};  ///< The unit of its size: "SU", "node", "rack".
    std::uint32_t nodes_per_unit = 0;
    std::uint32_t size_default = 0;  ///< Size in units if none is given.
    std::uint32_t size_max = 0;
    std::string title = {};
    std::string source = {};
};
const std::vector<Preset>& presets();

/// Returns the cluster of "superpod-h100", or with a size in the preset's units:
/// "superpod-h100:16".
std::expected<Cluster, std::string> find_preset(std::string_view name);

}  // namespace softib::plan
