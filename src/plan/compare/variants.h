// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Variants of a cluster that differ in one thing, for comparisons.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "net/sim/failures.h"
#include "plan/cluster/cluster.h"

namespace softib::plan {

/// A cluster that differs from the others in one thing.
struct Variant {
    std::string name;
    Cluster cluster;
    std::vector<net::Failure> failures = {};
    std::string note = {};
    std::uint32_t leaf_ports = 0;  ///< Ports of a leaf switch that is bought; 0: as generated.
};

/// Returns the fabric of a variant with the leaf switches that are bought, some of whose ports may
/// be free.
std::expected<topo::Fabric, topo::Error> fabric_of(const Variant& variant);

/// Returns the cluster with another shape of its fabric, which has the defaults of that shape.
Cluster with_shape(Cluster cluster, topo::Shape shape);
/// Returns the cluster with `down` cables to hosts for each cable above a leaf, built of the same
/// switches: leaves take more hosts, so that there are fewer of them and of the switches above.
Cluster with_taper(Cluster cluster, std::uint32_t down);

/// Returns variants with less and less bandwidth above leaf switches, by the name of their
/// oversubscription.
std::vector<Variant> tapered(const Cluster& cluster);
/// Returns variants with links from EDR to GDR, each with switches of its own radix and PCIe that
/// is fast enough.
std::vector<Variant> of_generations(const Cluster& cluster);
/// Returns trees, rails, dragonflies, a torus and a HyperX for the same hosts.
std::vector<Variant> of_shapes(const Cluster& cluster);
/// Returns InfiniBand and RoCE, full and oversubscribed.
std::vector<Variant> of_link_layers(const Cluster& cluster);

}  // namespace softib::plan
