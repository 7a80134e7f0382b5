// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a port counted. The data path writes only into the queue pair it works for; a reader adds
// the living queue pairs to the totals that the gone ones left in the HCA's record. What a
// connected queue pair sent is what the port at its other end received, so each is counted at both.
// A queue pair that goes while a reader adds may be counted twice or not at all in that one
// reading.
//
// Nothing here allocates, throws or locks.

#include <cstdint>

#include "runtime/live/arena.h"

namespace softib::live {

/// Words are units of four bytes, as in the counters PortXmitData and PortRcvData
/// (IBA vol. 1, 16.1.3.5).
struct PortCounters {
    std::uint64_t xmit_packets = 0;
    std::uint64_t xmit_words = 0;
    std::uint64_t rcv_packets = 0;
    std::uint64_t rcv_words = 0;
    std::uint64_t multicast_xmit_packets = 0;
    std::uint64_t multicast_rcv_packets = 0;
    std::uint64_t pkey_violations = 0;
    std::uint64_t qkey_violations = 0;
    std::uint64_t access_violations = 0;
    std::uint64_t xmit_discards = 0;
};

/// Counters of the one port of an HCA (index into the HCA table).
PortCounters read_port_counters(const Arena& arena, std::uint32_t hca);

/// Moves a queue pair's counts into the totals of both ports it used.
void fold_counters(const Arena& arena, QpShared& qp);

}  // namespace softib::live
