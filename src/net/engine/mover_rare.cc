// SPDX-License-Identifier: BSD-2-Clause
// What few packets meet at a port: faults, marks, guards, the choice among ports, multicast copies,
// routers.
#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "net/engine/for_each_lane.h"
#include "net/engine/mover_inline.h"

namespace softib::net {

namespace {

/// Blocks that must wait on the short way before a longer one is worth while: two packets of 4 KiB.
constexpr std::uint64_t kDetourBlocks = 130;

}  // namespace

// Arrival.

/// Handles an arrival that is out of the ordinary. Returns true if nothing is left to do for this
/// packet.
bool Mover::arrive_odd(std::uint32_t in, Rx& rx, std::uint32_t index, Packet& packet) {
    if ((rx.special & rx_special::kFlapped) != 0) {
        const Tx& tx = plant_.tx(in);
        const TimePs whole = rx.to_adapter != 0 ? plant_.transmit_time(in, packet.bytes) : 0;
        if (cables_.was_on(in, now() - (tx.delay_ps + whole))) {
            lose(in, index);
            return true;
        }
    }
    const auto count = [&] {
        packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
        rx.words += packet.bytes / 4U;
        ++rx.packets;
        stats_.log(rx.name, packet, now());
    };
    if ((rx.special & rx_special::kCounted) != 0) {
        lane_counts_.received(rx.self, packet);
    }
    if ((rx.special & rx_special::kTapped) != 0 && packet.tag != 0) {
        outbox_.tapped.push_back({rx.self, packet});
    }
    if ((packet.flags & (packet_flag::kFecn | packet_flag::kBecn)) != 0) {
        Odd& seen = plant_.odd(rx.self);
        seen.rcv_fecn += (packet.flags & packet_flag::kFecn) != 0 ? 1 : 0;
        seen.rcv_becn += (packet.flags & packet_flag::kBecn) != 0 ? 1 : 0;
    }
    if (!finds_room(in, rx, packet)) {
        count();
        ++stats_.discarded;
        drop(index);
        return true;
    }
    if ((rx.special & rx_special::kGuarded) != 0 && !may_come_in(rx, packet)) {
        count();
        ++plant_.odd(rx.self).not_ready;
        discard(index);
        return true;
    }
    if ((packet.flags & (packet_flag::kBad | packet_flag::kBrokenHere | packet_flag::kBadInside)) !=
            0 &&
        refuses(rx, packet)) {
        count();
        discard(index);
        return true;
    }
    if ((rx.special & rx_special::kSlow) != 0) {
        count();
        schedule_.post(cables_.handled_at(in, packet.bytes, now()), in, EventKind::kReady, index);
        return true;
    }
    return false;
}

/// Takes a packet into a buffer that no credits guard: VL15's, or that of a switch on Ethernet.
/// Returns false if there is no room, which is counted then.
bool Mover::finds_room(std::uint32_t in, const Rx& rx, const Packet& packet) {
    const std::uint16_t blocks = link::blocks_of(packet.bytes);
    if ((rx.special & rx_special::kEthernet) != 0) {
        Ethernet::Tell tell{};
        if (!ethernet_->arrive({in, plant_.lane_index(in, packet.in_vl), rx.node, blocks}, tell)) {
            ++plant_.odd(rx.self).overflows;
            return false;
        }
        tell_sender(in, packet.in_vl, tell);
    } else if (packet.in_vl == link::kVl15) {
        // What finds no room is dropped. `fccl` counts blocks in the buffer.
        Lane& lane15 = plant_.lane(in, link::kVl15);
        if (lane15.fccl + blocks > plant_.buffer_blocks()) {
            ++plant_.odd(rx.self).vl15_dropped;
            return false;
        }
        lane15.fccl = static_cast<std::uint16_t>(lane15.fccl + blocks);
    }
    return true;
}

/// Returns whether a port takes a packet in its state. Data makes an armed port active (IBA vol. 1,
/// 7.2.7).
bool Mover::may_come_in(const Rx& rx, const Packet& packet) {
    link::PortStateMachine& at = cables_.state(rx.self);
    if (packet.in_vl != link::kVl15 && at.logical() == PortState::kArmed) {
        at.handle_data();
        apply_state(rx.self);
    }
    return at.may_receive(packet.in_vl);
}

/// Counts a broken or malformed packet at the port that it has come to. Returns whether it ends
/// here.
bool Mover::refuses(const Rx& rx, Packet& packet) {
    const bool here = (packet.flags & packet_flag::kBrokenHere) != 0;
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kBrokenHere);
    if ((packet.flags & packet_flag::kBad) != 0) {
        // The port behind the cable that broke the packet sees a wrong CRC. By then its switch has
        // begun to send the packet on, and ends it with an EBP, so that all further ports know.
        ++(here ? plant_.odd(rx.self).local_physical_errors
                : plant_.odd(rx.self).rcv_remote_physical_errors);
        if (here) {
            ++plant_.odd(rx.self).symbol_errors;
            // The broken packet itself is not in rx.packets yet.
            if (cables_.count_broken(rx.self, rx.packets)) {
                ++plant_.odd(rx.self).link_integrity_errors;
            }
        }
    } else if (here) {
        ++plant_.odd(rx.self).malformed_packet_errors;
        return true;
    } else if (rx.to_adapter != 0) {
        ++plant_.odd(rx.self).local_physical_errors;
    }
    return rx.to_adapter != 0;
}

/// Loses a packet on a cable. Its credits return: the sender's next flow control packet says how
/// much the sender has sent (FCTBS), so the receiver knows that the room was never used.
void Mover::lose(std::uint32_t link, std::uint32_t index) {
    const Packet& packet = queues_[index];
    Odd& at = plant_.odd(link);
    ++at.lost;
    at.lost_words += packet.bytes / 4U;
    ++stats_.lost;
    if (packet.in_vl != link::kVl15 && !ethernet_) {
        release(link, packet.in_vl, link::blocks_of(packet.bytes), now());
    }
    drop(index);
}

/// Removes a packet that will not arrive, and reports it if it has a tag.
void Mover::drop(std::uint32_t index) {
    const Packet& packet = queues_[index];
    if (packet.tag != 0) {
        outbox_.dropped.push_back({packet, now()});
    }
    queues_.packets().free(index);
}

void Mover::discard(std::uint32_t index) {
    leave_buffer(queues_[index], now());
    ++stats_.discarded;
    drop(index);
}

/// Gives back a packet's room in the buffer that it came into, from `at` on. Of multicast copies
/// the last one does so.
void Mover::leave_buffer(const Packet& packet, TimePs at) {
    if ((packet.flags & packet_flag::kCopy) == 0) {
        if (packet.in_link != kNone) {
            release(packet.in_link, packet.in_vl, link::blocks_of(packet.bytes), at);
        }
        return;
    }
    const std::uint32_t original = packet.in_link;
    if (Multicast::leave(queues_[original])) {
        leave_buffer(queues_[original], at);
        queues_.packets().free(original);
    }
}

// In a switch.

bool Mover::refuse_in(const Rx& rx, const Packet& packet) {
    if (guards_.lets_in(rx.self, packet)) {
        return false;
    }
    ++plant_.odd(rx.self).rcv_constraint_errors;
    outbox_.refused.push_back({rx.self, true, packet});
    return true;
}

bool Mover::refuse_out(const Rx& rx, std::uint8_t number, const Packet& packet) {
    const std::uint32_t port = rx.first_out + number;
    if (guards_.lets_out(port, packet)) {
        return false;
    }
    ++plant_.odd(port).xmit_constraint_errors;
    outbox_.refused.push_back({port, false, packet});
    return true;
}

/// Returns the port that a switch chooses for a packet that allows it. A switch sees only what it
/// has itself: what waits at its ports, and from its credits what is under way to the next switches
/// or lies in their buffers.
std::uint8_t Mover::choose_port(const Rx& rx, const Packet& packet, std::uint8_t by_table) {
    const sw::AdaptiveTable::Choice ports = plant_.adaptive_of(rx).choice(packet.dlid, rx.port);
    if (ports.near.empty()) {
        return by_table;
    }
    const std::uint8_t otherwise = ports.binding ? ports.near.front() : by_table;
    if (ports.near.size() + ports.far.size() < 2) {
        return otherwise;
    }
    if (ethernet_ && ethernet_->rules().spread != EthernetRules::Spread::kLoad) {
        return spread_port(rx, packet, ports.near, otherwise);
    }
    return choice_.choose(plant_.switch_of(rx), ports, otherwise, rx.name,
                          kDetourBlocks * rx.block_ps, [&](std::uint8_t number) {
                              const std::uint8_t vl = plant_.lane_to(rx, number, packet.sl);
                              return vl < plant_.config().data_vls
                                         ? wait_at(rx.first_out + number, vl)
                                         : sw::kNotEligible;
                          });
}

/// Returns how long a packet would wait at a port and behind it, as far as the switch can see.
TimePs Mover::wait_at(std::uint32_t out, std::uint8_t vl) {
    const Tx& tx = plant_.tx(out);
    if ((tx.special & tx_special::kClosed) != 0) {
        return sw::kNotEligible;
    }
    Lane& to = plant_.lane(out, vl);
    to.absorb(to.grid(now()));
    const std::uint32_t room = link::credits(to.fctbs, to.fccl);
    const std::uint32_t most = plant_.buffer_blocks();
    const std::uint32_t held = most - std::min(room, most);
    const TimePs busy = tx.free_at > now() ? tx.free_at - now() : 0;
    return busy + TimePs{to.queued_blocks + held} * tx.block_ps;
}

/// Returns the port that a switch takes on Ethernet where load does not decide.
std::uint8_t Mover::spread_port(const Rx& rx, const Packet& packet,
                                std::span<const std::uint8_t> ports, std::uint8_t by_table) {
    // A switch knows at once which of its own cables are down.
    std::array<std::uint8_t, 256> open;
    std::size_t count = 0;
    for (const std::uint8_t number : ports) {
        if ((plant_.tx(rx.first_out + number).special & tx_special::kClosed) == 0) {
            open[count++] = number;
        }
    }
    if (count == 0) {
        return by_table;
    }
    const std::span<const std::uint8_t> usable(open.data(), count);
    return ethernet_->rules().spread == EthernetRules::Spread::kPackets
               ? choice_.next_in_turn(plant_.switch_of(rx), usable)
               : ethernet_->hashed_port(usable, rx.node, Lid{packet.slid}, Lid{packet.dlid},
                                        packet.tag);
}

/// Forwards a packet whose DLID is not in the linear table: to the ports of a multicast group, or
/// to the agent of this switch.
void Mover::copy_out(const Rx& rx, std::uint32_t index) {
    const Packet original = queues_[index];
    const auto lane_to = [&](std::uint8_t number) {
        return original.in_vl == link::kVl15 ? link::kVl15
                                             : plant_.lane_to(rx, number, original.sl);
    };
    const auto has_lane = [&](std::uint8_t number) {
        return original.in_vl == link::kVl15 || lane_to(number) < plant_.config().data_vls;
    };
    if (original.dlid == kLidPermissive.value) {
        if (!has_lane(0)) {
            ++plant_.odd(rx.self).vl_mapping_errors;
            discard(index);
            return;
        }
        queues_[index].in_port_or_hop_lmt = rx.port;
        offer(rx.first_out, lane_to(0), index, queues_[index]);
        return;
    }
    Multicast::Verdict to;
    if (is_multicast(Lid{original.dlid}) &&
        original.dlid - kLidMulticastMin.value < plant_.config().multicast_lids) {
        ++plant_.odd(rx.self).multicast_rcv_packets;
        const auto lets_out = [&](std::uint8_t number) {
            return plant_.connected(rx.first_out + number) &&
                   ((rx.special & rx_special::kPartitioned) == 0 ||
                    !refuse_out(rx, number, original));
        };
        to = multicast_.choose(plant_.group_ports(rx, original.dlid - kLidMulticastMin.value),
                               rx.port, lets_out, has_lane);
    }
    if (to.ports.empty()) {
        ++(to.no_lane ? plant_.odd(rx.self).vl_mapping_errors
                      : plant_.odd(rx.self).dlid_mapping_errors);
        discard(index);
        return;
    }
    if (to.ports.size() > 1) {
        Multicast::split(queues_[index], to.ports.size());
        stats_.copied += to.ports.size() - 1;
        if (original.tag != 0) {
            outbox_.copied.push_back({original, static_cast<std::uint32_t>(to.ports.size() - 1)});
        }
    }
    for (const std::uint8_t number : to.ports) {
        const std::uint32_t out = rx.first_out + number;
        ++plant_.odd(out).multicast_xmit_packets;
        const std::uint32_t leaving =
            to.ports.size() == 1 ? index
                                 : queues_.packets().make(Multicast::copy_of(original, index));
        offer(out, lane_to(number), leaving, queues_[leaving]);
    }
}

/// Sends a packet on that has come to a router whole. Until it leaves by another port of the router
/// it keeps its room in the buffer that it came into, as in a switch.
void Mover::route_packet(std::uint32_t in, std::uint32_t index) {
    Packet& packet = queues_[index];
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    const std::uint32_t self = plant_.rx(in).self;
    std::uint32_t out = kNone;
    const std::uint8_t hop_lmt = packet.in_port_or_hop_lmt;
    const bool has_grh = hop_lmt != 0 && packet.tag != 0 && packet.in_vl != link::kVl15;
    const auto onward = routers_->forward(self,
                                          {.has_grh = has_grh,
                                           .dgid = has_grh ? gid_reader_->dgid_of(packet) : Gid{},
                                           .hop_lmt = hop_lmt,
                                           .sl = packet.sl},
                                          out);
    if (!onward || !plant_.connected(out)) {
        ++(!onward && onward.error() == router::Refusal::kHopLimit
               ? plant_.odd(self).hop_limit_discards
               : plant_.odd(self).unrouted);
        discard(index);
        return;
    }
    ++stats_.routed;
    packet.in_port_or_hop_lmt = onward->hop_lmt;
    packet.slid = onward->slid.value;
    packet.dlid = onward->dlid.value;
    packet.sl = onward->sl;
    packet.since_units = units(now());
    const std::uint8_t vl = plant_.first_lane(out, packet.sl);
    if (vl >= plant_.config().data_vls) {
        ++plant_.odd(self).vl_mapping_errors;
        discard(index);
        return;
    }
    offer(out, vl, index, packet);
}

// Departure.

/// Offers a packet to a port that needs a closer look. Returns true if the packet was dropped.
bool Mover::offer_odd(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet) {
    Tx& tx = plant_.tx(port);
    const bool shut = (tx.special & tx_special::kDown) != 0 ||
                      ((tx.special & tx_special::kClosed) != 0 && vl != link::kVl15);
    if (shut) {
        ++plant_.odd(port).inactive_discards;
        discard(index);
        return true;
    }
    if (vl == link::kVl15) {
        return false;
    }
    const std::uint32_t number = plant_.lane_index(port, vl);
    if (may_stall(tx) && waits_.stalled(number, now())) {
        ++plant_.odd(port).hoq_lifetime_discards;
        lane_counts_.late(number);
        discard(index);
        return true;
    }
    Lane& to = plant_.lane_at(number);
    const std::uint16_t blocks = link::blocks_of(packet.bytes);
    bool marks = false;
    if ((tx.special & tx_special::kEthernet) != 0) {
        const std::uint32_t node = plant_.node_of(port);
        const auto verdict =
            plant_.is_switch(node)
                ? ethernet_->line_up(port, node, to.queued_blocks, blocks, plant_.name_of(port))
                : Ethernet::Verdict::kKeep;
        if (verdict == Ethernet::Verdict::kDrop) {
            ++plant_.odd(port).overflows;
            discard(index);
            return true;
        }
        marks = verdict == Ethernet::Verdict::kMark;
    } else if ((tx.special & tx_special::kMarks) != 0) {
        const sw::MarkingRule rule = plant_.marking(port);
        const bool congested = to.queued_blocks >= sw::congested_from(rule, plant_.buffer_blocks());
        if (congested && (tx.special & tx_special::kCounted) != 0) {
            lane_counts_.congested(number, now());
        }
        marks =
            congested && plant_.marker(port).marks(rule, to.queued_blocks, plant_.buffer_blocks(),
                                                   blocks, to.may_send(blocks, now()));
    }
    if (marks) {
        packet.flags |= packet_flag::kFecn;
        ++plant_.odd(port).marked;
    }
    return false;
}

/// Does what else must be done at a port for a packet that begins to leave. Returns true if nothing
/// is left to do for the packet.
bool Mover::leave_odd(std::uint32_t port, std::uint32_t index, Packet& packet) {
    const Tx& tx = plant_.tx(port);
    const std::uint32_t number = plant_.lane_index(port, packet.in_vl);
    if ((tx.special & tx_special::kCounted) != 0) {
        lane_counts_.sent(port, number, packet, tx.free_at);
    }
    if (may_stall(tx) && packet.in_vl != link::kVl15) {
        waits_.sent(number);
    }
    if ((tx.special & tx_special::kEthernet) != 0) {
        // Ethernet has no credits: those that were just taken are given back.
        Lane& on = plant_.lane_at(number);
        on.fccl = link::count_after(on.fccl, link::blocks_of(packet.bytes));
    }
    if ((tx.special & tx_special::kFaulty) != 0 && spoil(port, index, packet)) {
        return true;
    }
    if ((tx.special & tx_special::kCrosses) == 0) {
        return false;
    }
    cross(port, {.at = now() + tx.delay_ps,
                 .link = plant_.name_of(port),
                 .vl = packet.in_vl,
                 .packet = packet});
    queues_.packets().free(index);
    return true;
}

/// Loses or breaks a packet that begins to leave a port with faults. Returns true if it was lost.
bool Mover::spoil(std::uint32_t port, std::uint32_t index, Packet& packet) {
    const Tx& tx = plant_.tx(port);
    switch (cables_.fate(port, tx.packets, plant_.name_of(port))) {
        case Cables::Fate::kLost: {
            const std::uint16_t blocks = link::blocks_of(packet.bytes);
            Odd& at = plant_.odd(port);
            ++at.lost;
            at.lost_words += packet.bytes / 4U;
            ++stats_.lost;
            if (packet.in_vl != link::kVl15 && !ethernet_) {
                schedule_.post(now() + tx.delay_ps, port, EventKind::kRelease, kNone,
                               std::uint32_t{packet.in_vl} << 16 | blocks);
                plant_.deferred(port, packet.in_vl) += blocks;
            }
            drop(index);
            return true;
        }
        case Cables::Fate::kBroken:
            packet.flags |= packet_flag::kBad | packet_flag::kBrokenHere;
            break;
        case Cables::Fate::kBrokenInside:
            packet.flags |= packet_flag::kBadInside;
            break;
        case Cables::Fate::kFine:
            break;
    }
    return false;
}

// Ethernet.

void Mover::release_ethernet(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks, TimePs at) {
    const Rx& rx = plant_.rx(link);
    if (rx.to_adapter != 0) {
        return;  // An HCA takes all that comes, and never pauses a sender.
    }
    if (at > now()) {
        schedule_.post(at, link, EventKind::kRelease, kNone, std::uint32_t{vl} << 16 | blocks);
        plant_.deferred(link, vl) += blocks;
        return;
    }
    tell_sender(link, vl, ethernet_->leave({link, plant_.lane_index(link, vl), rx.node, blocks}));
}

/// Tells the sender of a link to pause a lane or to go on. A pause frame waits for no packet, so it
/// takes only the delay of the cable.
void Mover::tell_sender(std::uint32_t link, std::uint8_t vl, Ethernet::Tell tell) {
    if (tell == Ethernet::Tell::kNothing) {
        return;
    }
    const bool pauses = tell == Ethernet::Tell::kPause;
    plant_.odd(plant_.rx(link).self).pauses += pauses ? 1 : 0;
    schedule_.post(now() + plant_.cable(link), link, EventKind::kPause, kNone,
                   std::uint32_t{vl} << 1 | (pauses ? 1 : 0));
}

/// Pauses a lane at its sender, or lets it go on. A lane that is paused has no credits.
void Mover::handle_pause(std::uint32_t link, std::uint8_t vl, bool pauses) {
    Lane& of = plant_.lane(link, vl);
    of.fccl = pauses ? of.fctbs : link::count_after(of.fctbs, plant_.buffer_blocks());
    Tx& tx = plant_.tx(link);
    if (!pauses && (tx.waiting >> vl & 1) != 0) {
        wake_at(link, tx, std::max(now(), tx.free_at));
    }
}

}  // namespace softib::net
