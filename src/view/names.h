// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Names, for people, of nodes and states in the arena.

#include <string>

#include "core/base/ids.h"
#include "runtime/shm/arena.h"

namespace softib::view {

/// Returns "leaf0" or "h0/mlx5_0"; "-" if the reference is to no node.
std::string node_name(const shm::Arena& arena, const shm::NodeRef& node);

/// Returns the name of the node that has a LID; "-" if none has it.
std::string node_name(const shm::Arena& arena, Lid lid);

/// Returns "Active", "Down", ...
const char* to_string(PortState state);

}  // namespace softib::view
