// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The description of a fabric that a generator makes.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "core/topo/graph.h"

namespace softib::topo {

/// The ratio of cables that lead down to cables that lead up.
struct Taper {
    std::uint32_t down = 1;
    std::uint32_t up = 1;

    bool operator==(const Taper&) const = default;
};

/// Returns the ratio in a text such as "2", "2:1" or "3:2"; std::nullopt if there is none, or if
/// more cables would lead up than down.
std::optional<Taper> parse_taper(const std::string& text);
std::string to_string(const Taper& taper);

/// The description of a fabric to generate. Where a value is 0, the generator chooses the smallest
/// value that fits.
struct Spec {
    std::string name = "default";
    Shape shape = Shape::kSingleSwitch;
    std::uint32_t hosts = 2;
    std::uint32_t hcas_per_host = 1;
    std::uint32_t radix = 0;            ///< Ports per switch; 0: chosen (single switch: as needed).
    std::uint32_t levels = 0;           ///< Trees: 2 or 3; 0: the fewest that fit.
    Taper oversubscription = {};        ///< Trees: oversubscription of the leaves.
    Taper spine_oversubscription = {};  ///< Trees of 3 levels: oversubscription of the spines.
    /// Torus, HyperX: the number of switches in each dimension. Empty: the generator chooses a
    /// near-cubic torus of 2 or 3 dimensions, or a near-square HyperX.
    std::vector<std::uint32_t> dimensions = {};
    /// Torus, HyperX, dragonflies: HCAs per switch (dragonfly+: per leaf). Fat tree: the most HCAs
    /// per leaf; the HCAs of a host then stay together, and a leaf has no more ports than its
    /// cables need.
    std::uint32_t hosts_per_switch = 0;
    std::uint32_t groups = 0;              ///< Dragonflies.
    std::uint32_t switches_per_group = 0;  ///< Dragonfly; dragonfly+: leaves, and as many spines.
    std::uint32_t subnets = 1;             ///< Subnets, over which the hosts are spread evenly.
    std::uint32_t routers = 0;             ///< Routers, each with a port in every subnet.
    std::uint32_t planes = 1;  ///< Fabrics that share nothing; each HCA is one HCA in each.
    Generation generation = Generation::kNdr;
    /// Whether the fabric is only counted, and never runs: switches may then have more ports than
    /// IBA can number, and a subnet more ends than LIDs. Its cables have no port numbers.
    bool on_paper = false;
    std::string device_pattern = "mlx5_{}";  ///< "{}" is replaced by the HCA's index on its host.
    std::string host_pattern = "h{}";

    friend bool operator==(const Spec&, const Spec&) = default;
};

/// Builds the fabric of a description. If hosts have several HCAs, those of one host go to
/// different leaf switches (rails) where the shape allows it and there are enough leaves.
std::expected<Fabric, Error> generate(const Spec& spec);

}  // namespace softib::topo
