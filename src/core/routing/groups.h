// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

/// Returns, by switch, the group that it would have in a dragonfly, as the lowest switch of the
/// group. Switches of a group are all, or nearly all, cabled to each other and so have many
/// neighbours in common; switches of different groups have few. Every graph gets an answer: only
/// routing shows whether it is a dragonfly.
std::vector<std::uint32_t> find_groups(const Graph& graph, const Neighbours& neighbours);

}  // namespace softib::routing
