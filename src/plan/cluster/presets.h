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

/// "A100", "H100", "H800", "H200", "B200", "GB200".
const std::vector<Gpu>& gpus();
/// Case does not matter; the error names the nearest one.
std::expected<Gpu, std::string> find_gpu(std::string_view name);

/// The NVLink domain of a node or rack with this GPU, as its maker sells it.
NvLink nvlink_of(const Gpu& gpu);

/// PCIe between a GPU and its NIC: what a x16 slot moves with payloads of 256 bytes.
Pcie pcie_of(const Gpu& gpu);

struct Preset {
    std::string name = {};
    std::string unit = {};           ///< What its size counts: "SU", "node", "rack".
    std::uint32_t size_default = 0;  ///< In units.
    std::uint32_t size_max = 0;
    std::string title = {};
    std::string source = {};
};
const std::vector<Preset>& presets();

/// "superpod-h100", or with a size in the preset's units: "superpod-h100:16".
std::expected<Cluster, std::string> find_preset(std::string_view name);

}  // namespace softib::plan
