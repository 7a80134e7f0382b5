// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fabric of a cluster: one of its planes, to be counted or to carry messages.

#include <expected>

#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "plan/cluster/cluster.h"

namespace softib::plan {

/// Returns the description of one plane. A switch with `radix` ports of a NIC's rate has `planes`
/// times as many of a plane's rate, up to the most that its kind can have: 254 on InfiniBand, whose
/// port numbers have 8 bits, and 512 on Ethernet. A cluster that names a radix means the ports of a
/// plane.
topo::Spec plane_of(const Cluster& cluster);

/// Generates one plane to be counted. Ethernet's have neither the limits of InfiniBand's port
/// numbers nor those of its LIDs.
std::expected<topo::Fabric, topo::Error> counted_plane(const Cluster& cluster);

/// Returns the description of one plane for a model of the network, whose switches have 254 ports
/// at most: a plane with larger ones has more of them.
topo::Spec modelled_plane_of(const Cluster& cluster);
/// Generates one plane for a model of the network.
std::expected<topo::Fabric, topo::Error> modelled_plane(const Cluster& cluster);

}  // namespace softib::plan
