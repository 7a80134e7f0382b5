// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/lane_counts.h"

#include <algorithm>

namespace softib::net {

void LaneCounts::start(std::uint32_t lanes) {
    levels_.resize(std::size_t{ports_} * 16);
    waits_.resize(lanes);
    congested_lanes_.resize(ports_);
    congested_.resize(ports_);
}

void LaneCounts::sent(std::uint32_t port, std::uint32_t lane, const Packet& packet, TimePs until) {
    levels_[std::size_t{port} * 16 + packet.sl].xmit_words += packet.bytes / 4U;
    waits_[lane].busy_until = until;
}

void LaneCounts::received(std::uint32_t port, const Packet& packet) {
    Level& level = levels_[std::size_t{port} * 16 + packet.sl];
    level.rcv_words += packet.bytes / 4U;
    level.rcv_fecn += (packet.flags & packet_flag::kFecn) != 0 ? 1U : 0U;
    level.rcv_becn += (packet.flags & packet_flag::kBecn) != 0 ? 1U : 0U;
}

void LaneCounts::pop(std::uint32_t lane, const Lane& from, std::uint32_t congested_from,
                     TimePs now) {
    Waits& waits = waits_[lane];
    waits.wait_ps += waiting_since(from, waits, now);
    if (waits.congested.now_so() && from.queued_blocks - from.head_blocks < congested_from) {
        waits.congested.end(now);
        const std::uint32_t port = lane % ports_;
        const auto bit = 1U << lane / ports_;
        congested_lanes_[port] = static_cast<std::uint16_t>(congested_lanes_[port] & ~bit);
        if (congested_lanes_[port] == 0) {
            congested_[port].end(now);
        }
    }
}

void LaneCounts::congested(std::uint32_t lane, TimePs now) {
    if (waits_[lane].congested.now_so()) {
        return;
    }
    const std::uint32_t port = lane % ports_;
    waits_[lane].congested.begin(now);
    if (congested_lanes_[port] == 0) {
        congested_[port].begin(now);
    }
    congested_lanes_[port] =
        static_cast<std::uint16_t>(congested_lanes_[port] | 1U << lane / ports_);
}

void LaneCounts::add_levels(counters::LaneCounts& counts, std::uint32_t port) const {
    using enum counters::PerLane;
    for (std::size_t sl = 0; on() && sl < 16; ++sl) {
        const Level& level = levels_[std::size_t{port} * 16 + sl];
        counts[kXmitWords][sl] = level.xmit_words;
        counts[kRcvWords][sl] = level.rcv_words;
        counts[kRcvFecn][sl] = level.rcv_fecn;
        counts[kRcvBecn][sl] = level.rcv_becn;
    }
}

void LaneCounts::add_lane(counters::LaneCounts& counts, std::uint32_t lane, std::uint8_t vl,
                          const Lane& queue, TimePs tick, TimePs now) const {
    if (!on()) {
        return;
    }
    using enum counters::PerLane;
    const Waits& waits = waits_[lane];
    TimePs waited = waits.wait_ps;
    if (queue.head != kNone) {
        waited += waiting_since(queue, waits, now);
    }
    counts[kXmitWait][vl] = waited / tick;
    counts[kCongestionDiscards][vl] = waits.discards;
    counts[kTimeCongested][vl] = waits.congested.total(now) / tick;
}

/// Returns how long a lane that has packets has waited by `now` since it last sent.
TimePs LaneCounts::waiting_since(const Lane& lane, const Waits& waits, TimePs now) {
    const auto units = static_cast<std::uint32_t>(now >> Lane::kUnitShift);
    const TimePs at_head = TimePs{units - lane.head_since_units} << Lane::kUnitShift;
    const TimePs idle = now > waits.busy_until ? now - waits.busy_until : 0;
    return std::min(at_head, idle);
}

}  // namespace softib::net
