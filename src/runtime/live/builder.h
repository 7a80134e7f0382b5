// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes a routed fabric into a new arena: the tables that the data path, sysfs and the verbs
// library read. After this every port is Active and every route of the subnet manager is in
// force; there is no other source of truth about the fabric at run time.

#include <cstdint>

#include "core/sm/routing/minhop.h"
#include "core/topo/fabric.h"
#include "runtime/live/arena.h"

namespace softib::live {

struct BuildOptions {
    std::uint64_t arena_bytes = arena_bytes_default();
};

/// HCAs stand in the order of their hosts, switches in node order. On failure base is nullptr and
/// errno is set; ENAMETOOLONG: a name does not fit its record.
Arena build_arena(const topo::Fabric& fabric, const sm::Routes& routes,
                  const BuildOptions& options);

}  // namespace softib::live
