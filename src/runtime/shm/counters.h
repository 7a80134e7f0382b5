// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Port counters. The data path counts only in the queue pair that it works for. Settling adds these
// counts to the totals of every port that the packets passed: at both ends, and in every switch
// between them by the present routes. The daemon settles before a route changes and before it
// answers a question about counters; the owner of a queue pair settles it when the queue pair ends.
// What a connected queue pair sent is what the port at its other end received; the responses go
// back by the other end's routes. A datagram queue pair counts by destination (flows.h). A flow
// counts at every port up to its end, or to where its packets are lost; a flow to a multicast LID
// counts at every port of the tree.
//
// The cost of settling grows with the queue pairs in use, not with the size of the tables. Settling
// is never put off: a program that reads a counter after a completion sees the packets of that
// completion.
//
// MADs are not counted: the counters show what programs sent and received.
//
// Nothing here allocates or throws.

#include <cstdint>

#include "core/counters/port_counters.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"

namespace softib::shm {

using counters::PortCounts;

/// Returns the settled counters of a port. Its P_Key violations are also part of its
/// PortRcvConstraintErrors.
PortCounts read_totals(const PortTotals& totals);

/// Returns the counters of an HCA's port, with what is not settled yet. `hca` is an index into the
/// HCA table. A queue pair that is settled meanwhile may be counted twice or not at all in this one
/// reading.
PortCounts read_port_counters(const Arena& arena, std::uint32_t hca);

/// Includes the queue pair at this table index in settling from now on.
void start_counting(const Arena& arena, std::uint32_t qp);
/// Excludes the queue pair at this table index from settling.
void stop_counting(const Arena& arena, std::uint32_t qp);

/// Settles what this queue pair counted. Does nothing if a stopped process keeps its count_lock.
void settle_counters(const Arena& arena, QpShared& qp, LockWord me);
/// Settles what this queue pair counted and sets its counts to zero: for a queue pair that ends, or
/// that will connect elsewhere.
void fold_counters(const Arena& arena, QpShared& qp, LockWord me);
/// Settles the flows of a datagram queue pair. The caller holds its count_lock.
void settle_flows_locked(const Arena& arena, QpShared& qp);
/// Settles all queue pairs of the fabric; for the daemon.
void settle_all(const Arena& arena, LockWord me);

}  // namespace softib::shm
