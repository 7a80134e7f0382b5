// SPDX-License-Identifier: BSD-2-Clause
// What few packets meet: multicast copies, marks, limits of waiting, faults.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/check.h"
#include "core/base/mix.h"
#include "net/engine/engine.h"

namespace softib::net {

namespace {

constexpr std::uint32_t kMillion = 1'000'000;

std::uint64_t limit_units(std::uint8_t code) {
    const std::uint64_t ps = sw::lifetime_ps(code);
    return ps == UINT64_MAX ? UINT64_MAX : ps >> Lane::kUnitShift;
}

}  // namespace

// Arrival.

bool Engine::arrive_odd(std::uint32_t in, Rx& rx, std::uint32_t index, Packet& packet) {
    if ((rx.special & rx_special::kFlapped) != 0 && lost_with_cable(in, rx, packet)) {
        lose(in, index);
        return true;
    }
    const auto count = [&] {
        rx.words += packet.bytes / 4U;
        ++rx.packets;
        packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
        log(rx.name, packet);
    };
    if ((rx.special & rx_special::kCounted) != 0) {
        count_received(rx, packet);
    }
    if ((rx.special & rx_special::kTapped) != 0 && packet.tag != 0) {
        tapped_.push_back({rx.self, packet});
    }
    if ((packet.flags & (packet_flag::kFecn | packet_flag::kBecn)) != 0) {
        Odd& seen = odd(rx.self);
        seen.rcv_fecn += (packet.flags & packet_flag::kFecn) != 0 ? 1 : 0;
        seen.rcv_becn += (packet.flags & packet_flag::kBecn) != 0 ? 1 : 0;
    }
    if ((rx.special & rx_special::kEthernet) != 0) {
        if (!arrive_ethernet(in, rx, packet)) {
            count();
            ++odd(rx.self).overflows;
            ++stats_.discarded;
            drop(index);
            return true;
        }
    } else if (packet.in_vl == link::kVl15) {
        // VL15 has no credits: what finds no room is dropped. `fccl` counts blocks in the buffer.
        Lane& lane15 = lane(in, link::kVl15);
        const std::uint16_t blocks = link::blocks_of(packet.bytes);
        if (lane15.fccl + blocks > buffer_blocks()) {
            count();
            ++odd(rx.self).vl15_dropped;
            ++stats_.discarded;
            drop(index);
            return true;
        }
        lane15.fccl = static_cast<std::uint16_t>(lane15.fccl + blocks);
    }
    if ((rx.special & rx_special::kGuarded) != 0 && !may_come_in(rx, packet)) {
        count();
        ++odd(rx.self).not_ready;
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
        Slow& slow = slow_[in];
        const TimePs takes = std::max<TimePs>(link::transmit_time(packet.bytes, slow.block_ps), 1);
        slow.busy_until = std::max(slow.busy_until, now()) + takes;
        post(slow.busy_until, in, EventKind::kReady, index);
        return true;
    }
    return false;
}

/// Counts a broken or malformed packet at the port that it has come to. Returns whether it ends
/// here.
bool Engine::refuses(const Rx& rx, Packet& packet) {
    const bool here = (packet.flags & packet_flag::kBrokenHere) != 0;
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kBrokenHere);
    if ((packet.flags & packet_flag::kBad) != 0) {
        // The port behind the cable that broke the packet sees a wrong CRC. By then its switch has
        // begun to send the packet on, and ends it with an EBP, so that all further ports know.
        ++(here ? odd(rx.self).local_physical_errors : odd(rx.self).rcv_remote_physical_errors);
        if (here) {
            ++odd(rx.self).symbol_errors;
            count_broken(rx);
        }
    } else if (here) {
        ++odd(rx.self).malformed_packet_errors;
        return true;
    } else if (rx.to_adapter != 0) {
        ++odd(rx.self).local_physical_errors;
    }
    return rx.to_adapter != 0;
}

/// Counts a packet that the cable broke. When good packets between the broken ones no longer make
/// up for them, the link has lost its integrity (IBA vol. 1, 7.12.2).
void Engine::count_broken(const Rx& rx) {
    if (integrity_.empty() || integrity_[rx.self].limit == 0) {
        return;
    }
    Integrity& integrity = integrity_[rx.self];
    // The broken packet itself is not in rx.packets yet.
    const std::uint64_t good = rx.packets - integrity.packets_then;
    integrity.broken =
        good >= integrity.broken ? 1 : static_cast<std::uint32_t>(integrity.broken - good) + 1;
    integrity.packets_then = rx.packets + 1;
    if (integrity.broken > integrity.limit) {
        integrity.broken = 0;
        ++odd(rx.self).link_integrity_errors;
    }
}

void Engine::set_error_limit(std::uint32_t port, std::uint8_t packets) {
    integrity_.resize(port_count());
    integrity_[port].limit = packets;
}

bool Engine::loses_all(std::uint32_t port) const {
    return !errors_.empty() && errors_[port].lost_ppm >= kMillion;
}

/// Returns whether a packet was on the cable when the cable went down.
bool Engine::lost_with_cable(std::uint32_t in, const Rx& rx, const Packet& packet) const {
    const Tx& tx = tx_[in];
    const TimePs travelled =
        tx.delay_ps + (rx.to_adapter != 0 ? link::transmit_time(packet.bytes, tx.block_ps) : 0);
    return now() - travelled <= downed_at_[in];
}

/// Loses a packet on a cable. Its credits return: the sender's next flow control packet says how
/// much the sender has sent (FCTBS), so the receiver knows that the room was never used.
void Engine::lose(std::uint32_t link, std::uint32_t index) {
    const Packet& packet = packets_[index];
    Odd& at = odd(link);
    ++at.lost;
    at.lost_words += packet.bytes / 4U;
    ++stats_.lost;
    if (packet.in_vl != link::kVl15 && ethernet_ == nullptr) {
        release(link, packet.in_vl, link::blocks_of(packet.bytes), now());
    }
    drop(index);
}

/// Removes a packet that will not arrive, and reports it if it has a tag.
void Engine::drop(std::uint32_t index) {
    const Packet& packet = packets_[index];
    if (packet.tag != 0) {
        dropped_.push_back({packet, now()});
    }
    packets_.free(index);
}

// In a switch.

/// Forwards a packet whose DLID is not in the linear table: to the ports of a multicast group, or
/// to the agent of this switch.
void Engine::copy_out(const Rx& rx, std::uint32_t index) {
    const Packet original = packets_[index];
    std::uint8_t numbers[256];
    std::uint32_t count = 0;
    bool no_lane = false;
    const auto lane_to = [&](std::uint8_t number) {
        if (original.in_vl == link::kVl15) {
            return link::kVl15;
        }
        return rx.sl_rows == kNone ? lane_of(original.sl)
                                   : rows_[sl_rows_[rx.sl_rows + number]][original.sl];
    };
    const auto has_lane = [&](std::uint8_t number) {
        return original.in_vl == link::kVl15 || lane_to(number) < config_.data_vls;
    };
    if (original.dlid == kLidPermissive.value) {
        no_lane = !has_lane(0);
        numbers[0] = 0;
        count = no_lane ? 0 : 1;
        packets_[index].in_port_or_hop_lmt = rx.port;
    } else if (is_multicast(Lid{original.dlid}) &&
               original.dlid - kLidMulticastMin.value < config_.multicast_lids) {
        ++odd(rx.self).multicast_rcv_packets;
        const auto& mask = mfts_[rx.lft / lft_stride_ * config_.multicast_lids + original.dlid -
                                 kLidMulticastMin.value];
        sw::for_each_copy(
            static_cast<std::uint32_t>(mask.size()), [&](std::uint32_t word) { return mask[word]; },
            rx.port,
            [&](std::uint8_t number) {
                if (!connected(rx.first_out + number) ||
                    ((rx.special & rx_special::kPartitioned) != 0 &&
                     refuse_out(rx, number, original))) {
                    return;
                }
                if (!has_lane(number)) {
                    no_lane = true;
                    return;
                }
                numbers[count++] = number;
                ++odd(rx.first_out + number).multicast_xmit_packets;
            });
    }
    if (count == 0) {
        ++(no_lane ? odd(rx.self).vl_mapping_errors : odd(rx.self).dlid_mapping_errors);
        discard(index);
        return;
    }
    if (count == 1) {
        offer(rx.first_out + numbers[0], lane_to(numbers[0]), index, packets_[index]);
        return;
    }
    // The original stays in the buffer until the last copy has left.
    packets_[index].round_or_copies = static_cast<std::uint16_t>(count);
    stats_.copied += count - 1;
    if (original.tag != 0) {
        copied_.push_back({original, count - 1});
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        Packet copy = original;
        copy.flags |= packet_flag::kCopy;
        copy.in_link = index;
        const std::uint32_t made = packets_.make(copy);
        offer(rx.first_out + numbers[i], lane_to(numbers[i]), made, packets_[made]);
    }
}

/// Gives back a packet's room in the buffer that it came into, from `at` on. Of multicast copies
/// the last one does so.
void Engine::leave_buffer(const Packet& packet, TimePs at) {
    if ((packet.flags & packet_flag::kCopy) == 0) {
        if (packet.in_link != kNone) {
            release(packet.in_link, packet.in_vl, link::blocks_of(packet.bytes), at);
        }
        return;
    }
    const std::uint32_t original = packet.in_link;
    if (--packets_[original].round_or_copies == 0) {
        leave_buffer(packets_[original], at);
        packets_.free(original);
    }
}

void Engine::discard(std::uint32_t index) {
    leave_buffer(packets_[index], now());
    ++stats_.discarded;
    drop(index);
}

/// Offers a packet to a port that needs a closer look. Returns true if the packet was dropped.
bool Engine::offer_odd(std::uint32_t port, std::uint8_t vl, std::uint32_t index, Packet& packet) {
    Tx& tx = tx_[port];
    const bool shut = (tx.special & tx_special::kDown) != 0 ||
                      ((tx.special & tx_special::kClosed) != 0 && vl != link::kVl15);
    if (shut) {
        ++odd(port).inactive_discards;
        discard(index);
        return true;
    }
    if (vl == link::kVl15) {
        return false;
    }
    if (may_stall(tx) && stall(port, vl).stalled(now())) {
        ++odd(port).hoq_lifetime_discards;
        count_late(port, vl);
        discard(index);
        return true;
    }
    if (ethernet_ != nullptr) {
        return offer_ethernet(port, vl, index, packet);
    }
    if ((tx.special & tx_special::kMarks) != 0) {
        Lane& to = lane(port, vl);
        const std::uint16_t blocks = link::blocks_of(packet.bytes);
        const sw::MarkingRule& rule = marking_[port];
        const bool congested = to.queued_blocks >= sw::congested_from(rule, buffer_blocks());
        if (congested && (tx.special & tx_special::kCounted) != 0) {
            count_congested(port, vl);
        }
        if (congested && markers_[port].marks(rule, to.queued_blocks, buffer_blocks(), blocks,
                                              to.may_send(blocks, now()))) {
            packet.flags |= packet_flag::kFecn;
            ++odd(port).marked;
        }
    }
    return false;
}

// Limits of waiting.

sw::StallCounter& Engine::stall(std::uint32_t port, std::uint8_t vl) {
    if (stalls_.empty()) {
        stalls_.resize(lanes_.size());
    }
    return stalls_[lane_index(port, vl)];
}

/// Returns when the first packet of a lane must be dropped; kNever if it has no limit. Sets
/// `of_head` if that is by the limit for the head of a queue (HOQLife).
TimePs Engine::deadline(const Lane& lane, const sw::WaitingLimits& limits, bool& of_head) const {
    const std::uint32_t now_units = units(now());
    const std::uint64_t lifetime = limit_units(limits.lifetime);
    const std::uint64_t hoq = limit_units(limits.hoq_life);
    const std::uint32_t in_switch = now_units - packets_[lane.head].since_units;
    const std::uint32_t at_head = now_units - lane.head_since_units;
    const std::uint64_t left = lifetime <= in_switch ? 0 : lifetime - in_switch;
    const std::uint64_t left_head = hoq <= at_head ? 0 : hoq - at_head;
    of_head = left_head < left;
    const std::uint64_t least = std::min(left, left_head);
    return least >= UINT64_MAX >> Lane::kUnitShift >> 1 ? kNever
                                                        : now() + (least << Lane::kUnitShift);
}

void Engine::watch(std::uint32_t port, Tx& tx) {
    if ((tx.special & tx_special::kWatched) != 0) {
        return;
    }
    // A packet that has just come, or comes to the head next, has its whole time before it.
    const sw::WaitingLimits& waiting = limits(port);
    TimePs first = std::min(sw::lifetime_ps(waiting.lifetime), sw::lifetime_ps(waiting.hoq_life));
    first = first == kNever ? kNever : now() + first;
    for (std::uint16_t rest = tx.waiting; rest != 0; rest &= static_cast<std::uint16_t>(rest - 1)) {
        const auto vl = static_cast<std::uint8_t>(std::countr_zero(rest));
        bool of_head = false;
        if (vl != link::kVl15) {
            first = std::min(first, deadline(lane(port, vl), waiting, of_head));
        }
    }
    tx.special |= tx_special::kWatched;
    ++watching_;
    post(first, port, EventKind::kLimit);
}

void Engine::enforce_limits(std::uint32_t port) {
    Tx& tx = tx_[port];
    tx.special &= static_cast<std::uint8_t>(~tx_special::kWatched);
    --watching_;
    bool dropped = false;
    const sw::WaitingLimits waiting = limits(port);
    for (std::uint8_t vl = 0; vl < config_.data_vls; ++vl) {
        Lane& from = lane(port, vl);
        bool of_head = false;
        while (from.head != kNone && deadline(from, waiting, of_head) <= now()) {
            if (of_head) {
                ++odd(port).hoq_lifetime_discards;
                stall(port, vl).dropped(waiting.vl_stall_count, now(),
                                        sw::lifetime_ps(waiting.hoq_life));
            } else {
                ++odd(port).lifetime_discards;
            }
            count_late(port, vl);
            discard(pop_head(tx, vl, from));
            dropped = true;
        }
    }
    if (tx.waiting == 0) {
        end_wait(tx);
        return;
    }
    if (dropped && tx.free_at <= now()) {
        send_next(port, tx);
    }
    if (tx.waiting != 0 && waiting.any()) {
        watch(port, tx);
    }
}

/// Ends the wait of a port whose packets were all dropped.
void Engine::end_wait(Tx& tx) {
    if (tx.blocked_at != kNever) {
        tx.wait_ps += now() > tx.blocked_at ? now() - tx.blocked_at : 0;
        tx.blocked_at = kNever;
    }
}

// Faults.

/// Applies faults and stalls to a packet that begins to leave. Returns true if it was lost.
bool Engine::spoil(std::uint32_t port, std::uint32_t index, Packet& packet) {
    const Tx& tx = tx_[port];
    if ((tx.special & tx_special::kCounted) != 0) {
        count_sent(port, packet);
    }
    if (may_stall(tx) && packet.in_vl != link::kVl15) {
        stall(port, packet.in_vl).sent();
    }
    if (ethernet_ != nullptr) {
        // Ethernet has no credits: those that were just taken are given back.
        Lane& on = lane(port, packet.in_vl);
        on.fccl = link::count_after(on.fccl, link::blocks_of(packet.bytes));
    }
    if ((tx.special & tx_special::kFaulty) == 0) {
        return false;
    }
    // Drawn from the packet's number at this port, so that it does not depend on the order of
    // events.
    const Errors errors = errors_.empty() ? Errors{} : errors_[port];
    const std::uint64_t name = rx_[port].name;
    const std::uint64_t draw = mix(errors.seed ^ mix(tx.packets + (name << 40)));
    const std::uint64_t chance = draw % kMillion;
    if (chance < errors.lost_ppm) {
        Odd& at = odd(port);
        ++at.lost;
        at.lost_words += packet.bytes / 4U;
        ++stats_.lost;
        if (packet.in_vl != link::kVl15 && ethernet_ == nullptr) {
            const std::uint16_t blocks = link::blocks_of(packet.bytes);
            post(now() + tx.delay_ps, port, EventKind::kRelease, kNone,
                 std::uint32_t{packet.in_vl} << 16 | blocks);
            deferred(port, packet.in_vl) += blocks;
        }
        drop(index);
        return true;
    }
    const std::uint64_t broken = std::uint64_t{errors.lost_ppm} + errors.broken_ppm;
    if (chance < broken) {
        packet.flags |= packet_flag::kBad | packet_flag::kBrokenHere;
    } else if (chance < broken + errors.inside_ppm) {
        packet.flags |= packet_flag::kBadInside;
    }
    return send_across(port, index, packet);
}

void Engine::set_errors(std::uint32_t port, std::uint32_t lost_ppm, std::uint32_t broken_ppm,
                        std::uint64_t seed, std::uint32_t inside_ppm) {
    errors_.resize(port_count());
    errors_[port] = {lost_ppm, broken_ppm, inside_ppm, seed};
    tx_[port].special = static_cast<std::uint8_t>(lost_ppm + broken_ppm + inside_ppm != 0 ||
                                                          crosses(port) || ethernet_ != nullptr
                                                      ? tx_[port].special | tx_special::kFaulty
                                                      : tx_[port].special & ~tx_special::kFaulty);
}

std::uint16_t Engine::steal_credits(std::uint32_t port, std::uint8_t vl, std::uint16_t blocks) {
    Lane& from = lane(port, vl);
    from.absorb(from.grid(now()));
    const std::uint16_t taken = std::min(blocks, link::credits(from.fctbs, from.fccl));
    from.fccl = link::count_after(from.fccl, link::kCountMask + 1U - taken);
    return taken;
}

void Engine::set_slow(std::uint32_t port, std::uint32_t block_ps) {
    slow_.resize(port_count());
    slow_[peer(port)].block_ps = block_ps;
    // The HCA stays slow for good, by a picosecond a packet: later packets must not overtake those
    // that wait now.
    rx_[peer(port)].special |= rx_special::kSlow;
}

void Engine::set_delay(std::uint32_t port, std::uint32_t extra_ps) {
    delays_.resize(port_count());
    tx_[port].delay_ps += extra_ps - std::exchange(delays_[port], extra_ps);
}

void Engine::set_speed(std::uint32_t port, std::uint32_t block_ps) {
    for (const std::uint32_t end : {port, peer(port)}) {
        tx_[end].block_ps = block_ps;
        rx_[end].block_ps = block_ps;
    }
}

bool Engine::settle_credits() {
    bool settled = true;
    for (std::uint32_t port = 0; port < port_count(); ++port) {
        for (std::uint8_t vl = 0; vl < config_.data_vls; ++vl) {
            Lane& queue = lane(port, vl);
            queue.absorb(queue.grid(now()));
            settled &= queue.pending == 0;
        }
    }
    return settled;
}

void Engine::pause(std::uint32_t port, TimePs until) {
    slow_.resize(port_count());
    Slow& slow = slow_[peer(port)];
    slow.busy_until = std::max(slow.busy_until, until);
    rx_[peer(port)].special |= rx_special::kSlow;
}

}  // namespace softib::net
