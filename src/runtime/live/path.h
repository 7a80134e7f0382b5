// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows the forwarding tables from one HCA to a LID. What the tables do not lead to cannot be
// reached: there is no other way through the fabric.

#include <cstdint>
#include <optional>

#include "runtime/live/arena.h"

namespace softib::live {

struct Path {
    std::uint32_t hca;     ///< Where it ends.
    std::uint32_t hops;    ///< Switches passed.
};

inline constexpr std::uint32_t kHopsMax = 64;

/// Nothing when a port on the way is not active, a table has no entry, or the way is a loop.
std::optional<Path> walk_path(const Arena& arena, std::uint32_t from_hca, Lid dlid);

/// The same for a LID of a switch or an HCA: which node it leads to.
std::optional<NodeRef> walk_to_node(const Arena& arena, std::uint32_t from_hca, Lid dlid);

}  // namespace softib::live
