// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes a fabric into a new arena: hosts, adapters, switches and cables, as they are when the
// power has just come on. Ports are down and no table leads anywhere; what the nodes' managers
// write later, an ArenaWriter brings here.

#include <cstdint>
#include <vector>

#include "core/topo/fabric.h"
#include "runtime/shm/arena.h"
#include "spec/ethernet_ports.h"

namespace softib::live {

struct BuildOptions {
    std::uint64_t arena_bytes = arena_bytes_default();
    DataPath data_path = DataPath::kDirect;
    std::vector<spec::EthernetPort>
        ethernet_ports{};  ///< Of each HCA; empty: they are on InfiniBand.
};

/// HCAs stand in the order of their hosts, switches in node order. On failure base is nullptr and
/// errno is set; ENAMETOOLONG: a name does not fit its record.
Arena build_arena(const topo::Fabric& fabric, const BuildOptions& options);

/// Where each node of the fabric stands in the arena's tables, by node index.
std::vector<NodeRef> place_nodes(const topo::Fabric& fabric);

}  // namespace softib::live
