// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The nodes of a described fabric, cabled and powered, as their managers find them: without LIDs,
// without routes, ports in Init.

#include "core/agent/mesh.h"
#include "core/topo/fabric.h"

namespace softib::agent {

/// A node of the fabric as its managers find it.
NodeSpec node_spec(const topo::Fabric& fabric, const topo::Node& node);

/// Node ids are the fabric's node indices. HCAs are described as "HOST DEVICE", as Linux does.
/// `private_tables`: as NodeSpec has it, for all switches.
Mesh make_mesh(const topo::Fabric& fabric, CounterSource& counters, bool private_tables = false);

}  // namespace softib::agent
