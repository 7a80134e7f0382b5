// SPDX-License-Identifier: BSD-2-Clause
// Ethernet links, which have no credits. A switch counts what it holds of each input and lane, and
// tells the sender to pause or drops packets. Ports look at each packet more closely than on
// InfiniBand, so this costs more time.
#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "core/base/mix.h"
#include "net/engine/engine.h"

namespace softib::net {

namespace {

std::uint32_t to_blocks(std::uint32_t bytes) {
    return (bytes + link::kBlockBytes - 1) / link::kBlockBytes;
}

}  // namespace

void Engine::use_ethernet(const EthernetRules& rules) {
    SOFTIB_CHECK(stats_.injected == 0 && other_part_.empty());
    ethernet_ = std::make_unique<Ethernet>();
    ethernet_->rules = rules;
    ethernet_->pause.resize(port_count());
    ethernet_->gates.resize(lanes_.size());
    ethernet_->held.resize(node_count());
    ethernet_->lined_up.resize(port_count());
    for (std::uint32_t port = 0; port < port_count(); ++port) {
        if (!connected(port)) {
            continue;
        }
        // Both bits make the engine call the functions of this file.
        tx_[port].special |= tx_special::kMarks | tx_special::kFaulty;
        if (rx_[port].to_adapter != 0) {
            continue;
        }
        rx_[port].special |= rx_special::kEthernet;
        if (rules.lossless) {
            ethernet_->pause[port] = {.xoff_blocks = to_blocks(rules.xoff_bytes),
                                      .xon_blocks = to_blocks(rules.xon_bytes),
                                      .headroom_blocks = link::headroom_blocks(
                                          tx_[port].block_ps, cable(port), rx_[port].silicon_ps,
                                          config_.packet_bytes_max)};
        }
    }
}

/// Takes a packet into a switch. Returns false, with nothing changed, if the packet finds no room.
bool Engine::arrive_ethernet(std::uint32_t in, const Rx& rx, const Packet& packet) {
    const std::uint16_t blocks = link::blocks_of(packet.bytes);
    const link::PauseRule& rule = ethernet_->pause[in];
    link::PauseGate& gate = ethernet_->gates[lane_index(in, packet.in_vl)];
    std::uint32_t& held = ethernet_->held[rx.node];
    if (!gate.has_room(rule, blocks) || held + blocks > to_blocks(ethernet_->rules.buffer_bytes)) {
        return false;
    }
    held += blocks;
    tell_sender(in, packet.in_vl, gate.arrive(rule, blocks));
    return true;
}

void Engine::release_ethernet(std::uint32_t link, std::uint8_t vl, std::uint16_t blocks,
                              TimePs at) {
    const Rx& rx = rx_[link];
    if (rx.to_adapter != 0) {
        return;  // An adapter takes all that comes, and never pauses a sender.
    }
    if (at > now()) {
        post(at, link, EventKind::kRelease, kNone, std::uint32_t{vl} << 16 | blocks);
        deferred(link, vl) += blocks;
        return;
    }
    ethernet_->held[rx.node] -= blocks;
    tell_sender(link, vl,
                ethernet_->gates[lane_index(link, vl)].leave(ethernet_->pause[link], blocks));
}

/// Tells the sender of a link to pause a lane or to go on. A pause frame waits for no packet, so it
/// takes only the delay of the cable.
void Engine::tell_sender(std::uint32_t link, std::uint8_t vl, link::PauseGate::Tell tell) {
    if (tell == link::PauseGate::Tell::kNothing) {
        return;
    }
    const bool pauses = tell == link::PauseGate::Tell::kPause;
    odd(rx_[link].self).pauses += pauses ? 1 : 0;
    post(now() + cable(link), link, EventKind::kPause, kNone,
         std::uint32_t{vl} << 1 | (pauses ? 1 : 0));
}

/// Pauses a lane at its sender, or lets it go on. A lane that is paused has no credits.
void Engine::handle_pause(std::uint32_t link, std::uint8_t vl, bool pauses) {
    Lane& of = lane(link, vl);
    of.fccl = pauses ? of.fctbs : link::count_after(of.fctbs, buffer_blocks());
    Tx& tx = tx_[link];
    if (!pauses && (tx.waiting >> vl & 1) != 0) {
        wake_at(link, tx, std::max(now(), tx.free_at));
    }
}

/// Marks a packet that lines up at a port, or drops it where queues may not grow. Returns true if
/// the packet is gone.
bool Engine::offer_ethernet(std::uint32_t port, std::uint8_t vl, std::uint32_t index,
                            Packet& packet) {
    const std::uint32_t node = node_of(port);
    if (!is_switch(node)) {
        return false;
    }
    const Lane& to = lane(port, vl);
    const EthernetRules& rules = ethernet_->rules;
    if (!rules.lossless) {
        const double room = static_cast<double>(to_blocks(rules.buffer_bytes)) -
                            static_cast<double>(ethernet_->held[node]);
        if (to.queued_blocks + link::blocks_of(packet.bytes) > rules.dynamic_threshold * room) {
            ++odd(port).overflows;
            discard(index);
            return true;
        }
    }
    const std::uint64_t name = rx_[port].name;
    const std::uint64_t draw = mix(rules.seed ^ mix(name << 40 | ethernet_->lined_up[port]++));
    if (rules.ecn.marks(to.queued_blocks, draw)) {
        packet.flags |= packet_flag::kFecn;
        ++odd(port).marked;
    }
    return false;
}

std::uint8_t Engine::spread_port(const Rx& rx, const Packet& packet,
                                 std::span<const std::uint8_t> ports, std::uint8_t by_table) {
    // A switch knows at once which of its own cables are down.
    std::array<std::uint8_t, 256> open;
    std::size_t count = 0;
    for (const std::uint8_t number : ports) {
        if ((tx_[rx.first_out + number].special & tx_special::kClosed) == 0) {
            open[count++] = number;
        }
    }
    if (count == 0) {
        return by_table;
    }
    const std::span<const std::uint8_t> usable(open.data(), count);
    if (ethernet_->rules.spread == EthernetRules::Spread::kPackets) {
        const auto self = static_cast<std::uint32_t>(rx.lft / lft_stride_);
        return usable[turns_[self]++ % count];
    }
    return sw::hashed_port(
        usable, {.source = packet.slid, .destination = packet.dlid, .entropy = packet.tag},
        ethernet_->rules.seed + rx.node);
}

std::uint64_t Engine::pause_bytes(std::uint32_t node) const {
    std::uint64_t blocks = 0;
    for (std::uint8_t number = 1; number < ports_of(node); ++number) {
        const std::uint32_t port = port_of(node, number);
        if (ethernet_ != nullptr && connected(port)) {
            const link::PauseRule& rule = ethernet_->pause[peer(port)];
            blocks += std::uint64_t{rule.xoff_blocks} + rule.headroom_blocks;
        }
    }
    return blocks * config_.data_vls * link::kBlockBytes;
}

std::uint8_t Engine::hashed_route(std::uint32_t node, Lid source, Lid destination,
                                  std::uint8_t entropy) const {
    const std::span<const std::uint8_t> ports = choices(node, destination);
    if (ports.size() < 2) {
        return route(node, destination);
    }
    return sw::hashed_port(
        ports, {.source = source.value, .destination = destination.value, .entropy = entropy},
        ethernet_->rules.seed + node);
}

}  // namespace softib::net
