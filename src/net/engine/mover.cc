// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <bit>
#include <span>

#include "core/base/check.h"
#include "net/engine/for_each_lane.h"
#include "net/engine/mover_inline.h"
#include "net/plant/fetch.h"

namespace softib::net {

Mover::Mover(const topo::Fabric& fabric, const PlantConfig& config, unsigned width)
    : plant_(fabric, config),
      schedule_(width != 0 ? width : Schedule::bucket_width(plant_.port_count())),
      queues_(plant_.lane_count(), plant_.inputs_max()),
      waits_(limits_of(config), plant_.port_count()),
      cables_(plant_.port_count()),
      guards_(plant_.port_count()),
      lane_counts_(plant_.port_count()),
      choice_(plant_.switch_count()),
      border_(plant_.port_count()) {}

void Mover::inject(std::uint32_t port, Packet packet) {
    SOFTIB_CHECK(packet.bytes != 0 && packet.bytes <= plant_.config().packet_bytes_max &&
                 plant_.connected(port));
    ++stats_.injected;
    packet.in_link = kNone;
    packet.since_units = units(now());
    packet.in_vl = packet.vl == link::kVl15 ? link::kVl15 : std::uint8_t{0};
    if (plant_.peer(port) == port) {
        // From a switch's agent, by its tables.
        const std::uint32_t index = queues_.packets().make(packet);
        forward(plant_.rx(port), index, queues_[index], false);
        return;
    }
    if (packet.vl != link::kVl15) {
        packet.vl = plant_.first_lane(port, packet.sl);
        if (packet.vl >= plant_.config().data_vls) [[unlikely]] {
            discard(queues_.packets().make(packet));  // Its service level has no lane here.
            return;
        }
    }
    if (packet.dlid >= kLidMulticastMin.value && packet.dlid != kLidPermissive.value) [[unlikely]] {
        ++plant_.odd(port).multicast_xmit_packets;
    }
    const std::uint32_t index = queues_.packets().make(packet);
    offer(port, packet.vl, index, queues_[index]);
}

void Mover::handle(const Event& event) {
    ++stats_.events;
    if (event.kind() == EventKind::kArrival) {
        arrive(event);
        return;
    }
    if (event.kind() == EventKind::kWake) {
        wake(event.link());
        return;
    }
    handle_rare(event);
}

void Mover::handle_rare(const Event& event) {
    switch (event.kind()) {
        case EventKind::kReady:
            if (plant_.rx(event.link()).to_adapter != 0) {
                take(event.link(), event.packet);
            } else {
                forward(plant_.rx(event.link()), event.packet, queues_[event.packet], false);
            }
            break;
        case EventKind::kRelease: {
            const auto vl = static_cast<std::uint8_t>(event.extra >> 16);
            const auto blocks = static_cast<std::uint16_t>(event.extra);
            plant_.deferred(event.link(), vl) -= blocks;
            release(event.link(), vl, blocks, now());
            break;
        }
        case EventKind::kLimit:
            enforce_limits(event.link());
            break;
        case EventKind::kTrained:
            end_training(event.link(), event.extra);
            break;
        case EventKind::kPause:
            handle_pause(event.link(), static_cast<std::uint8_t>(event.extra >> 1),
                         (event.extra & 1) != 0);
            break;
        case EventKind::kArrival:
        case EventKind::kWake:
        case EventKind::kTimer:
            break;
    }
}

void Mover::arrive(const Event& event) {
    const std::uint32_t in = event.link();
    Rx& rx = plant_.rx(in);
    Packet& packet = queues_[event.packet];
    constexpr auto kOdd =
        static_cast<std::uint8_t>(~(rx_special::kAdaptive | rx_special::kPartitioned));
    if (((rx.special & kOdd) | (packet.flags & packet_flag::kSeen) |
         (packet.in_vl == link::kVl15)) != 0) [[unlikely]] {
        if (arrive_odd(in, rx, event.packet, packet)) {
            return;
        }
    }
    count_in(rx, packet);
    if (rx.to_adapter != 0) {
        take(in, event.packet);
        return;
    }
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    packet.since_units = units(now());
    forward(rx, event.packet, packet, true);
}

/// Takes a packet that has come to an HCA, a switch's agent or a router.
void Mover::take(std::uint32_t in, std::uint32_t index) {
    if (plant_.rx(in).to_adapter == kToRouter) [[unlikely]] {
        route_packet(in, index);
        return;
    }
    auto& [port, packet] = outbox_.taken;
    outbox_.has_taken = true;
    port = plant_.rx(in).first_out;
    packet = queues_[index];  // A processor waits here if some of it was just written.
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    if (packet.dlid >= kLidMulticastMin.value && packet.dlid != kLidPermissive.value) [[unlikely]] {
        ++plant_.odd(port).multicast_rcv_packets;
    }
    release(in, packet.in_vl, link::blocks_of(packet.bytes), now());
    queues_.packets().free(index);
    ++stats_.delivered;
}

/// Forwards a packet inside a switch. `fresh`: its first bits have just been looked up.
void Mover::forward(const Rx& rx, std::uint32_t index, Packet& packet, bool fresh) {
    if ((rx.special & rx_special::kPartitioned) != 0 && refuse_in(rx, packet)) [[unlikely]] {
        discard(index);
        return;
    }
    if (packet.dlid >= plant_.lid_count()) [[unlikely]] {
        copy_out(rx, index);
        return;
    }
    std::uint8_t number = plant_.lft_entry(rx, packet.dlid);
    if (((rx.special & rx_special::kAdaptive) != 0) &
        ((packet.flags & packet_flag::kAdaptive) != 0)) {
        number = choose_port(rx, packet, number);
    }
    const Hop hop = look_up(rx, packet, number);
    if (hop.why == Hop::Why::kUnknown || hop.why == Hop::Why::kLooping) [[unlikely]] {
        ++(hop.why == Hop::Why::kUnknown ? plant_.odd(rx.self).dlid_mapping_errors
                                         : plant_.odd(rx.self).looping_errors);
        discard(index);
        return;
    }
    if ((rx.special & rx_special::kPartitioned) != 0 && refuse_out(rx, number, packet))
        [[unlikely]] {
        discard(index);
        return;
    }
    const std::uint32_t out = rx.first_out + number;
    if (hop.slower_in && fresh) [[unlikely]] {
        // It starts late enough not to run dry.
        schedule_.post(now() + link::transmit_time(packet.bytes, rx.block_ps) -
                           plant_.transmit_time(out, packet.bytes),
                       packet.in_link, EventKind::kReady, index, packet.since_units);
        return;
    }
    if (hop.why == Hop::Why::kNoLane) [[unlikely]] {
        ++plant_.odd(rx.self).vl_mapping_errors;
        discard(index);
        return;
    }
    offer(out, hop.vl, index, packet);
}

/// Gives a packet to a port, which sends it now or queues it behind packets that wait.
void Mover::offer(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet) {
    Tx& tx = plant_.tx(port);
    constexpr auto kOdd = tx_special::kClosed | tx_special::kMarks | tx_special::kEthernet;
    if ((tx.special & kOdd) != 0 || may_stall(tx)) {
        if (offer_odd(port, vl, index, packet)) {
            return;
        }
    }
    Lane& to = plant_.lane(port, vl);
    const std::uint16_t blocks = link::blocks_of(packet.bytes);
    if (tx.waiting == 0 && tx.free_at <= now() && (tx.special & tx_special::kPartial) == 0 &&
        (vl == link::kVl15 || to.may_send(blocks, now()))) {
        transmit(port, vl, tx, to, index, packet, blocks);
        return;
    }
    packet.vl = vl;
    if ((tx.special & tx_special::kLimited) != 0 && vl != link::kVl15) {
        watch(port, tx);
    }
    if (to.head != kNone) {
        queues_.line_up(plant_.lane_index(port, vl), to, index, packet, input_of(packet), blocks);
        return;  // A wake is scheduled, or a release of credits will schedule one.
    }
    queues_.begin(to, index, packet, blocks, units(now()));
    tx.waiting = static_cast<std::uint16_t>(tx.waiting | 1U << vl);
    if (tx.free_at > now()) {
        wake_at(port, tx, tx.free_at);
    } else {
        send_next(port, tx);
    }
}

/// Returns the number of the input of a switch by which a packet came.
inline std::uint32_t Mover::input_of(const Packet& packet) const {
    if (packet.in_link == kNone) {
        return Queues::kOwn;
    }
    const std::uint32_t in =
        (packet.flags & packet_flag::kCopy) == 0 ? packet.in_link : queues_[packet.in_link].in_link;
    return in == kNone ? 0U : plant_.rx(in).port;
}

void Mover::wake(std::uint32_t port) {
    Tx& tx = plant_.tx(port);
    if (tx.wake_at != now()) {
        return;  // Another wake has taken the place of this one.
    }
    tx.wake_at = kNever;
    if (tx.waiting == 0) {
        return;
    }
    if (tx.free_at > now()) {
        plan(port, tx, tx.free_at);
    } else {
        send_next(port, tx);
    }
}

/// Returns the lanes that have packets and are in the arbitration lists.
inline std::uint16_t Mover::waiting_lanes(std::uint32_t port, const Tx& tx) const {
    return (tx.special & tx_special::kPartial) == 0
               ? tx.waiting
               : static_cast<std::uint16_t>(tx.waiting & plant_.arbitration(port).lanes());
}

/// Sends the next packet of a port whose cable is free and at which packets wait.
void Mover::send_next(std::uint32_t port, Tx& tx) {
    std::uint16_t ready = 0;
    for_each_lane(waiting_lanes(port, tx), [&](std::uint8_t vl) {
        Lane& from = plant_.lane(port, vl);
        if (vl == link::kVl15 || from.may_send(from.head_blocks, now())) {
            ready = static_cast<std::uint16_t>(ready | 1U << vl);
        }
        return true;
    });
    if (ready == 0) {
        plan(port, tx, now());
        return;
    }
    // Lanes take turns only while they compete: one alone costs no look at the lists.
    auto vl = static_cast<std::uint8_t>(std::countr_zero(ready));
    if ((ready & (ready - 1)) != 0) {
        vl = plant_.arbiter(port).choose(plant_.arbitration(port), ready);
        SOFTIB_CHECK(vl != link::kNoVl);  // All lanes that are ready are in a list.
        plant_.arbiter(port).charge(queues_[plant_.lane(port, vl).head].bytes);
    }
    Lane& from = plant_.lane(port, vl);
    const std::uint16_t blocks = from.head_blocks;
    const std::uint32_t index = pop_head(port, tx, vl, from);
    transmit(port, vl, tx, from, index, queues_[index], blocks);
    if (tx.waiting != 0) {
        plan(port, tx, tx.free_at);
    }
}

std::uint32_t Mover::pop_head(std::uint32_t port, Tx& tx, std::uint8_t vl, Lane& from) {
    if ((tx.special & tx_special::kCounted) != 0) [[unlikely]] {
        lane_counts_.pop(plant_.index_of(from), from,
                         sw::congested_from(plant_.marking(port), plant_.buffer_blocks()), now());
    }
    const std::uint32_t index = queues_.pop(from, units(now()));
    if (from.head == kNone) {
        tx.waiting = static_cast<std::uint16_t>(tx.waiting & ~(1U << vl));
    }
    return index;
}

/// Schedules the next wake of a port at which packets wait and whose cable is free from `from` on:
/// when a lane has, or will have, credits for its first packet.
void Mover::plan(std::uint32_t port, Tx& tx, TimePs from) {
    TimePs at = kNever;
    for_each_lane(waiting_lanes(port, tx), [&](std::uint8_t vl) {
        Lane& waits = plant_.lane(port, vl);
        if (vl == link::kVl15 || waits.may_send(waits.head_blocks, now())) {
            at = from;
            return false;
        }
        waits.starved = Lane::kStarved;
        at = std::min(at, std::max(waits.credits_at(waits.head_blocks, now()), from));
        return true;
    });
    if (at != from && tx.blocked_at == kNever) {
        tx.blocked_at = from;
    }
    if (at != kNever) {
        wake_at(port, tx, at);
    }
}

/// Begins to send a packet, which is in no queue.
void Mover::transmit(std::uint32_t port, std::uint8_t vl, Tx& tx, Lane& on, std::uint32_t index,
                     Packet& packet, std::uint16_t blocks) {
    const TimePs takes = link::transmit_time(packet.bytes, tx.block_ps);
    tx.free_at = now() + takes;
    tx.words += packet.bytes / 4U;
    ++tx.packets;
    ++stats_.hops;
    on.fctbs = link::count_after(on.fctbs, blocks);
    if (tx.blocked_at != kNever) {
        tx.wait_ps += now() - tx.blocked_at;
        tx.blocked_at = kNever;
    }
    if (packet.in_link == kNone) {
        outbox_.left.push_back({port, packet});
    } else if ((packet.flags & packet_flag::kCopy) == 0) [[likely]] {
        release(packet.in_link, packet.in_vl, blocks, tx.free_at);
    } else {
        leave_buffer(packet, tx.free_at);
        packet.flags &= static_cast<std::uint8_t>(~packet_flag::kCopy);
    }
    packet.in_link = port;
    packet.in_vl = vl;
    packet.flags |= packet_flag::kOnCable;
    constexpr auto kOdd =
        tx_special::kFaulty | tx_special::kCrosses | tx_special::kEthernet | tx_special::kCounted;
    if ((tx.special & kOdd) != 0 || may_stall(tx)) [[unlikely]] {
        if (leave_odd(port, index, packet)) {
            return;
        }
    }
    schedule_.post(now() + tx.delay_ps + (tx.to_adapter != 0 ? takes : 0), port,
                   EventKind::kArrival, index, vl);
}

/// Returns credits: room in the buffer at the end of a link is free from `at` on.
void Mover::release(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks, TimePs at) {
    if (ethernet_) [[unlikely]] {
        release_ethernet(link, vl, blocks, at);
        return;
    }
    Lane& credited = plant_.lane(link, vl);
    if (vl == link::kVl15) [[unlikely]] {
        credited.fccl = static_cast<std::uint16_t>(credited.fccl - blocks);  // See finds_room().
        return;
    }
    const std::uint32_t point = credited.point_of(at, now());
    if (!credited.has_slot(point)) {
        credited.absorb(credited.grid(schedule_.reached()));
        if (!credited.has_slot(point)) [[unlikely]] {
            if (has_windows()) {
                round_.late.push_back({at, link, blocks, vl});
            } else {
                schedule_.queue().push(at, link, EventKind::kRelease, kNone,
                                       std::uint32_t{vl} << 16 | blocks);
            }
            plant_.deferred(link, vl) += blocks;
            return;
        }
    }
    credited.give_back(point, blocks);
    if (credited.starved != 0) {
        if (credited.starved == Lane::kRemote) [[unlikely]] {
            cross(link, {.at = at, .link = plant_.rx(link).name, .blocks = blocks, .vl = vl});
            return;
        }
        credited.absorb(credited.grid(schedule_.reached()));
        const TimePs credits = credited.credits_at(credited.head_blocks, now());
        if (credits != kNever) {
            wake_at(link, plant_.tx(link), std::max(credits, plant_.tx(link).free_at));
        }
    }
}

}  // namespace softib::net
