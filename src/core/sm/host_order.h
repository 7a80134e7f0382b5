// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The order of hosts that a manager is told which knows the whole fabric beforehand.

#include <cstdint>
#include <map>

namespace softib::topo {
struct Fabric;
}

namespace softib::sm {

/// Returns the position of each HCA, by port GUID, in the order in which programs number them: for
/// ManagerConfig::host_order.
std::map<std::uint64_t, std::uint32_t> host_order_of(const topo::Fabric& fabric);

}  // namespace softib::sm
