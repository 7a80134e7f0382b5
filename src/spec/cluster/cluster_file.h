// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Clusters and prices from TOML files.
//
//   base = "superpod-h100:4"     # a preset that the rest changes
//   nodes = 16
//   gpu = "H200"                 # of plan::gpus(); its NVLink and PCIe come along
//   [gpu_rates]                  # another GPU: TFLOP/s, GiB, GB/s, W
//   bf16 = 1200
//   [nvlink]
//   domain_gpus = 8
//   [fabric]                     # keys of `softib up`, and those of a cluster
//   oversubscription = "2:1"
//
// Errors begin with FILE:LINE:COLUMN and name the nearest valid key.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/cluster/prices.h"

namespace softib::spec {

/// Parses a cluster. What the file and its base do not say is as in the preset "hgx-h200:2".
std::expected<plan::Cluster, std::string> parse_cluster(std::string_view text,
                                                        const std::string& file);
/// Returns a preset by its name, the cluster of a file if the name ends with ".toml" or has a '/',
/// or the cluster that the name describes itself, if it is a text of several lines.
std::expected<plan::Cluster, std::string> find_cluster(const std::string& name);
/// Does the same, and takes the first `nodes` nodes of it; 0: all. A preset that is named without a
/// size becomes as large as that. Each NIC is split over `planes` planes; 0: as the cluster says.
std::expected<plan::Cluster, std::string> find_cluster(const std::string& name, std::uint32_t nodes,
                                                       std::uint32_t planes = 0);

/// Returns the cluster with another value of one key: "nodes", "fabric.generation", or
/// "generation" alone. The error continues "KEY=VALUE: ".
std::expected<plan::Cluster, std::string> change_cluster(plan::Cluster cluster,
                                                         const std::string& key,
                                                         const std::string& value);
/// Returns the key of a cluster that a name means, with its section: "generation" is
/// "fabric.generation". The error names the nearest one.
std::expected<std::string, std::string> find_cluster_key(const std::string& name,
                                                         std::vector<std::string_view> others);

/// Returns the default prices, with those replaced that the file names. A price of all GPUs, NICs
/// or ports also replaces those of single kinds that the file does not name.
std::expected<plan::Prices, std::string> parse_prices(std::string_view text,
                                                      const std::string& file);
std::expected<plan::Prices, std::string> load_prices(const std::string& file);

}  // namespace softib::spec
