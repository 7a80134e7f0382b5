// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the ends must hear of the event that was just handled. An engine fills it, and its
// driver (network.h) empties it after each event.

#include <cstdint>
#include <vector>

#include "net/plant/packet.h"

namespace softib::net {

struct Outbox {
    struct AtPort {
        std::uint32_t port;
        Packet packet;
    };
    struct Copied {
        Packet packet;
        std::uint32_t more;
    };
    struct Dropped {
        Packet packet;
        TimePs at;
    };
    struct Refused {
        std::uint32_t port;
        bool inbound;
        Packet packet;
    };
    struct Timer {
        std::uint32_t port;
        std::uint32_t word;
    };

    /// The event has brought `taken.port` a packet.
    bool has_taken = false;
    AtPort taken{kNone, {}};
    /// The event is a timer.
    bool has_timer = false;
    Timer timer{};
    std::vector<AtPort> left;           ///< Injected packets that have begun to leave.
    std::vector<Copied> copied;         ///< Packets with a tag of which `more` copies were made.
    std::vector<Dropped> dropped;       ///< Packets with a tag that were dropped.
    std::vector<AtPort> tapped;         ///< Packets that came in at a tapped port.
    std::vector<Refused> refused;       ///< Packets that a guard refuses and that are dropped.
    std::vector<std::uint32_t> coming;  ///< Packets that HCAs will get soon, to prefetch.
};

}  // namespace softib::net
