// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A port of a node, by the number that the mesh (mesh.h) has given the node and by its port number.

#include <cstdint>

#include "core/mad/packet.h"

namespace softib::agent {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = UINT32_MAX;

struct End {
    NodeId node = kNoNode;
    std::uint8_t port = 0;
};

/// A MAD that has come to a node and that no agent of the node answers. It is for a service or a
/// program at port `at` (port 0 of a switch).
struct Delivery {
    End at;
    mad::Packet packet;
};

}  // namespace softib::agent
