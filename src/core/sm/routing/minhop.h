// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Addresses and min-hop routes for a whole fabric, computed at bring-up. Pure: graph in, tables
// out; the caller writes the tables where the data path reads them.

#include <cstdint>
#include <expected>
#include <vector>

#include "core/topo/fabric.h"

namespace softib::sm {

inline constexpr std::uint8_t kLftNoPath = 0xFF;

struct Routes {
    /// By node index: the HCA's or router's port 1 LID, or the switch's port 0 LID.
    std::vector<Lid> lids;
    Lid lid_max;
    /// By node index (empty for HCAs and routers): out port by DLID, lid_max.value + 1 entries,
    /// kLftNoPath where the switch has no route, 0 for the switch itself.
    std::vector<std::vector<std::uint8_t>> lfts;
};

/// HCAs get the low LIDs in node order, starting at 1, switches follow, then routers; but where
/// every node of a dumped fabric brings a LID of its own, they keep those. Among equally short
/// next hops the least used out port wins, ties by port number.
std::expected<Routes, topo::Error> route_minhop(const topo::Fabric& fabric);

}  // namespace softib::sm
