// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Names of what stands in the arena, as people know them.

#include <string>

#include "core/base/ids.h"
#include "runtime/shm/arena.h"

namespace softib::view {

/// Returns "leaf0", "h0/mlx5_0", or "-".
std::string node_name(const live::Arena& arena, const live::NodeRef& node);

/// Returns the name of the node that has a LID, or "-".
std::string node_name(const live::Arena& arena, Lid lid);

/// Returns "Active", "Down", ...
const char* to_string(PortState state);

}  // namespace softib::view
