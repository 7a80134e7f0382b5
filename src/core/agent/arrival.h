// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a node does with a MAD that is at it: the node forwards the MAD by its directed route or by
// LID, has one of its agents answer it, hands it to a service on the node, or drops it. A P_Key or
// Q_Key that the port does not have is counted and raises a trap. Live fabrics and simulations
// share this code; the caller moves the MAD that goes on: the mesh (mesh.h) in no time, the packet
// network (net/manage/management.h) over its links.
//
// After depart() or arrive() the caller must look for what they changed in the node, with
// Node::poll_update() and Node::next_trap_ns(). The answer that goes on leaves before these changes
// take effect.

#include <cstdint>

#include "core/agent/end.h"
#include "core/agent/node.h"
#include "core/agent/pma.h"
#include "core/mad/packet.h"

namespace softib::agent {

/// The destination of a MAD that a node has handled.
struct Onward {
    enum Kind : std::uint8_t {
        kNowhere,    ///< The node dropped the MAD, or an agent took it without an answer.
        kOutOfPort,  ///< Over the cable of `port`, by its directed route.
        kByLid,      ///< From `port` (port 0 of a switch), by the switches' forwarding tables.
        kToService,  ///< To the service or program that listens at QP0 or QP1 of `port`.
    };
    Kind kind = kNowhere;
    std::uint8_t port = 0;
};

/// Handles the MADs that leave and reach nodes; holds the performance agent of all these nodes.
class Arrival {
  public:
    /// Performance agents read `counters`, which must outlive this object.
    explicit Arrival(CounterSource& counters) : counters_(counters) {}

    /// Handles a MAD that QP0 or QP1 of a port sends (port 0 of a switch). Returns where the MAD
    /// goes; `packet` becomes the MAD that goes there.
    Onward depart(Node& node, End from, mad::Packet& packet, std::uint64_t now_ns);
    /// Handles a MAD that has come to a node: by a directed route into port `at`, or by a LID of
    /// the node (at a switch, `at` is then port 0). Returns where the MAD or its answer goes;
    /// `packet` becomes the MAD that goes there.
    Onward arrive(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);

  private:
    Onward pass_directed(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);
    Onward arrive_smp(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);
    Onward arrive_service(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);
    Onward go_by_lid(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns);

    CounterSource& counters_;
    PerfAgent perf_;
};

/// Returns whether a MAD is an SMP, LID-routed or directed-route, which travels on VL15 to QP0.
bool is_subnet(const mad::Packet& packet);

}  // namespace softib::agent
