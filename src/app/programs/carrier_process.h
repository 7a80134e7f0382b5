// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

#include "app/fabric/fabric_dir.h"
#include "core/topo/fabric.h"
#include "runtime/carrier/carrier.h"

namespace softib::app {

/// Starts the process that carries the fabric's packets, a child of the daemon that ends with it.
/// The daemon's socket is open; the carrier attaches once the daemon serves.
std::expected<pid_t, std::string> start_carrier(const FabricRef& fabric, const topo::Fabric& graph,
                                                const carrier::CarrierOptions& options);

}  // namespace softib::app
