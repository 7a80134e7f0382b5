// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a node does with a MAD that is at it: it passes the MAD on by its directed route or by LID,
// has it answered by one of its agents, leaves it to a service on the node, or drops it; a key that
// is not the port's own is counted and raises a trap. This is the same in every way to run a
// fabric. Who calls carries what goes on: the mesh in no time, the network of packets on its links.
//
// Whoever calls depart() or arrive() looks afterwards for what they changed in the node:
// Node::poll_update() and Node::next_trap_ns(). The answer that goes on was sent before any of it.

#include <cstdint>

#include "core/agent/end.h"
#include "core/agent/node.h"
#include "core/agent/pma.h"
#include "core/mad/packet.h"

namespace softib::agent {

/// Where a MAD goes from a node.
struct Onward {
    enum Kind : std::uint8_t {
        kNowhere,    ///< Dropped, or it was answered by silence.
        kOutOfPort,  ///< Over the cable of `port`, by its directed route.
        kByLid,      ///< From `port` (of a switch: 0) by the fabric's tables.
        kToService,  ///< To whoever listens at QP0 or QP1 of `port`.
    };
    Kind kind = kNowhere;
    std::uint8_t port = 0;
};

class Arrival {
  public:
    /// `counters` are what performance agents read; they outlive it.
    explicit Arrival(CounterSource& counters) : counters_(counters) {}

    /// A MAD is sent from QP0 or QP1 of a port (of a switch: port 0). `packet` becomes what goes
    /// on.
    Onward depart(Node& node, End from, mad::Packet& packet, std::uint64_t now_ns);
    /// A MAD has come to a node, by a directed route through this port or by an address of the node
    /// (at a switch then: port 0). `packet` becomes what goes on: itself or its answer.
    Onward arrive(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);

  private:
    Onward pass_directed(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);
    Onward arrive_smp(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);
    Onward arrive_service(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);
    Onward go_by_lid(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);

    CounterSource& counters_;
    PerfAgent perf_;
};

/// Whether a MAD travels on VL15 to a QP0: subnet management, by LID or by a directed route.
bool is_subnet(const mad::Packet& packet);

}  // namespace softib::agent
