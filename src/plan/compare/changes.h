// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Changes of a cluster that comparisons try. Internal to this folder and to the answers.

#include <cstdint>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/compare/variants.h"

namespace softib::plan {

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

/// Returns NICs in 1, 2, 4 and 8 planes, and in 8 of which one has failed.
std::vector<Variant> of_planes(const Cluster& cluster);

}  // namespace softib::plan
