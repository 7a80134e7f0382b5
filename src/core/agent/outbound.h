// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A MAD on a trunk, in bytes: what of the packet around it counts, then the MAD.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/agent/mesh.h"

namespace softib::agent {

inline constexpr std::size_t kOutboundBytes = 20 + wire::kMadBytes;

std::array<std::uint8_t, kOutboundBytes> emit_outbound(const Outbound& outbound);
/// `node`: where it came in.
std::optional<Outbound> parse_outbound(std::span<const std::uint8_t> bytes, NodeId node);

}  // namespace softib::agent
