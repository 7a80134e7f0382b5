// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a node forwards a directed-route SMP (IBA vol. 1, 14.2.2): the SMP itself says by which port
// it leaves every node on its way, and records by which port it came in.

#include <cstdint>

#include "core/wire/mad/mad.h"

namespace softib::mad {

/// What a node must do with a directed-route SMP.
struct RouteStep {
    enum Kind : std::uint8_t {
        kDiscard,
        kForward,    ///< Send it out of `port`.
        kByLid,      ///< The directed part is over: forward it to DrDLID, or back to DrSLID.
        kToAgent,    ///< It is a request that has arrived: hand it to the agent.
        kToManager,  ///< It is an answer that is back at its requester: hand it to the manager.
    };
    Kind kind = kDiscard;
    std::uint8_t port = 0;
};

/// Returns the next step of an SMP that is at a node, and updates its hop pointer and return path.
/// `in_port` is 0 if the SMP starts at this node or came to it by LID.
RouteStep step_directed_route(wire::MadBytes& smp, std::uint8_t in_port, bool is_switch,
                              std::uint8_t port_count);

}  // namespace softib::mad
