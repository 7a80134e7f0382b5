// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/inspector.h"

#include <fmt/format.h>

#include <algorithm>

namespace softib::net {

std::vector<std::string> Inspector::check_credits() const {
    std::vector<std::uint32_t> held(plant_.lane_count());
    packets_.for_each([&](std::uint32_t, const Packet& packet) {
        const bool counted = packet.in_link != kNone && (packet.flags & packet_flag::kCopy) == 0;
        if (counted) {
            held[plant_.lane_index(packet.in_link, packet.in_vl)] += link::blocks_of(packet.bytes);
        }
    });
    std::vector<std::string> found;
    for (std::uint8_t vl = 0; vl < plant_.config().data_vls; ++vl) {
        for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
            if (!plant_.connected(port)) {
                continue;
            }
            const std::uint32_t index = plant_.lane_index(port, vl);
            const Lane& lane = plant_.lane_at(index);
            const std::uint32_t deferred = plant_.deferred_at(index);
            const std::uint32_t sum =
                link::credits(lane.fctbs, lane.fccl) + lane.pending + held[index] + deferred;
            if (sum != plant_.buffer_blocks()) {
                found.push_back(
                    fmt::format("{} VL {}: {} credits, {} on their way back, {} under "
                                "packets, of {}",
                                plant_.name(port), vl, link::credits(lane.fctbs, lane.fccl),
                                lane.pending + deferred, held[index], plant_.buffer_blocks()));
            }
        }
    }
    return found;
}

std::vector<std::string> Inspector::check_counters() const {
    struct OnCable {
        std::uint64_t packets = 0;
        std::uint64_t words = 0;
    };
    std::vector<OnCable> on_cable(plant_.port_count());
    packets_.for_each([&](std::uint32_t, const Packet& packet) {
        if ((packet.flags & packet_flag::kOnCable) != 0) {
            ++on_cable[packet.in_link].packets;
            on_cable[packet.in_link].words += packet.bytes / 4U;
        }
    });
    std::vector<std::string> found;
    for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
        const Odd odd = plant_.odd_counts(port);
        const Tx& tx = plant_.tx(port);
        const Rx& rx = plant_.rx(port);
        if (tx.packets != rx.packets + on_cable[port].packets + odd.lost ||
            tx.words != rx.words + on_cable[port].words + odd.lost_words) {
            found.push_back(fmt::format(
                "{}: sent {} packets, {} words; received {}, {}; on the "
                "cable {}, {}; lost {}, {}",
                plant_.name(port), tx.packets, tx.words, rx.packets, rx.words,
                on_cable[port].packets, on_cable[port].words, odd.lost, odd.lost_words));
        }
    }
    return found;
}

/// Returns whether the lane's first packet cannot leave with the credits that it has or that are on
/// their way back. More credits come only from the buffer at the other end.
bool Inspector::cannot_send(std::uint32_t link, std::uint8_t vl) const {
    const std::uint32_t index = plant_.lane_index(link, vl);
    const Lane& lane = plant_.lane_at(index);
    const bool deferred = plant_.deferred_at(index) != 0;
    return lane.head != kNone && !deferred &&
           std::uint32_t{link::credits(lane.fctbs, lane.fccl)} + lane.pending < lane.head_blocks;
}

std::vector<Inspector::Takes> Inspector::packets_in_buffers(
    std::vector<std::uint8_t>& suspect) const {
    std::vector<Takes> takes;
    std::vector<std::uint8_t> queued(packets_.size());
    for (std::uint32_t by = 0; by < plant_.lane_count(); ++by) {
        for (std::uint32_t p = plant_.lane_at(by).head; p != kNone; p = packets_[p].next) {
            const Packet& packet = packets_[p];
            queued[p] = 1;
            std::uint32_t in = packet.in_link;
            std::uint8_t vl = packet.in_vl;
            if ((packet.flags & packet_flag::kCopy) != 0) {
                in = packets_[packet.in_link].in_link;
                vl = packets_[packet.in_link].in_vl;
            }
            if (in != kNone && vl != link::kVl15) {
                takes.push_back({plant_.lane_index(in, vl), by});
            }
        }
    }
    packets_.for_each([&](std::uint32_t p, const Packet& packet) {
        // The packet is on a cable or being looked up: an event will move it.
        const bool moves = queued[p] == 0 && packet.round_or_copies == 0 && packet.in_link != kNone;
        if (moves && packet.in_vl != link::kVl15) {
            suspect[plant_.lane_index(packet.in_link, packet.in_vl)] = 0;
        }
    });
    return takes;
}

Stuck Inspector::stuck(std::uint32_t lane) const {
    return {lane % plant_.port_count(), static_cast<std::uint8_t>(lane / plant_.port_count()),
            packets_[plant_.lane_at(lane).head].dlid};
}

std::vector<Stuck> Inspector::cycle_from(std::uint32_t lane, const std::vector<std::uint32_t>& next,
                                         std::vector<std::uint8_t>& seen) const {
    while (lane != kNone && seen[lane] == 0) {
        seen[lane] = 1;
        lane = next[lane];
    }
    std::vector<Stuck> cycle;
    for (std::uint32_t at = lane; at != kNone;) {
        cycle.push_back(stuck(at));
        at = next[at];
        if (at == lane) {
            return cycle;
        }
    }
    return {};  // It led to a lane that was seen before, and ends there.
}

Deadlock Inspector::find_deadlock() const {
    // All lanes that cannot send are suspects. One is cleared when a packet that takes its room is
    // on the move, or waits for a lane that is clear; what is left can never move.
    const std::size_t lanes = plant_.lane_count();
    std::vector<std::uint8_t> suspect(lanes);
    for (std::uint8_t vl = 0; vl < plant_.config().data_vls; ++vl) {
        for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
            suspect[plant_.lane_index(port, vl)] = cannot_send(port, vl) ? 1 : 0;
        }
    }
    const std::vector<Takes> takes = packets_in_buffers(suspect);
    for (bool changed = true; changed;) {
        changed = false;
        for (const Takes& t : takes) {
            if (suspect[t.owner] != 0 && suspect[t.by] == 0) {
                suspect[t.owner] = 0;
                changed = true;
            }
        }
    }
    std::vector<std::uint32_t> next(lanes, kNone);
    for (const Takes& t : takes) {
        if (suspect[t.owner] != 0) {
            next[t.owner] = std::min(next[t.owner], t.by);
        }
    }
    Deadlock found;
    std::vector<std::uint8_t> seen(lanes);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        if (suspect[lane] == 0) {
            continue;
        }
        ++found.lanes;
        for (std::uint32_t p = plant_.lane_at(lane).head; p != kNone; p = packets_[p].next) {
            ++found.packets;
        }
        if (next[lane] == kNone) {
            found.without_cause.push_back(stuck(lane));
        }
        if (found.cycle.empty()) {
            found.cycle = cycle_from(lane, next, seen);
        }
    }
    found.text = describe(found);
    return found;
}

std::vector<std::string> Inspector::find_starved() const {
    std::vector<std::string> found;
    for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
        const std::uint16_t waiting = plant_.tx(port).waiting;
        const auto starved =
            static_cast<std::uint16_t>(waiting & ~plant_.arbitration(port).lanes());
        for (std::uint8_t vl = 0; starved != 0 && vl < plant_.config().data_vls; ++vl) {
            if ((starved >> vl & 1) != 0) {
                found.push_back(
                    fmt::format("{} VL {} has packets that never leave: it has no weight in the VL "
                                "arbitration tables of this port",
                                plant_.name(port), vl));
            }
        }
    }
    return found;
}

std::string Inspector::describe(const Deadlock& found) const {
    if (!found.any()) {
        return {};
    }
    std::string text =
        fmt::format("{} lanes with {} packets can never send again\n", found.lanes, found.packets);
    for (std::size_t i = 0; i < found.cycle.size(); ++i) {
        const Stuck& here = found.cycle[i];
        const Stuck& next = found.cycle[(i + 1) % found.cycle.size()];
        text += fmt::format(
            "  {} VL {} (first packet to LID {}) has no credits: the buffer of {} is "
            "taken by packets that wait for {} VL {}\n",
            plant_.name(here.link), here.vl, here.dlid, plant_.name(plant_.peer(here.link)),
            plant_.name(next.link), next.vl);
    }
    for (const Stuck& lost : found.without_cause) {
        text += fmt::format(
            "  {} VL {} has no credits although no packet is in the buffer of {}: "
            "credits were lost\n",
            plant_.name(lost.link), lost.vl, plant_.name(plant_.peer(lost.link)));
    }
    return text;
}

}  // namespace softib::net
