// SPDX-License-Identifier: BSD-2-Clause
// Prefetches memory that events will touch, in four steps, each of which reads what the step before
// has fetched. For an arrival: the records of link and packet, then the forwarding table and the
// lane it came by, then the port it goes to, then what queues it there. For a wake: the port and
// its lane, then the first packet, then the lane that packet came by and the packet behind it. A
// wrong guess only costs time.
//
// Events go through the steps in blocks, so that the cache misses of a block overlap. With windows
// (engine_windows.cc), which prefetch for switches by themselves, two steps are enough for HCAs.
#include <algorithm>
#include <bit>
#include <span>

#include "net/engine/engine.h"
#include "net/plant/fetch.h"

namespace softib::net {

namespace {

constexpr std::size_t kBlock = 8;

std::span<const Event> between(std::span<const Event> events, std::size_t begin, std::size_t end) {
    begin = std::min(begin, events.size());
    return events.subspan(begin, std::min(end, events.size()) - begin);
}

}  // namespace

void Engine::look_ahead() {
    until_look_ = kBlock;
    if (windows_.on()) {
        look_at_hosts();
        return;
    }
    const bool begins = queue_.begins();
    const std::span<const Event> next = queue_.look(5 * kBlock);
    // The first events after a pause have gone through no step yet: all steps begin with them.
    const auto step = [&](std::size_t blocks) {
        return between(next, begins ? 0 : blocks * kBlock, (blocks + 1) * kBlock);
    };
    look_first(step(4));
    look_second(step(3));
    look_third(step(2));
    look_fourth(step(1));
}

/// Prefetches in two steps, with windows, where queue_ has events of HCAs only.
void Engine::look_at_hosts() {
    const bool begins = queue_.begins();
    const std::span<const Event> next = queue_.look(3 * kBlock);
    look_first(between(next, begins ? 0 : 2 * kBlock, 3 * kBlock));
    coming_.clear();
    for (const Event& event : between(next, begins ? 0 : kBlock, 2 * kBlock)) {
        if (event.kind() == EventKind::kArrival) {
            coming_.push_back(event.packet);
            const std::uint32_t port = rx_[event.link()].first_out;
            fetch(&lane(event.link(), static_cast<std::uint8_t>(event.extra)));
            fetch(tx_.data() + port);
            fetch(lanes_.data() + port);
        } else if (const Lane& first = first_waiting(event.link()); first.head != kNone) {
            fetch(packets_.data() + first.head);
        }
    }
}

void Engine::look_first(std::span<const Event> events) const {
    for (const Event& event : events) {
        const bool arrival = event.kind() == EventKind::kArrival;
        // Selected without a branch, since a processor cannot foresee the kind of the next event.
        const void* at[] = {&tx_[event.link()], &rx_[event.link()]};
        const void* of[] = {&lanes_[event.link()], place_of(packets_.data(), event.packet)};
        fetch(at[arrival ? 1 : 0]);
        fetch(of[arrival ? 1 : 0]);
    }
}

void Engine::look_second(std::span<const Event> events) {
    coming_.clear();
    for (const Event& event : events) {
        if (event.kind() == EventKind::kArrival) {
            if (rx_[event.link()].to_adapter != 0) {
                coming_.push_back(event.packet);
            }
            fetch(lfts_.data() + rx_[event.link()].lft + packets_[event.packet].dlid);
            fetch(&lane(event.link(), static_cast<std::uint8_t>(event.extra)));
            continue;
        }
        const Lane& first = first_waiting(event.link());
        fetch(&first);
        if (&first < lanes_.data() + port_count() && first.head != kNone) {
            fetch(packets_.data() + first.head);
        }
    }
}

/// Returns the port and lane by which a packet that arrives will go on; at an HCA, those by which
/// the HCA will answer it.
Engine::Ahead Engine::ahead_of(const Event& event) const {
    const Rx& rx = rx_[event.link()];
    const Packet& packet = packets_[event.packet];
    if (packet.dlid >= lft_stride_) {
        return {};
    }
    const std::uint8_t vl =
        rx.sl_rows == kNone ? lane_of(packet.sl) : rows_[sl_rows_[rx.sl_rows]][packet.sl];
    const std::uint32_t number = rx.to_adapter != 0 ? 0U : lfts_[rx.lft + packet.dlid];
    const std::uint32_t port = rx.first_out + number;
    return port < port_count() && vl < config_.data_vls ? Ahead{port, lane_index(port, vl)}
                                                        : Ahead{};
}

void Engine::look_third(std::span<const Event> events) const {
    for (const Event& event : events) {
        if (event.kind() == EventKind::kArrival) {
            const Ahead to = ahead_of(event);
            fetch(tx_.data() + to.port);
            fetch(lanes_.data() + to.lane);
            continue;
        }
        const Lane& first = first_waiting(event.link());
        if (first.head != kNone) {
            const Packet& packet = packets_[first.head];
            fetch(&packet);
            fetch(lanes_.data() + lane_index(packet.in_link, packet.in_vl));
            fetch(packets_.data() + packet.next);
        }
    }
}

void Engine::look_fourth(std::span<const Event> events) const {
    for (const Event& event : events) {
        if (event.kind() != EventKind::kArrival) {
            continue;
        }
        const Ahead to = ahead_of(event);
        if (const Lane& lane = lanes_[to.lane]; lane.head != kNone) {
            fetch(turns_at_.data() + to.lane * turns_stride_ + rx_[event.link()].port);
            fetch(round_ends_.data() + std::size_t{to.lane} * kRoundsOpen +
                  lane.tail_round / kRound % kRoundsOpen);
        }
    }
}

/// Returns the lowest lane of a port that has packets, or lane 0.
const Lane& Engine::first_waiting(std::uint32_t port) const {
    const std::uint16_t waiting = tx_[port].waiting;
    return lane(port, static_cast<std::uint8_t>(waiting == 0 ? 0 : std::countr_zero(waiting)));
}

}  // namespace softib::net
