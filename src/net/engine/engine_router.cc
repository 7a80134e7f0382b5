// SPDX-License-Identifier: BSD-2-Clause
// Packets at a router. A packet leaves by another port of the router once it has come in whole.
// Until then it keeps its room in the buffer that it came into, as in a switch.
#include "core/base/check.h"
#include "net/engine/engine.h"

namespace softib::net {

void Engine::use_routers(const Routers* routers, const GidReader* reader) {
    SOFTIB_CHECK(routers != nullptr && reader != nullptr);
    routers_ = routers;
    gid_reader_ = reader;
    for (const std::uint32_t port : routers->ports()) {
        if (connected(port)) {
            rx_[peer(port)].to_adapter = kToRouter;
        }
    }
}

void Engine::route_packet(std::uint32_t in, std::uint32_t index) {
    Packet& packet = packets_[index];
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    const std::uint32_t self = rx_[in].self;
    std::uint32_t out = kNone;
    const std::uint8_t hop_lmt = packet.in_port_or_hop_lmt;
    const bool has_grh = hop_lmt != 0 && packet.tag != 0 && packet.in_vl != link::kVl15;
    const auto onward = routers_->forward(self,
                                          {.has_grh = has_grh,
                                           .dgid = has_grh ? gid_reader_->dgid_of(packet) : Gid{},
                                           .hop_lmt = hop_lmt,
                                           .sl = packet.sl},
                                          out);
    if (!onward || !connected(out)) {
        ++(!onward && onward.error() == router::Refusal::kHopLimit ? odd(self).hop_limit_discards
                                                                   : odd(self).unrouted);
        discard(index);
        return;
    }
    ++stats_.routed;
    packet.in_port_or_hop_lmt = onward->hop_lmt;
    packet.slid = onward->slid.value;
    packet.dlid = onward->dlid.value;
    packet.sl = onward->sl;
    packet.since_units = units(now());
    const std::uint8_t vl = first_lane(out, packet.sl);
    if (vl >= config_.data_vls) {
        ++odd(self).vl_mapping_errors;
        discard(index);
        return;
    }
    offer(out, vl, index, packet);
}

}  // namespace softib::net
