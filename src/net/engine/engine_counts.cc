// SPDX-License-Identifier: BSD-2-Clause
// What ports count by lane and by service level after count_lanes().
#include "net/engine/engine.h"

namespace softib::net {

/// Counts a packet that has begun to leave, on lane in_vl.
void Engine::count_sent(std::uint32_t port, const Packet& packet) {
    levels_[std::size_t{port} * 16 + packet.sl].xmit_words += packet.bytes / 4U;
    waits_[lane_index(port, packet.in_vl)].busy_until = tx_[port].free_at;
}

void Engine::count_received(const Rx& rx, const Packet& packet) {
    LevelCounts& level = levels_[std::size_t{rx.self} * 16 + packet.sl];
    level.rcv_words += packet.bytes / 4U;
    level.rcv_fecn += (packet.flags & packet_flag::kFecn) != 0 ? 1U : 0U;
    level.rcv_becn += (packet.flags & packet_flag::kBecn) != 0 ? 1U : 0U;
}

/// Counts the wait of a lane's first packet, which is about to leave its queue: it has waited since
/// it became the first, or since the packet before it had left.
void Engine::count_pop(Tx& tx, const Lane& from) {
    const auto index = static_cast<std::uint32_t>(&from - lanes_.data());
    const auto port = static_cast<std::uint32_t>(&tx - tx_.data());
    LaneWaits& waits = waits_[index];
    waits.wait_ps += waiting_since(from, waits, now());
    if (waits.congested.now_so() && from.queued_blocks - from.head_blocks <
                                        sw::congested_from(marking_[port], buffer_blocks())) {
        waits.congested.end(now());
        const auto bit = 1U << index / port_count();
        congested_lanes_[port] = static_cast<std::uint16_t>(congested_lanes_[port] & ~bit);
        if (congested_lanes_[port] == 0) {
            congested_[port].end(now());
        }
    }
}

/// Notes that more waits for the lane than its threshold allows.
void Engine::count_congested(std::uint32_t port, std::uint8_t vl) {
    const std::uint32_t index = lane_index(port, vl);
    if (waits_[index].congested.now_so()) {
        return;
    }
    waits_[index].congested.begin(now());
    if (congested_lanes_[port] == 0) {
        congested_[port].begin(now());
    }
    congested_lanes_[port] =
        static_cast<std::uint16_t>(congested_lanes_[port] | 1U << index / port_count());
}

}  // namespace softib::net
