// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A port of a node, by the numbers that a mesh gives them.

#include <cstdint>

#include "core/mad/packet.h"

namespace softib::agent {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

struct End {
    NodeId node = kNoNode;
    std::uint8_t port = 0;
};

/// A MAD that has come to a node and that no agent of the node answers: for a service or a program
/// at this port (of a switch: port 0).
struct Delivery {
    End at;
    mad::Packet packet;
};

}  // namespace softib::agent
