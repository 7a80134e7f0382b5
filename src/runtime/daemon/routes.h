// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "core/agent/mesh.h"
#include "core/sm/manager.h"
#include "runtime/shm/route_file.h"

namespace softib::daemon {

/// Collects the tables of the switches for a RouteFile, which takes milliseconds. The client that
/// asked for them evaluates them (view/routes.h).
shm::RouteFile collect_routes(const agent::Mesh& mesh, std::span<const agent::NodeId> switches,
                              const sm::Manager* manager);

}  // namespace softib::daemon
