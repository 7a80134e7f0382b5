// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The bytes of a MAD on a trunk: the fields of its packet that matter (LIDs, P_Key, QPNs, Q_Key,
// service level), then the MAD.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/agent/mesh.h"

namespace softib::agent {

inline constexpr std::size_t kOutboundBytes = 20 + wire::kMadBytes;

std::array<std::uint8_t, kOutboundBytes> emit_outbound(const Outbound& outbound);
/// Returns the MAD that came in over the trunk of `node`; std::nullopt if the bytes are malformed.
std::optional<Outbound> parse_outbound(std::span<const std::uint8_t> bytes, NodeId node);

}  // namespace softib::agent
