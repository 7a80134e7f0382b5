// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes a fabric into a new arena: hosts, HCAs, switches and cables, as they are at power-up.
// Ports are down and forwarding tables are empty; an ArenaWriter copies here what managers write
// later.

#include <cstdint>
#include <vector>

#include "core/topo/graph.h"
#include "runtime/shm/arena.h"
#include "spec/ethernet_ports.h"

namespace softib::daemon {

struct BuildOptions {
    std::uint64_t arena_bytes = shm::arena_bytes_default();
    DataPath data_path = DataPath::kDirect;
    /// An Ethernet port for each HCA; empty: the fabric is InfiniBand.
    std::vector<spec::EthernetPort> ethernet_ports{};
};

/// Makes an arena with HCAs in the order of their hosts, and switches in node order. On failure
/// returns an arena with base == nullptr, and sets errno (ENAMETOOLONG: a name does not fit its
/// record).
shm::Arena build_arena(const topo::Fabric& fabric, const BuildOptions& options);

/// Returns the place in the arena's tables of each node of the fabric, by node index.
std::vector<shm::NodeRef> place_nodes(const topo::Fabric& fabric);

}  // namespace softib::daemon
