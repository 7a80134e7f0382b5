// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/engine.h"

#include <algorithm>
#include <bit>
#include <span>

#include "core/base/check.h"
#include "net/plant/fetch.h"

namespace softib::net {

/// Returns the width of a bucket at which those of a busy fabric hold some tens of events.
unsigned Engine::bucket_width(std::uint32_t ports) {
    const auto bits = static_cast<unsigned>(std::bit_width(ports));
    return bits <= 11 ? 12U : bits >= 17 ? 6U : 23 - bits;
}

namespace {

/// Calls visit(lane number) for every bit, until it returns false.
void for_each_lane(std::uint16_t mask, auto visit) {
    for (; mask != 0; mask &= static_cast<std::uint16_t>(mask - 1)) {
        if (!visit(static_cast<std::uint8_t>(std::countr_zero(mask)))) {
            return;
        }
    }
}

}  // namespace

Engine::Engine(const topo::Fabric& fabric, const PlantConfig& config, unsigned width)
    : Plant(fabric, config), queue_(width != 0 ? width : bucket_width(port_count())) {}

void Engine::inject(std::uint32_t port, Packet packet) {
    SOFTIB_CHECK(packet.bytes != 0 && packet.bytes <= config_.packet_bytes_max && connected(port));
    ++stats_.injected;
    packet.in_link = kNone;
    packet.since_units = units(now());
    packet.in_vl = packet.vl == link::kVl15 ? link::kVl15 : std::uint8_t{0};
    if (peer(port) == port) {
        // From a switch's agent, by its tables.
        const std::uint32_t index = packets_.make(packet);
        forward(rx_[port], index, packets_[index], false);
        return;
    }
    if (packet.vl != link::kVl15) {
        packet.vl = first_lane(port, packet.sl);
        if (packet.vl >= config_.data_vls) [[unlikely]] {
            discard(packets_.make(packet));  // Its service level has no lane here.
            return;
        }
    }
    if (packet.dlid >= kLidMulticastMin.value && packet.dlid != kLidPermissive.value) [[unlikely]] {
        ++odd(port).multicast_xmit_packets;
    }
    const std::uint32_t index = packets_.make(packet);
    offer(port, packet.vl, index, packets_[index]);
}

void Engine::handle(const Event& event) {
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

void Engine::handle_rare(const Event& event) {
    switch (event.kind()) {
        case EventKind::kReady:
            if (rx_[event.link()].to_adapter != 0) {
                take(event.link(), event.packet);
            } else {
                forward(rx_[event.link()], event.packet, packets_[event.packet], false);
            }
            break;
        case EventKind::kRelease: {
            const auto vl = static_cast<std::uint8_t>(event.extra >> 16);
            const auto blocks = static_cast<std::uint16_t>(event.extra);
            deferred(event.link(), vl) -= blocks;
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

void Engine::arrive(const Event& event) {
    const std::uint32_t in = event.link();
    Rx& rx = rx_[in];
    Packet& packet = packets_[event.packet];
    constexpr auto kOdd =
        static_cast<std::uint8_t>(~(rx_special::kAdaptive | rx_special::kPartitioned));
    if (((rx.special & kOdd) | (packet.flags & packet_flag::kSeen) |
         (packet.in_vl == link::kVl15)) != 0) [[unlikely]] {
        if (arrive_odd(in, rx, event.packet, packet)) {
            return;
        }
    }
    rx.words += packet.bytes / 4U;
    ++rx.packets;
    log(rx.name, packet);
    if (rx.to_adapter != 0) {
        take(in, event.packet);
        return;
    }
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    packet.since_units = units(now());
    forward(rx, event.packet, packet, true);
}

/// Takes a packet that has come to an HCA, a switch's agent or a router.
void Engine::take(std::uint32_t in, std::uint32_t index) {
    if (rx_[in].to_adapter == kToRouter) [[unlikely]] {
        route_packet(in, index);
        return;
    }
    taken_ = true;
    taken_port_ = rx_[in].first_out;
    taken_packet_ = packets_[index];  // A processor waits here if some of it was just written.
    taken_packet_.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    if (taken_packet_.dlid >= kLidMulticastMin.value && taken_packet_.dlid != kLidPermissive.value)
        [[unlikely]] {
        ++odd(taken_port_).multicast_rcv_packets;
    }
    release(in, taken_packet_.in_vl, link::blocks_of(taken_packet_.bytes), now());
    packets_.free(index);
    ++stats_.delivered;
}

/// Forwards a packet inside a switch. `fresh`: its first bits have just been looked up.
void Engine::forward(const Rx& rx, std::uint32_t index, Packet& packet, bool fresh) {
    if ((rx.special & rx_special::kPartitioned) != 0 && refuse_in(rx, packet)) [[unlikely]] {
        discard(index);
        return;
    }
    if (packet.dlid >= lft_stride_) [[unlikely]] {
        copy_out(rx, index);
        return;
    }
    std::uint8_t number = lfts_[rx.lft + packet.dlid];
    if (((rx.special & rx_special::kAdaptive) != 0) &
        ((packet.flags & packet_flag::kAdaptive) != 0)) {
        number = choose_port(rx, packet, number);
    }
    if (const sw::Relay relayed = sw::relay(number, rx.port); relayed != sw::Relay::kOn)
        [[unlikely]] {
        ++(relayed == sw::Relay::kUnknown ? odd(rx.self).dlid_mapping_errors
                                          : odd(rx.self).looping_errors);
        discard(index);
        return;
    }
    if ((rx.special & rx_special::kPartitioned) != 0 && refuse_out(rx, number, packet))
        [[unlikely]] {
        discard(index);
        return;
    }
    const std::uint32_t out = rx.first_out + number;
    if (rx.block_ps > tx_[out].block_ps && fresh) [[unlikely]] {
        // The packet comes in slower than it goes out: it starts late enough not to run dry.
        post(now() + link::transmit_time(packet.bytes, rx.block_ps) -
                 link::transmit_time(packet.bytes, tx_[out].block_ps),
             packet.in_link, EventKind::kReady, index, packet.since_units);
        return;
    }
    std::uint8_t vl = link::kVl15;
    if (packet.in_vl != link::kVl15) [[likely]] {
        vl = rx.sl_rows == kNone ? lane_of(packet.sl)
                                 : rows_[sl_rows_[rx.sl_rows + number]][packet.sl];
        if (vl >= config_.data_vls) [[unlikely]] {
            ++odd(rx.self).vl_mapping_errors;
            discard(index);
            return;
        }
    }
    offer(out, vl, index, packet);
}

/// Gives a packet to a port, which sends it now or queues it behind packets that wait.
void Engine::offer(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet) {
    Tx& tx = tx_[port];
    if ((tx.special & (tx_special::kClosed | tx_special::kMarks)) != 0 || may_stall(tx)) {
        if (offer_odd(port, vl, index, packet)) {
            return;
        }
    }
    Lane& to = lane(port, vl);
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
        line_up(port, vl, to, index, packet);
        to.queued_blocks += blocks;
        return;  // A wake is scheduled, or a release of credits will schedule one.
    }
    packet.next = kNone;
    packet.round_or_copies = static_cast<std::uint16_t>(units(now()) / kRound * kRound);
    to.head = index;
    to.head_round = to.tail_round = packet.round_or_copies;
    to.queued_blocks = blocks;
    to.head_blocks = static_cast<std::uint8_t>(blocks);
    to.head_since_units = units(now());
    tx.waiting = static_cast<std::uint16_t>(tx.waiting | 1U << vl);
    if (tx.free_at > now()) {
        wake_at(port, tx, tx.free_at);
    } else {
        send_next(port, tx);
    }
}

// The inputs of a switch take turns at a lane: 4 KiB for each input in a round. A queue is in the
// order of its rounds. Round numbers are multiples of kRound. The next turn of an input is the
// number of its round plus what the input has used of that round, in units of 512 bytes. The
// present round is that of the queue's first packet. The next packet of an input joins the round of
// its next turn, or the present round if that one is over. A queue that was empty begins with a
// round number taken from the clock. Rounds advance more slowly than the clock, so turns that
// inputs have left from earlier queues lie behind.

/// Returns the round of a packet that is put into a queue, and charges its input for it.
std::uint16_t Engine::turn(std::uint32_t port, std::uint8_t vl, const Lane& to,
                           const Packet& packet) {
    const std::uint16_t newest = to.tail_round;
    if (packet.in_link == kNone) {
        return newest;
    }
    const std::uint32_t in = (packet.flags & packet_flag::kCopy) == 0
                                 ? packet.in_link
                                 : packets_[packet.in_link].in_link;
    std::uint16_t& next = turns_at_[lane_index(port, vl) * turns_stride_ +
                                    (in == kNone ? std::size_t{0} : rx_[in].port)];
    const std::uint16_t at_hand = to.head_round;
    const auto open = static_cast<std::uint16_t>(newest - at_hand);
    if (static_cast<std::uint16_t>(next - at_hand) >= open + 2 * kRound) {
        next = at_hand;  // The input's last turn lies behind the present round.
    }
    auto round = static_cast<std::uint16_t>(next / kRound * kRound);
    if (static_cast<std::uint16_t>(round - at_hand) >= kRound * kRoundsOpen) {
        next = round = newest;  // Too many rounds are open: packets go in the order they came.
    }
    next = static_cast<std::uint16_t>(next + std::max(packet.bytes * kRound / kRoundBytes, 1U));
    return round;
}

/// Puts a packet into a queue that is not empty, behind all packets of its round.
void Engine::line_up(std::uint32_t port, std::uint8_t vl, Lane& to, std::uint32_t index,
                     Packet& packet) {
    const std::uint16_t round = turn(port, vl, to, packet);
    std::uint32_t* ends = round_ends_.data() + std::size_t{lane_index(port, vl)} * kRoundsOpen;
    const auto end_of = [&](std::uint16_t round_number) -> std::uint32_t& {
        return ends[round_number / kRound % kRoundsOpen];
    };
    if (to.queued_blocks == to.head_blocks) {
        end_of(to.tail_round) = to.head;  // The head was alone in the queue.
    }
    const bool opens = round == static_cast<std::uint16_t>(to.tail_round + kRound);
    const std::uint32_t before = end_of(opens ? to.tail_round : round);
    packet.round_or_copies = round;
    packet.next = packets_[before].next;
    packets_[before].next = index;
    end_of(round) = index;
    if (opens) {
        to.tail_round = round;
    }
}

void Engine::wake(std::uint32_t port) {
    Tx& tx = tx_[port];
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

/// Sends the next packet of a port whose cable is free and at which packets wait.
void Engine::send_next(std::uint32_t port, Tx& tx) {
    std::uint16_t ready = 0;
    for_each_lane(waiting_lanes(port, tx), [&](std::uint8_t vl) {
        Lane& from = lane(port, vl);
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
        const link::ArbitrationTable& table = tables_[table_of_[port]];
        vl = arbiters_[port].choose(table, ready);
        SOFTIB_CHECK(vl != link::kNoVl);  // All lanes that are ready are in a list.
        arbiters_[port].charge(packets_[lane(port, vl).head].bytes);
    }
    send_head(port, vl, tx);
}

std::uint32_t Engine::pop_head(Tx& tx, std::uint8_t vl, Lane& from) {
    const std::uint32_t index = from.head;
    if ((tx.special & tx_special::kCounted) != 0) [[unlikely]] {
        count_pop(tx, from);
    }
    packets_[index].round_or_copies = 0;
    from.head = packets_[index].next;
    from.queued_blocks -= from.head_blocks;
    from.starved = 0;
    if (from.head == kNone) {
        tx.waiting = static_cast<std::uint16_t>(tx.waiting & ~(1U << vl));
    } else {
        from.head_blocks = static_cast<std::uint8_t>(link::blocks_of(packets_[from.head].bytes));
        from.head_round = packets_[from.head].round_or_copies;
        // The packet behind the new head comes soon.
        __builtin_prefetch(place_of(packets_.data(), packets_[from.head].next));
        from.head_since_units = units(now());
    }
    return index;
}

void Engine::send_head(std::uint32_t port, std::uint8_t vl, Tx& tx) {
    Lane& from = lane(port, vl);
    const std::uint16_t blocks = from.head_blocks;
    const std::uint32_t index = pop_head(tx, vl, from);
    transmit(port, vl, tx, from, index, packets_[index], blocks);
    if (tx.waiting != 0) {
        plan(port, tx, tx.free_at);
    }
}

/// Schedules the next wake of a port at which packets wait and whose cable is free from `from` on:
/// when a lane has, or will have, credits for its first packet.
void Engine::plan(std::uint32_t port, Tx& tx, TimePs from) {
    TimePs at = kNever;
    for_each_lane(waiting_lanes(port, tx), [&](std::uint8_t vl) {
        Lane& waits = lane(port, vl);
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
void Engine::transmit(std::uint32_t port, std::uint8_t vl, Tx& tx, Lane& on, std::uint32_t index,
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
        left_.push_back({port, packet});
    } else if ((packet.flags & packet_flag::kCopy) == 0) [[likely]] {
        release(packet.in_link, packet.in_vl, blocks, tx.free_at);
    } else {
        leave_buffer(packet, tx.free_at);
        packet.flags &= static_cast<std::uint8_t>(~packet_flag::kCopy);
    }
    packet.in_link = port;
    packet.in_vl = vl;
    packet.flags |= packet_flag::kOnCable;
    if ((tx.special & (tx_special::kFaulty | tx_special::kCounted)) != 0 || may_stall(tx))
        [[unlikely]] {
        if (spoil(port, index, packet)) {
            return;
        }
    }
    post(now() + tx.delay_ps + (tx.to_adapter != 0 ? takes : 0), port, EventKind::kArrival, index,
         vl);
}

/// Returns credits: room in the buffer at the end of a link is free from `at` on.
void Engine::release(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks, TimePs at) {
    if (ethernet_ != nullptr) [[unlikely]] {
        release_ethernet(link, vl, blocks, at);
        return;
    }
    Lane& credited = lane(link, vl);
    if (vl == link::kVl15) [[unlikely]] {
        credited.fccl = static_cast<std::uint16_t>(credited.fccl - blocks);  // See arrive_odd.
        return;
    }
    const std::uint32_t point = credited.point_of(at, now());
    if (!credited.has_slot(point)) {
        credited.absorb(credited.grid(reached()));
        if (!credited.has_slot(point)) [[unlikely]] {
            if (windows_.on()) {
                late_.push_back({at, link, blocks, vl});
            } else {
                queue_.push(at, link, EventKind::kRelease, kNone, std::uint32_t{vl} << 16 | blocks);
            }
            deferred(link, vl) += blocks;
            return;
        }
    }
    credited.give_back(point, blocks);
    if (credited.starved != 0) {
        if (credited.starved == Lane::kRemote) [[unlikely]] {
            cross(link, {.at = at, .link = rx_[link].name, .blocks = blocks, .vl = vl});
            return;
        }
        credited.absorb(credited.grid(reached()));
        const TimePs credits = credited.credits_at(credited.head_blocks, now());
        if (credits != kNever) {
            wake_at(link, tx_[link], std::max(credits, tx_[link].free_at));
        }
    }
}

}  // namespace softib::net
