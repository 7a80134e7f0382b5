// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Congestion control of a flow, at its sender. A flow is a queue pair, or all that an HCA sends on
// one service level. An algorithm is a Controller in a file of its own and a row in
// congestion_algorithms.h. A controller has no timers: what time alone changes, it works out when
// it is next asked.

#include <cstdint>
#include <limits>

#include "core/link/rate.h"

namespace softib::link {

struct InjectionControl;

/// What a controller knows of its flow from the beginning.
struct FlowFacts {
    TimePs packet_ps = 0;      ///< Time that a packet of the MTU takes on the sender's link.
    TimePs round_trip_ps = 0;  ///< From such a packet to its ACK while nothing else is under way.
    /// On InfiniBand: where the port has the settings that its congestion manager wrote last; must
    /// outlive the controller.
    const InjectionControl* const* injection = nullptr;
    std::uint8_t sl = 0;
};

/// An acknowledgement of packets that were not acknowledged before.
struct Acknowledged {
    std::uint32_t packets = 0;
    TimePs round_trip_ps = 0;  ///< Since the packet that it answers began to leave.
    bool marked = false;       ///< That packet had a mark of congestion.
    TimePs now = 0;
};

class Controller {
  public:
    static constexpr double kNoWindow = std::numeric_limits<double>::infinity();

    virtual ~Controller() = default;

    // What the sender hears.
    /// A notification of congestion: a BECN or a CNP.
    virtual void handle_notification(TimePs) {}
    virtual void handle_ack(const Acknowledged&) {}
    /// The receiver asks for packets that were lost.
    virtual void handle_loss(TimePs) {}
    /// A timeout without progress.
    virtual void handle_timeout(TimePs) {}

    // What the flow may do.
    /// Returns how many packets may be under way. One may be, whatever this is.
    virtual double window() const { return kNoWindow; }
    /// Counts a packet that begins to leave and takes `took` on the link. Returns the time from its
    /// end until the next one may begin.
    virtual TimePs delay(std::uint32_t bytes, TimePs took, TimePs now) = 0;
};

}  // namespace softib::link
