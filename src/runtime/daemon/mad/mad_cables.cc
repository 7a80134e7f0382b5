// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/mad/mad_cables.h"

#include <algorithm>
#include <array>

#include "core/hca/context.h"
#include "core/wire/packet/opcode.h"
#include "core/wire/packet/packet.h"
#include "core/wire/sm/smp.h"
#include "runtime/shm/capture.h"
#include "runtime/shm/shm_lock.h"

namespace softib::daemon {

namespace {

constexpr std::size_t kPacketBytesMax = 512;

/// Returns the SLID of an SMP on the directed part of its route. There it has no LIDs but those of
/// the LID-routed parts before and after, DrSLID and DrDLID (IBA vol. 1, 14.2.2).
Lid directed_slid(const wire::MadBytes& mad) {
    const wire::Smp<const std::uint8_t> smp(mad);
    return smp.direction() ? smp.dr_dlid() : smp.dr_slid();
}

wire::PacketHeaders headers_of(const agent::Passage& passage) {
    const mad::Packet& packet = passage.packet;
    wire::PacketHeaders headers;
    headers.lrh.vl = passage.vl;
    headers.lrh.sl = passage.vl == wire::kVlManagement ? std::uint8_t{0} : packet.sl;
    headers.lrh.slid = passage.directed ? directed_slid(packet.mad) : packet.slid;
    headers.lrh.dlid = passage.directed ? kLidPermissive : packet.dlid;
    headers.bth.opcode = wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);
    headers.bth.p_key = packet.pkey;
    headers.bth.dest_qp = packet.destination;
    headers.deth = {.q_key = packet.qkey, .src_qp = packet.source};
    hca::set_lengths(headers, static_cast<std::uint32_t>(packet.mad.size()));
    return headers;
}

}  // namespace

bool MadCables::passes(const agent::Passage& passage) {
    if (is_lost(passage.from)) {
        return false;
    }
    show(passage);
    return true;
}

/// Returns whether a MAD that this port sends is lost. A corrupted one counts as lost too: the next
/// port would drop it for its wrong CRC.
bool MadCables::is_lost(agent::End from) {
    const shm::NodeRef& place = places_[from.node];
    const shm::LinkFaults* faults = nullptr;
    if (place.kind == shm::NodeRef::kHca) {
        faults = &arena_.hcas[place.index].faults;
    } else if (place.kind == shm::NodeRef::kSwitch) {
        faults = &arena_.switch_ports[arena_.switches[place.index].port_first + from.port].faults;
    } else {
        return false;
    }
    const std::uint32_t ppm = faults->lost_ppm.load(std::memory_order_relaxed) +
                              faults->broken_ppm.load(std::memory_order_relaxed);
    return ppm != 0 && prng_.chance(std::min(ppm, 1'000'000U), 1'000'000);
}

void MadCables::show(const agent::Passage& passage) {
    const shm::NodeRef& place = places_[passage.to.node];
    std::uint32_t taps = 0;
    if (place.kind == shm::NodeRef::kHca) {
        taps = arena_.hcas[place.index].taps.load(std::memory_order_relaxed);
    } else if (place.kind == shm::NodeRef::kSwitch) {
        taps = arena_.switch_ports[arena_.switches[place.index].port_first + passage.to.port]
                   .taps.load(std::memory_order_relaxed);
    }
    if (taps == 0) {
        return;
    }
    std::array<std::uint8_t, kPacketBytesMax> bytes{};
    const auto length = wire::emit_packet(headers_of(passage), passage.packet.mad, bytes);
    if (!length) {
        return;
    }
    hold_life_lock(arena_, shm::kDaemonOwner);
    for (std::uint32_t i = 0; i < shm::kCaptures; ++i) {
        shm::CaptureSlot& slot = arena_.header->captures[i];
        const std::uint32_t owner = slot.owner.load(std::memory_order_acquire);
        // The memory of a capture whose process has ended may soon belong to another process.
        if ((taps >> i & 1) != 0 && owner != 0 && holder_alive(arena_, owner)) {
            capture_put(arena_, slot, shm::kDaemonOwner, std::span(bytes).first(*length));
        }
    }
}

}  // namespace softib::daemon
