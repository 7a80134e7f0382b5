// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a node passes on a directed-route packet (IBA vol. 1, 14.2.2): the packet itself says by
// which port it leaves every node on its way, and remembers by which it came.

#include <cstdint>

#include "core/wire/mad.h"

namespace softib::mad {

struct RouteStep {
    enum Kind : std::uint8_t {
        kDiscard,
        kForward,    ///< Out of `port`.
        kByLid,      ///< The directed part is over: on by DrDLID, or DrSLID on the way back.
        kToAgent,    ///< A request that has arrived.
        kToManager,  ///< An answer that is back with who asked.
    };
    Kind kind = kDiscard;
    std::uint8_t port = 0;
};

/// Takes the packet one node further and changes its hop pointer and return path. `in_port` 0: it
/// starts here, or came by LID.
RouteStep step_directed_route(wire::MadBytes& smp, std::uint8_t in_port, bool is_switch,
                              std::uint8_t port_count);

}  // namespace softib::mad
