// SPDX-License-Identifier: BSD-2-Clause
// What passes between engines that each carry a part of one fabric.
#include <algorithm>

#include "core/base/check.h"
#include "net/engine/engine.h"
#include "net/plant/fetch.h"

namespace softib::net {

void Engine::cut(std::uint32_t port, std::uint32_t part) {
    SOFTIB_CHECK(connected(port) && tx_[port].to_adapter == 0);
    other_part_.resize(port_count(), kNone);
    other_part_[port] = other_part_[peer(port)] = part;
    crossings_.resize(std::max<std::size_t>(crossings_.size(), part + 1));
    tx_[port].special |= tx_special::kFaulty;  // So that spoil() calls send_across().
    for (std::uint8_t vl = 0; vl < config_.data_vls; ++vl) {
        lane(peer(port), vl).starved = Lane::kRemote;
    }
}

bool Engine::send_across(std::uint32_t port, std::uint32_t index, const Packet& packet) {
    if (!crosses(port)) {
        return false;
    }
    cross(port, {.at = now() + tx_[port].delay_ps,
                 .link = rx_[port].name,
                 .vl = packet.in_vl,
                 .packet = packet});
    packets_.free(index);
    return true;
}

void Engine::take_crossing(std::uint32_t link, const Crossing& crossing) {
    if (crossing.blocks != 0) {
        release(link, crossing.vl, crossing.blocks, crossing.at);
        return;
    }
    Packet packet = crossing.packet;
    packet.in_link = link;
    packet.next = kNone;
    post(crossing.at, link, EventKind::kArrival, packets_.make(packet), crossing.vl);
}

void Engine::fetch_crossing(std::uint32_t link, const Crossing& crossing) const {
    if (crossing.blocks != 0) {
        fetch(&lane(link, crossing.vl));
        fetch(&tx_[link]);
    } else if (!at_receiver_.empty()) {
        fetch(&at_receiver_[link]);
    }
}

}  // namespace softib::net
