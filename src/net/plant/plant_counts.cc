// SPDX-License-Identifier: BSD-2-Clause
// The counters of the plant, as the PMAs of its nodes read them.
#include <algorithm>

#include "net/plant/plant.h"

namespace softib::net {

void Plant::count_lanes() {
    levels_.resize(std::size_t{port_count()} * 16);
    waits_.resize(lanes_.size());
    congested_lanes_.resize(port_count());
    congested_.resize(port_count());
    for (std::uint32_t port = 0; port < port_count(); ++port) {
        tx_[port].special |= tx_special::kCounted;
        rx_[port].special |= rx_special::kCounted;
    }
}

/// Returns the unit of XmitWait: the time of four bytes on the wire.
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
    if (!states_.empty()) {
        counts.link_downed = states_[port].downed();
        counts.link_recoveries = states_[port].recovered();
    }
    const TimePs since = tx_[port].blocked_at;
    counts.xmit_wait = (tx_[port].wait_ps + (since < now ? now - since : 0)) / tick_ps(port);
    if (!congested_.empty()) {
        counts.time_congested = congested_[port].total(now) / tick_ps(port);
    }
    return counts;
}

counters::LaneCounts Plant::lanes_at(std::uint32_t port, TimePs now) const {
    counters::LaneCounts counts;
    if (levels_.empty()) {
        return counts;
    }
    using enum counters::PerLane;
    for (std::size_t sl = 0; sl < 16; ++sl) {
        const LevelCounts& level = levels_[std::size_t{port} * 16 + sl];
        counts[kXmitWords][sl] = level.xmit_words;
        counts[kRcvWords][sl] = level.rcv_words;
        counts[kRcvFecn][sl] = level.rcv_fecn;
        counts[kRcvBecn][sl] = level.rcv_becn;
    }
    const TimePs tick = tick_ps(port);
    const auto add = [&](std::uint8_t vl) {
        const LaneWaits& waits = waits_[lane_index(port, vl)];
        const Lane& queue = lane(port, vl);
        TimePs waited = waits.wait_ps;
        if (queue.head != kNone) {
            waited += waiting_since(queue, waits, now);
        }
        counts[kXmitWait][vl] = waited / tick;
        counts[kCongestionDiscards][vl] = waits.discards;
        counts[kTimeCongested][vl] = waits.congested.total(now) / tick;
    };
    for (std::uint8_t vl = 0; vl < config_.data_vls; ++vl) {
        add(vl);
    }
    add(link::kVl15);
    return counts;
}

}  // namespace softib::net
