// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What ports counted. The data path writes only into the queue pair it works for. From there the
// counts are settled: added to the totals of every port that the packets passed, at both ends and
// in every switch between them, by the routes in force. The daemon settles before a route changes
// and before it answers about counters; a queue pair that ends settles itself. What a connected
// queue pair sent is what the port at its other end received, and its responses go the other way
// by the other end's routes. A datagram queue pair counts by destination (flows.h), and its flows
// count at every port up to their end or to where they were lost; those to a multicast LID at every
// port of the tree.
//
// Settling costs what the queue pairs in use cost, not what the tables have room for. It is never
// put off: who reads a counter after a completion sees what that completion counted.
//
// Management datagrams are not counted: the counters show what programs moved.
//
// Nothing here allocates or throws.

#include <cstdint>

#include "core/counters/port_counters.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"

namespace softib::live {

using counters::PortCounts;

/// A port's own P_Key violations are also constraint errors of what it received.
PortCounts read_totals(const PortTotals& totals);

/// Counters of the one port of an HCA (index into the HCA table), with what is not settled yet. A
/// queue pair that is settled meanwhile may be counted twice or not at all in that one reading.
PortCounts read_port_counters(const Arena& arena, std::uint32_t hca);

/// A queue pair of this table index counts from now on, or no more.
void start_counting(const Arena& arena, std::uint32_t qp);
void stop_counting(const Arena& arena, std::uint32_t qp);

/// Settles what this queue pair counted. Where a stopped process keeps its lock, it is left out.
void settle_counters(const Arena& arena, QpShared& qp, LockWord me);
/// The same at its end, or before it connects elsewhere: the counts begin again at zero.
void fold_counters(const Arena& arena, QpShared& qp, LockWord me);
/// For who holds count_lock.
void settle_flows_locked(const Arena& arena, QpShared& qp);
/// Settles all queue pairs of the fabric; for the daemon.
void settle_all(const Arena& arena, LockWord me);

}  // namespace softib::live
