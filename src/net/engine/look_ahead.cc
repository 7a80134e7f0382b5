// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/look_ahead.h"

#include <algorithm>

#include "net/plant/fetch.h"

namespace softib::net {

namespace {

constexpr std::size_t kBlockEvents = 8;

std::span<const Event> between(std::span<const Event> events, std::size_t begin, std::size_t end) {
    begin = std::min(begin, events.size());
    return events.subspan(begin, std::min(end, events.size()) - begin);
}

/// What the steps read, and the list of packets that HCAs will get.
struct Steps {
    const Plant& plant;
    const Queues& queues;
    std::vector<std::uint32_t>& coming;

    const void* packet_place(std::uint32_t index) const {
        return place_of(queues.packets().data(), index);
    }

    void first(std::span<const Event> events) const {
        for (const Event& event : events) {
            const bool arrival = event.kind() == EventKind::kArrival;
            // Selected without a branch, since a processor cannot foresee the kind of the next
            // event.
            const void* at[] = {&plant.tx(event.link()), &plant.rx(event.link())};
            const void* of[] = {&plant.lane_at(event.link()), packet_place(event.packet)};
            fetch(at[arrival ? 1 : 0]);
            fetch(of[arrival ? 1 : 0]);
        }
    }

    void second(std::span<const Event> events) const {
        coming.clear();
        for (const Event& event : events) {
            if (event.kind() == EventKind::kArrival) {
                const Rx& rx = plant.rx(event.link());
                if (rx.to_adapter != 0) {
                    coming.push_back(event.packet);
                }
                fetch(plant.lft_place(rx.lft, queues[event.packet].dlid));
                fetch(&plant.lane(event.link(), static_cast<std::uint8_t>(event.extra)));
                continue;
            }
            const Lane& first = first_waiting(plant, event.link());
            fetch(&first);
            if (plant.index_of(first) < plant.port_count() && first.head != kNone) {
                fetch(packet_place(first.head));
            }
        }
    }

    struct Ahead {
        std::uint32_t port = 0;
        std::uint32_t lane = 0;
    };
    /// Returns the port and lane by which a packet that arrives will go on; at an HCA, those by
    /// which the HCA will answer it.
    Ahead ahead_of(const Event& event) const {
        const Rx& rx = plant.rx(event.link());
        const Packet& packet = queues[event.packet];
        if (packet.dlid >= plant.lid_count()) {
            return {};
        }
        const std::uint8_t vl = plant.lane_to(rx, 0, packet.sl);
        const std::uint32_t number = rx.to_adapter != 0 ? 0U : plant.lft_entry(rx, packet.dlid);
        const std::uint32_t port = rx.first_out + number;
        return port < plant.port_count() && vl < plant.config().data_vls
                   ? Ahead{port, plant.lane_index(port, vl)}
                   : Ahead{};
    }

    void third(std::span<const Event> events) const {
        for (const Event& event : events) {
            if (event.kind() == EventKind::kArrival) {
                const Ahead to = ahead_of(event);
                fetch(&plant.tx(to.port));
                fetch(plant.lane_place(to.lane));
                continue;
            }
            const Lane& first = first_waiting(plant, event.link());
            if (first.head != kNone) {
                const Packet& packet = queues[first.head];
                fetch(&packet);
                fetch(plant.lane_place(plant.lane_index(packet.in_link, packet.in_vl)));
                fetch(packet_place(packet.next));
            }
        }
    }

    void fourth(std::span<const Event> events) const {
        for (const Event& event : events) {
            if (event.kind() != EventKind::kArrival) {
                continue;
            }
            const Ahead to = ahead_of(event);
            if (const Lane& lane = plant.lane_at(to.lane); lane.head != kNone) {
                fetch(queues.turn_place(to.lane, plant.rx(event.link()).port));
                fetch(&queues.last_of_round(to.lane, lane.tail_round));
            }
        }
    }

    /// Prefetches for the events of HCAs that come second.
    void hosts(std::span<const Event> events) const {
        coming.clear();
        for (const Event& event : events) {
            if (event.kind() == EventKind::kArrival) {
                coming.push_back(event.packet);
                const std::uint32_t port = plant.rx(event.link()).first_out;
                fetch(&plant.lane(event.link(), static_cast<std::uint8_t>(event.extra)));
                fetch(&plant.tx(port));
                fetch(plant.lane_place(port));
            } else if (const Lane& first = first_waiting(plant, event.link());
                       first.head != kNone) {
                fetch(packet_place(first.head));
            }
        }
    }
};

}  // namespace

void LookAhead::look_now(Schedule& schedule, const Plant& plant, const Queues& queues,
                         std::vector<std::uint32_t>& coming) {
    until_ = kBlockEvents;
    EventQueue& queue = schedule.queue();
    const Steps steps{plant, queues, coming};
    const bool windows = schedule.windows().on();
    const bool begins = queue.begins();
    const std::span<const Event> next = queue.look((windows ? 3 : 5) * kBlockEvents);
    // The first events after a pause have gone through no step yet: all steps begin with them.
    const auto step = [&](std::size_t blocks) {
        return between(next, begins ? 0 : blocks * kBlockEvents, (blocks + 1) * kBlockEvents);
    };
    if (windows) {
        steps.first(step(2));
        steps.hosts(step(1));
        return;
    }
    steps.first(step(4));
    steps.second(step(3));
    steps.third(step(2));
    steps.fourth(step(1));
}

}  // namespace softib::net
