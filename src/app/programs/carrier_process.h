// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

#include "app/fabric/fabric_dir.h"
#include "core/topo/graph.h"
#include "runtime/carrier/carrier.h"

namespace softib::app {

/// Starts the carrier, the process that moves the fabric's packets, and returns its pid. It is a
/// child of the daemon and ends with it. The daemon's socket must be open; the carrier attaches
/// once the daemon serves it.
std::expected<pid_t, std::string> start_carrier(const FabricRef& fabric, const topo::Fabric& graph,
                                                const carrier::CarrierOptions& options);

}  // namespace softib::app
