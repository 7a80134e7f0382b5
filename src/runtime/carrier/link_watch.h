// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds ports whose cables make too many errors and tells the daemon, which sends the traps of
// these ports (IBA vol. 1, 14.2.5.1: 129 link integrity, 131 flow control watchdog). Trap 130,
// buffer overrun, is never raised: senders here keep to their credits.

#include <cstdint>
#include <vector>

#include "core/hca/context.h"
#include "net/engine/engine.h"
#include "runtime/carrier/watchers.h"

namespace softib::carrier {

class LinkWatch {
  public:
    explicit LinkWatch(Watchers& watchers) : watchers_(watchers) {}

    /// Looks at all ports. Must be called from time to time while packets move, and at next_ns().
    void look(const net::Engine& net, std::uint64_t now_ns);
    /// Returns when the next flow control watchdog will expire; kNever if none is running.
    std::uint64_t next_ns() const { return next_ns_; }

  private:
    struct Seen {
        std::uint64_t integrity_errors = 0;
        std::uint64_t deaf_since_ns = 0;  ///< Since when no flow control packets come; 0: they do.
        bool barked = false;              ///< Whether the watchdog's trap has been reported.
    };
    void look_for_silence(const net::Engine& net, std::uint32_t port, Seen& seen,
                          std::uint64_t now_ns);

    Watchers& watchers_;
    std::vector<Seen> seen_;  ///< What was seen at each port of the network.
    std::uint64_t next_ns_ = hca::kNever;
};

}  // namespace softib::carrier
