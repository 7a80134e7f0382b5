// SPDX-License-Identifier: BSD-2-Clause
// Observers of packets on their way: taps, and guards, which check the P_Keys of packets at a
// switch's ports (IBA vol. 1, 18.2.4.2.1).
#include "net/engine/engine.h"

namespace softib::net {

void Engine::set_tap(std::uint32_t port, bool tapped) {
    Rx& rx = rx_[peer(port)];
    rx.special = static_cast<std::uint8_t>(tapped ? rx.special | rx_special::kTapped
                                                  : rx.special & ~rx_special::kTapped);
}

void Engine::set_guard(std::uint32_t port, const Guard& guard) {
    guards_.resize(port_count());
    guards_[port] = guard;
    // Packets from every port of the switch may leave by this one, so all its inputs are marked.
    const std::uint32_t node = node_of(port);
    bool any = false;
    for (std::uint8_t number = 0; number < ports_of(node); ++number) {
        const Guard& other = guards_[port_of(node, number)];
        any = any || other.in || other.out;
    }
    for (std::uint8_t number = 0; number < ports_of(node); ++number) {
        if (const std::uint32_t in = peer(port_of(node, number)); in != kNone) {
            rx_[in].special =
                static_cast<std::uint8_t>(any ? rx_[in].special | rx_special::kPartitioned
                                              : rx_[in].special & ~rx_special::kPartitioned);
        }
    }
}

bool Engine::lets_pass(bool enforced, const Guard& guard, const Packet& packet) const {
    return !enforced || packet.in_vl == link::kVl15 || key_reader_ == nullptr ||
           sw::lets_pass(true, guard.pkeys, key_reader_->pkey_of(packet));
}

bool Engine::refuse_in(const Rx& rx, const Packet& packet) {
    const Guard& guard = guards_[rx.self];
    // A packet is checked when it comes in, and not again while it waits in a queue.
    if (lets_pass(guard.in, guard, packet)) {
        return false;
    }
    ++odd(rx.self).rcv_constraint_errors;
    refused_.push_back({rx.self, true, packet});
    return true;
}

bool Engine::refuse_out(const Rx& rx, std::uint8_t number, const Packet& packet) {
    const std::uint32_t port = rx.first_out + number;
    if (lets_pass(guards_[port].out, guards_[port], packet)) {
        return false;
    }
    ++odd(port).xmit_constraint_errors;
    refused_.push_back({port, false, packet});
    return true;
}

}  // namespace softib::net
