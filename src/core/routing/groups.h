// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

/// By switch: number of its group, as a dragonfly has them. Switches of a group are all, or nearly
/// all, cabled to each other and so have many neighbours in common; switches of different groups
/// have few. Every graph gets some answer: whether it is a dragonfly shows in its routes.
std::vector<std::uint32_t> find_groups(const Graph& graph, const Neighbours& neighbours);

}  // namespace softib::routing
