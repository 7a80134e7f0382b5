// SPDX-License-Identifier: BSD-2-Clause
// The counters of the plant, as the PMAs of its nodes read them.
#include <algorithm>

#include "net/plant/plant.h"

namespace softib::net {

TimePs Plant::tick_ps(std::uint32_t port) const {
    return std::max<TimePs>(tx_[port].block_ps / 16, 1);
}

counters::PortCounts Plant::counts_at(std::uint32_t port, TimePs now) const {
    counters::PortCounts counts;
    if (!odd_.empty()) {
        const Odd& odd = odd_[port];
        counts = odd;
        counts.rcv_errors = odd.all_rcv_errors();
        counts.rcv_switch_relay_errors = odd.all_relay_errors();
        counts.xmit_discards = odd.all_discards();
    }
    counts.xmit_words = tx_[port].words;
    counts.xmit_packets = tx_[port].packets;
    if (peer_[port] != kNone) {
        counts.rcv_words = rx_[peer_[port]].words;
        counts.rcv_packets = rx_[peer_[port]].packets;
    }
    const TimePs since = tx_[port].blocked_at;
    counts.xmit_wait = (tx_[port].wait_ps + (since < now ? now - since : 0)) / tick_ps(port);
    return counts;
}

}  // namespace softib::net
