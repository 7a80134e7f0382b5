// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/roce/roce_cable.h"

#include <algorithm>

#include "core/wire/packet/roce.h"

namespace softib::carrier {

namespace {

constexpr std::uint32_t kMillion = 1'000'000;

/// Returns a made-up MAC address for an IP address, since sockets do not show the real one.
wire::MacAddress mac_of(const Gid& gid) {
    wire::MacAddress mac{0x02, 0x00};
    std::copy_n(gid.bytes.end() - 4, 4, mac.begin() + 2);
    return mac;
}

std::uint32_t value(const std::atomic<std::uint32_t>& word) {
    return word.load(std::memory_order_relaxed);
}

}  // namespace

/// Returns the switch port at the far end of an HCA's cable, which has the captures of what the HCA
/// sends and the faults of what it gets; nullptr if there is none.
shm::SwitchPortRecord* RoceCable::far_end(std::uint32_t hca) const {
    const shm::HcaRecord& record = arena_.hcas[hca];
    return record.peer_switch < arena_.header->switches
               ? &arena_.switch_ports[arena_.switches[record.peer_switch].port_first +
                                      record.peer_port]
               : nullptr;
}

RoceCable::Fate RoceCable::draw(const shm::LinkFaults& faults) {
    const std::uint32_t lost = value(faults.lost_ppm);
    const std::uint32_t broken = value(faults.broken_ppm);
    if (lost + broken == 0) [[likely]] {
        return Fate::kArrives;
    }
    const std::uint64_t chance = prng_.below(kMillion);
    return chance < lost ? Fate::kLost : chance < lost + broken ? Fate::kBroken : Fate::kArrives;
}

void RoceCable::show(std::uint32_t taps, const wire::PacketHeaders& headers,
                     std::span<const std::uint8_t> payload, bool broken) {
    wire::RoceFrame frame;
    frame.ethernet.source = mac_of(headers.grh->sgid);
    frame.ethernet.destination = mac_of(headers.grh->dgid);
    frame.roce.packet = {headers, payload};
    frame.roce.fields.source_port = wire::kRocePort;
    frame_.resize(wire::kRoceBytesMax);
    if (const auto length = wire::emit_roce_frame(frame, frame_)) {
        frame_[*length - 1] ^= broken ? 0xFF : 0;  // A broken packet has a wrong ICRC.
        watchers_.put(taps, std::span(frame_).first(*length));
    }
}

bool RoceCable::leaves(std::uint32_t hca, const hca::Transmit& transmit) {
    const Fate fate = draw(arena_.hcas[hca].faults);
    const shm::SwitchPortRecord* const end = far_end(hca);
    const std::uint32_t taps = end != nullptr ? value(end->taps) : 0;
    if (taps != 0 && fate != Fate::kLost) [[unlikely]] {
        payload_.resize(transmit.payload.length());
        transmit.payload.copy_to(payload_);
        show(taps, transmit.headers, payload_, fate == Fate::kBroken);
    }
    return fate == Fate::kArrives;
}

bool RoceCable::arrives(std::uint32_t hca, const wire::PacketHeaders& headers,
                        std::span<const std::uint8_t> payload) {
    const shm::SwitchPortRecord* const end = far_end(hca);
    const Fate fate = end != nullptr ? draw(end->faults) : Fate::kArrives;
    const std::uint32_t taps = value(arena_.hcas[hca].taps);
    if (taps != 0 && fate != Fate::kLost) [[unlikely]] {
        show(taps, headers, payload, fate == Fate::kBroken);
    }
    return fate == Fate::kArrives;
}

}  // namespace softib::carrier
