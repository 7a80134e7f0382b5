// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/watchers.h"

#include "runtime/shm/capture.h"

namespace softib::carrier {

namespace {

constexpr std::size_t kPacketBytesMax = 4096 + 256;

}  // namespace

void Watchers::show(std::uint32_t port, const net::Packet& packet,
                    const net::TransportHosts::Body& body) {
    const shm::Arena& arena = self_.arena;
    const Place place = places_[port];
    if (place.index == UINT32_MAX) {
        return;
    }
    const std::uint32_t taps = place.is_switch ? arena.switch_ports[place.index].taps.load()
                                               : arena.hcas[place.index].taps.load();
    hca::Transmit transmit;
    transmit.headers = body.headers;
    transmit.headers.lrh.vl = packet.in_vl;
    transmit.headers.bth.fecn = (packet.flags & net::packet_flag::kFecn) != 0;
    transmit.headers.bth.becn = (packet.flags & net::packet_flag::kBecn) != 0;
    transmit.payload = body.payload();
    bytes_.resize(kPacketBytesMax);
    const auto length = hca::emit_packet(transmit, bytes_);
    if (!length) {
        return;
    }
    if ((packet.flags & net::packet_flag::kBad) != 0) {
        bytes_[*length - 1] ^= 0xFF;  // A packet that was broken on its way has a wrong VCRC.
    }
    put(taps, std::span(bytes_).first(*length));
}

void Watchers::put(std::uint32_t taps, std::span<const std::uint8_t> bytes) {
    for (std::uint32_t i = 0; i < shm::kCaptures; ++i) {
        shm::CaptureSlot& slot = self_.arena.header->captures[i];
        if ((taps >> i & 1) != 0 && slot.owner.load(std::memory_order_acquire) != 0) {
            shm::capture_put(self_.arena, slot, self_.lock_word, bytes);
        }
    }
}

void Watchers::forget_dead() {
    const shm::Arena& arena = self_.arena;
    for (std::uint32_t i = 0; i < shm::kCaptures; ++i) {
        shm::CaptureSlot& slot = arena.header->captures[i];
        const std::uint32_t owner = slot.owner.load();
        if (owner == 0 || shm::holder_alive(arena, owner)) {
            continue;
        }
        for (std::uint32_t p = 0; p < arena.header->switch_ports; ++p) {
            arena.switch_ports[p].taps.fetch_and(~(1U << i));
        }
        for (std::uint32_t h = 0; h < arena.header->hcas; ++h) {
            arena.hcas[h].taps.fetch_and(~(1U << i));
        }
        slot.owner.store(0);
    }
}

void Watchers::tell(shm::request::Refused::Where where, std::uint32_t place, std::uint32_t key,
                    const wire::PacketHeaders& headers) {
    shm::request::Refused packet;
    packet.place = place;
    packet.slid = headers.lrh.slid;
    packet.dlid = headers.lrh.dlid;
    packet.source_qpn = headers.deth.src_qp;
    packet.dest_qpn = headers.bth.dest_qp;
    packet.key = key;
    packet.sl = headers.lrh.sl;
    packet.where = where;
    self_.tell(packet);
}

void Watchers::tell_refused(std::uint32_t port, bool inbound, const wire::PacketHeaders& headers) {
    if (places_[port].is_switch) {
        tell(inbound ? shm::request::Refused::kSwitchIn : shm::request::Refused::kSwitchOut,
             places_[port].index, headers.bth.p_key.value, headers);
    }
}

void Watchers::tell_link(std::uint32_t port, std::uint16_t trap) {
    if (places_[port].index != UINT32_MAX) {
        self_.tell(shm::request::BadLink{
            .place = places_[port].index, .at_switch = places_[port].is_switch, .trap = trap});
    }
}

void Watchers::look_for_violations(std::uint32_t index, const hca::Hca& hca,
                                   const wire::PacketHeaders& headers) {
    if (index >= seen_.size()) {
        seen_.resize(index + 1);
    }
    const Violations now{hca.counter(hca::Counted::kBadPKey), hca.counter(hca::Counted::kBadQKey)};
    if (now.pkeys != seen_[index].pkeys) {
        tell(shm::request::Refused::kAdapterPKey, index, headers.bth.p_key.value, headers);
    }
    if (now.qkeys != seen_[index].qkeys) {
        tell(shm::request::Refused::kAdapterQKey, index, headers.deth.q_key.value, headers);
    }
    seen_[index] = now;
}

}  // namespace softib::carrier
