// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes the nodes of a described fabric, cabled and powered, as a subnet manager first finds them:
// without LIDs and routes, and with ports in Init.

#include "core/agent/mesh.h"
#include "core/topo/graph.h"

namespace softib::agent {

/// Returns what the mesh must know of a node of the fabric in order to build it.
NodeSpec node_spec(const topo::Fabric& fabric, const topo::Node& node);

/// Returns a mesh of all nodes of the fabric. Node ids are the fabric's node indices. The
/// NodeDescription of an HCA is "HOST DEVICE", as Linux writes it. `private_tables` is
/// NodeSpec::private_tables of every switch.
Mesh make_mesh(const topo::Fabric& fabric, CounterSource& counters, bool private_tables = false);

}  // namespace softib::agent
