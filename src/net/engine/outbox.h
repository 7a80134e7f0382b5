// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the ends (ends.h) must hear of the event that was just handled. An engine fills it, and its
// driver (network.h) empties it after each event: first tell_event(), then tell_rest().

#include <cstdint>
#include <vector>

#include "net/engine/ends.h"
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

    /// Tells the ends of the event: a timer, or a packet that comes to a port. Watchers hear of a
    /// packet before the end that takes it, which then forgets the packet's body.
    template <typename Net, typename E>
    void tell_event(Net& net, E& ends) {
        if (has_timer) {
            has_timer = false;
            ends.timer(net, timer.port, timer.word);
            return;
        }
        if (!tapped.empty() || !refused.empty()) [[unlikely]] {
            tell_watchers(net, ends);
        }
        if (has_taken) {
            deliver(net, ends);
        }
    }
    /// Gives the ends the packet that has come to a port.
    template <typename Net, typename E>
    void deliver(Net& net, E& ends) {
        has_taken = false;
        ends.deliver(net, taken.port, taken.packet);
    }
    /// Tells the ends of packets that have begun to leave, were copied or were dropped, the newest
    /// first. What the ends do may make further packets leave: they hear of those too.
    template <typename Net, typename E>
    void tell_rest(Net& net, E& ends) {
        while (!left.empty()) {
            const AtPort each = left.back();
            left.pop_back();
            ends.sent(net, each.port, each.packet);
        }
        while (!copied.empty()) {
            const Copied each = copied.back();
            copied.pop_back();
            if constexpr (Hears<E, hears::kCopied>) {
                ends.copied(net, each.packet, each.more);
            }
        }
        while (!dropped.empty()) {
            const Dropped each = dropped.back();
            dropped.pop_back();
            if constexpr (Hears<E, hears::kDropped>) {
                ends.dropped(net, each.packet, each.at);
            }
        }
    }

  private:
    template <typename Net, typename E>
    void tell_watchers(Net& net, E& ends) {
        for (const AtPort& each : tapped) {
            if constexpr (Hears<E, hears::kTapped>) {
                ends.tapped(net, each.port, each.packet);
            }
        }
        tapped.clear();
        for (const Refused& each : refused) {
            if constexpr (Hears<E, hears::kRefused>) {
                ends.refused(net, each.port, each.inbound, each.packet);
            }
        }
        refused.clear();
    }
};

}  // namespace softib::net
