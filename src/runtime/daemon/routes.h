// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "core/agent/mesh.h"
#include "core/sm/manager.h"
#include "runtime/shm/route_file.h"

namespace softib::live {

/// Collects what the switches hold beside the arena. That takes milliseconds; what is made of it
/// (view/routes.h) is the asker's own work.
RouteFile collect_routes(const agent::Mesh& mesh, std::span<const agent::NodeId> switches,
                         const sm::Manager* manager);

}  // namespace softib::live
