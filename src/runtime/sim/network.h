// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Packets on their way through a Plant. One event per hop: when a port begins to send, the moment
// at which the next switch can send it on (its first bits have come and were looked up) is
// scheduled at once. A port that cannot send is woken when its cable is free or its credits are
// back, and a wake is scheduled only if something waits.
//
// A switch keeps a packet in the buffer of the link by which it came until its last bit has left,
// and lines it up at its out port and lane. Packets for different ports never wait for each other
// (virtual output queues); of packets for the same lane of a port the one that came first goes
// first.
//
// Who sits at adapters' ports (and at port 0 of switches) is the template's argument:
//   void deliver(Network&, port, const Packet&)   a packet has come in whole; it is gone after this
//   void sent(Network&, port, const Packet&)      a packet injected here has begun to leave
//   void timer(Network&, port, what)              as asked for by set_timer
// They may call inject() and set_timer(). No call is virtual, and nothing is allocated per hop.

#include <bit>
#include <cstdint>

#include "core/base/check.h"
#include "runtime/sim/plant.h"

namespace softib::sim {

struct NetworkStats {
    std::uint64_t events = 0;
    std::uint64_t hops = 0;  ///< Packets put on a cable; a switch's way to its agent is none.
    std::uint64_t delivered = 0;
    std::uint64_t injected = 0;
    std::uint64_t discarded = 0;
    /// Of every arrival: when, where, what. A sum, so that the order of handling does not show.
    std::uint64_t log_hash = 0;
};

template <typename Ends>
class Network : public Plant {
  public:
    /// `width`: of a bucket of the event queue, 2^width ps; 0: chosen. It changes no result.
    Network(const topo::Fabric& fabric, const PlantConfig& config, Ends& ends, unsigned width = 0)
        : Plant(fabric, config),
          ends_(ends),
          queue_(width != 0 ? width : bucket_width(port_count())) {}

    TimePs now() const { return queue_.now(); }
    const NetworkStats& stats() const { return stats_; }
    std::uint64_t packets_inside() const { return packets_.live(); }
    bool idle() const { return queue_.empty(); }
    std::size_t bytes() const { return Plant::bytes() + queue_.bytes(); }

    /// Sends a packet from an adapter's port, or from port 0 of a switch. It waits there as long as
    /// it must: whoever minds how many wait counts sent().
    void inject(std::uint32_t port, Packet packet) {
        ++stats_.injected;
        packet.in_link = kNone;
        packet.vl = first_lane(port, packet.sl);
        const std::uint32_t index = packets_.make(packet);
        offer(port, packet.vl, index, packets_[index]);
    }
    void set_timer(std::uint32_t port, TimePs at, std::uint32_t what) {
        queue_.push(at, port, EventKind::kTimer, kNone, what);
    }

    /// Handles all events up to a time; now() is that time afterwards, or that of the last event.
    void run(TimePs until = kNever) {
        while (queue_.due(until)) {
            const Event event = queue_.pop();
            if (queue_.begins_bucket()) {
                look_ahead();
            }
            look_near();
            ++stats_.events;
            switch (event.kind()) {
                case EventKind::kArrival:
                    arrive(event);
                    break;
                case EventKind::kReady:
                    forward(rx_[event.link()], event.packet, packets_[event.packet], false);
                    break;
                case EventKind::kWake:
                    wake(event.link());
                    break;
                case EventKind::kRelease:
                    deferred(event.link(), static_cast<std::uint8_t>(event.extra >> 16)) -=
                        event.extra & 0xFFFF;
                    release(event.link(), static_cast<std::uint8_t>(event.extra >> 16),
                            static_cast<std::uint16_t>(event.extra), now());
                    break;
                case EventKind::kTimer:
                    ends_.timer(*this, event.link(), event.extra);
                    break;
                case EventKind::kControl:
                    break;
            }
        }
        if (until != kNever) {
            queue_.set_now(until);
        }
    }

  private:
    /// So that a bucket of a busy fabric holds a handful of events.
    static unsigned bucket_width(std::uint32_t ports) {
        const unsigned bits = static_cast<unsigned>(std::bit_width(ports));
        return bits >= 20 ? 4 : bits <= 12 ? 12 : 24 - bits;
    }
    std::uint8_t first_lane(std::uint32_t port, std::uint8_t sl) const {
        const std::uint32_t row = tx_[port].sl_row;
        return row == kNone ? lane_of(sl) : rows_[row][sl];
    }
    std::uint8_t lane_of(std::uint8_t sl) const {
        return sl < config_.data_vls ? sl : static_cast<std::uint8_t>(sl % config_.data_vls);
    }
    static std::uint32_t units(TimePs at) {
        return static_cast<std::uint32_t>(at >> Lane::kUnitShift);
    }

    void arrive(const Event& event) {
        const std::uint32_t in = event.link();
        Rx& rx = rx_[in];
        Packet& packet = packets_[event.packet];
        rx.words += packet.bytes / 4U;
        ++rx.packets;
        packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
        log(in, packet);
        if (rx.to_adapter != 0) {
            take(in, event.packet);
            return;
        }
        packet.since_ns = units(now());
        forward(rx, event.packet, packet, true);
    }

    /// In a switch. `fresh`: its first bits have just been looked up.
    void forward(const Rx& rx, std::uint32_t index, Packet& packet, bool fresh) {
        const std::uint8_t number = lfts_[rx.lft + packet.dlid];
        if (number == kNoPath) [[unlikely]] {
            ++odd(rx.self).rcv_relay;
            discard(index);
            return;
        }
        const std::uint32_t out = rx.first_out + number;
        if (rx.block_ps > tx_[out].block_ps && fresh) [[unlikely]] {
            // It comes in slower than it goes out: it starts so late that it does not run dry.
            queue_.push(now() + link::transmit_time(packet.bytes, rx.block_ps) -
                            link::transmit_time(packet.bytes, tx_[out].block_ps),
                        packet.in_link, EventKind::kReady, index);
            return;
        }
        const std::uint8_t vl = rx.sl_rows == kNone
                                    ? lane_of(packet.sl)
                                    : rows_[sl_rows_[rx.sl_rows + number]][packet.sl];
        offer(out, vl, index, packet);
    }

    /// At an adapter.
    void take(std::uint32_t in, std::uint32_t index) {
        const Packet packet = packets_[index];
        release(in, packet.in_vl, link::blocks_of(packet.bytes), now());
        packets_.free(index);
        ++stats_.delivered;
        ends_.deliver(*this, rx_[in].first_out, packet);
    }

    void discard(std::uint32_t index) {
        const Packet& packet = packets_[index];
        release(packet.in_link, packet.in_vl, link::blocks_of(packet.bytes), now());
        ++stats_.discarded;
        packets_.free(index);
    }

    /// To be sent by a port: now, or after those that wait.
    void offer(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet) {
        Tx& tx = tx_[port];
        Lane& to = lane(port, vl);
        const std::uint16_t blocks = link::blocks_of(packet.bytes);
        if (tx.waiting == 0 && tx.free_at <= now() && to.may_send(blocks, now())) {
            transmit(port, vl, tx, to, index, packet, blocks);
            return;
        }
        packet.vl = vl;
        packet.next = kNone;
        to.queued_blocks = static_cast<std::uint16_t>(to.queued_blocks + blocks);
        if (to.head != kNone) {
            packets_[to.tail].next = index;
            to.tail = index;
            return;  // A wake is planned, or a release will plan one.
        }
        to.head = to.tail = index;
        to.head_blocks = static_cast<std::uint8_t>(blocks);
        to.head_since_ns = units(now());
        tx.waiting = static_cast<std::uint16_t>(tx.waiting | 1U << vl);
        if (tx.free_at > now()) {
            wake_at(port, tx, tx.free_at);
        } else {
            send_next(port, tx);
        }
    }

    void wake_at(std::uint32_t port, Tx& tx, TimePs at) {
        if (at < tx.wake_at) {
            tx.wake_at = at;
            queue_.push(at, port, EventKind::kWake);
        }
    }

    void wake(std::uint32_t port) {
        Tx& tx = tx_[port];
        if (tx.wake_at != now()) {
            return;  // An earlier one has done its work.
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

    /// The cable is free and something waits.
    void send_next(std::uint32_t port, Tx& tx) {
        std::uint16_t ready = 0;
        for (std::uint16_t rest = tx.waiting; rest != 0;
             rest &= static_cast<std::uint16_t>(rest - 1)) {
            const auto vl = static_cast<std::uint8_t>(std::countr_zero(rest));
            Lane& from = lane(port, vl);
            if (vl == link::kVl15 || from.may_send(from.head_blocks, now())) {
                ready = static_cast<std::uint16_t>(ready | 1U << vl);
            }
        }
        if (ready == 0) {
            plan(port, tx, now());
            return;
        }
        // Lanes take turns only while they compete: one alone costs no look at the tables.
        std::uint8_t vl = static_cast<std::uint8_t>(std::countr_zero(ready));
        if ((ready & (ready - 1)) != 0) {
            vl = arbiters_[port].choose(tables_[table_of_[port]], ready);
            if (vl == link::kNoVl) {
                return;
            }
            arbiters_[port].charge(tables_[table_of_[port]], packets_[lane(port, vl).head].bytes);
        }
        send_head(port, vl, tx);
    }

    void send_head(std::uint32_t port, std::uint8_t vl, Tx& tx) {
        Lane& from = lane(port, vl);
        const std::uint32_t index = from.head;
        Packet& packet = packets_[index];
        const std::uint16_t blocks = from.head_blocks;
        from.head = packet.next;
        from.queued_blocks = static_cast<std::uint16_t>(from.queued_blocks - blocks);
        from.starved = 0;
        if (from.head == kNone) {
            tx.waiting = static_cast<std::uint16_t>(tx.waiting & ~(1U << vl));
        } else {
            from.head_blocks =
                static_cast<std::uint8_t>(link::blocks_of(packets_[from.head].bytes));
            from.head_since_ns = units(now());
        }
        transmit(port, vl, tx, from, index, packet, blocks);
        if (tx.waiting != 0) {
            plan(port, tx, tx.free_at);
        }
    }

    /// Something waits, and the cable is free from `from` on: when is the next look worth while?
    void plan(std::uint32_t port, Tx& tx, TimePs from) {
        TimePs at = kNever;
        for (std::uint16_t rest = tx.waiting; rest != 0;
             rest &= static_cast<std::uint16_t>(rest - 1)) {
            const auto vl = static_cast<std::uint8_t>(std::countr_zero(rest));
            Lane& waits = lane(port, vl);
            if (vl == link::kVl15 || waits.may_send(waits.head_blocks, now())) {
                at = from;
                break;
            }
            waits.starved = 1;
            const TimePs credits = waits.credits_at(waits.head_blocks, now());
            at = std::min(at, std::max(credits, from));
        }
        if (at != from && tx.blocked_at == kNever) {
            tx.blocked_at = from;
        }
        if (at != kNever) {
            wake_at(port, tx, at);
        }
    }

    /// `packet` stands in no queue.
    void transmit(std::uint32_t port, std::uint8_t vl, Tx& tx, Lane& on, std::uint32_t index,
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
        const std::uint32_t in = packet.in_link;
        const std::uint8_t in_vl = packet.in_vl;
        packet.in_link = port;
        packet.in_vl = vl;
        packet.flags |= packet_flag::kOnCable;
        queue_.push(now() + tx.delay_ps + (tx.to_adapter != 0 ? takes : 0), port,
                    EventKind::kArrival, index, vl);
        if (in != kNone) {
            release(in, in_vl, blocks, tx.free_at);
        } else {
            const Packet copy = packet;
            ends_.sent(*this, port, copy);
        }
    }

    /// Room in the buffer at the end of a link is free from `at` on.
    void release(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks, TimePs at) {
        Lane& of = lane(link, vl);
        of.absorb(of.grid(now()));
        const std::uint32_t point = of.point_of(at);
        if (!of.has_slot(point)) [[unlikely]] {
            queue_.push(at, link, EventKind::kRelease, kNone, std::uint32_t{vl} << 16 | blocks);
            deferred(link, vl) += blocks;
            return;
        }
        of.give_back(point, blocks);
        if (of.starved != 0) {
            const TimePs credits = of.credits_at(of.head_blocks, now());
            if (credits != kNever) {
                wake_at(link, tx_[link], std::max(credits, tx_[link].free_at));
            }
        }
    }

    void log(std::uint32_t link, const Packet& packet) {
        std::uint64_t x = now() * 0x9E3779B97F4A7C15 + link;
        x ^= std::uint64_t{packet.dlid} << 48 | std::uint64_t{packet.slid} << 32 |
             std::uint64_t{packet.bytes} << 16 | std::uint64_t{packet.in_vl} << 8 | packet.flags;
        x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
        stats_.log_hash += x ^ x >> 32;
    }

    // What an event will touch is fetched in three steps, each of which reads what the one before
    // has fetched: a bucket ahead the records of link and packet, then the forwarding table and the
    // lane it came by, then the port it goes to. Of a wake: the lane, its first packet, and the
    // lane that packet came by.
    void look_ahead() {
        queue_.prefetch_bucket(2);
        queue_.peek(1, [this](const Event& event) {
            if (event.kind() == EventKind::kArrival) {
                __builtin_prefetch(&rx_[event.link()]);
                __builtin_prefetch(&packets_[event.packet]);
            } else {
                __builtin_prefetch(&tx_[event.link()]);
                __builtin_prefetch(&lanes_[event.link()]);
            }
        });
    }
    void look_near() {
        const std::span<const Event> rest = queue_.rest();
        if (rest.size() > kFar) {
            look_second(rest[kFar]);
        }
        if (rest.size() > kNear) {
            look_third(rest[kNear]);
        }
    }
    void look_second(const Event& event) {
        if (event.kind() == EventKind::kArrival) {
            __builtin_prefetch(&lfts_[rx_[event.link()].lft + packets_[event.packet].dlid]);
            __builtin_prefetch(&lane(event.link(), static_cast<std::uint8_t>(event.extra)));
        } else if (const std::uint32_t head = lanes_[event.link()].head; head != kNone) {
            __builtin_prefetch(&packets_[head]);
        }
    }
    void look_third(const Event& event) {
        if (event.kind() == EventKind::kArrival) {
            const Rx& rx = rx_[event.link()];
            const std::uint32_t out = rx.first_out + lfts_[rx.lft + packets_[event.packet].dlid];
            __builtin_prefetch(tx_.data() + out);
            __builtin_prefetch(lanes_.data() + out);
        } else if (const std::uint32_t head = lanes_[event.link()].head; head != kNone) {
            const Packet& packet = packets_[head];
            __builtin_prefetch(lanes_.data() + packet.in_link);
            __builtin_prefetch(packets_.data() + packet.next);
        }
    }
    static constexpr std::size_t kFar = 10;
    static constexpr std::size_t kNear = 4;

    Ends& ends_;
    EventQueue queue_;
    NetworkStats stats_;
};

}  // namespace softib::sim
