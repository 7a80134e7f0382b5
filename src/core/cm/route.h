// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A path from a port of this host, and the MADs that travel on it.

#include <cstdint>

#include "core/cm/commands.h"
#include "core/mad/packet.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"
#include "core/wire/sa/path_record.h"

namespace softib::cm {

struct Route {
    std::uint32_t port = 0;   ///< Index of the port of this host (Surroundings::port).
    wire::PathRecord path{};  ///< A path whose source is this port.
};

struct Outgoing {
    std::uint32_t port;
    mad::Packet packet;
};

/// Returns 4.096 us * 2^exponent in nanoseconds: the times of the CM (IBA vol. 1, 12.7.32).
constexpr std::uint64_t time_of(std::uint8_t exponent) {
    return std::uint64_t{4096} << (exponent & 0x1F);
}

/// Returns a CM message. Only a REQ and a REP have a modifier: the vendor's options (ECE).
template <wire::Attribute Body>
wire::MadBytes cm_mad(wire::CmAttribute attribute, std::uint64_t transaction, const Body& body,
                      std::uint32_t modifier = 0) {
    wire::MadBytes mad{};
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kCommMgmt;
    header.class_version = wire::kCmClassVersion;
    header.method = wire::Method::kSend;
    header.transaction_id = transaction;
    header.attribute_id = static_cast<std::uint16_t>(attribute);
    header.attribute_modifier = modifier;
    header.emit(wire::Mad<std::uint8_t>(mad));
    wire::emit(body, wire::cm_data(mad));
    return mad;
}

/// Returns a packet that carries a MAD to QP1 of a LID.
inline mad::Packet to_services(const wire::MadBytes& mad, Lid dlid, PKey pkey, std::uint8_t sl) {
    mad::Packet packet;
    packet.mad = mad;
    packet.dlid = dlid;
    packet.source = mad::kQpnServices;
    packet.destination = mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
    packet.pkey = pkey;
    packet.sl = sl;
    return packet;
}

/// Returns a packet that carries a MAD back to the sender of `from`.
inline mad::Packet answer_to(const mad::Packet& from, const wire::MadBytes& mad) {
    mad::Packet packet = to_services(mad, from.slid, from.pkey, from.sl);
    packet.destination = from.source;
    return packet;
}

}  // namespace softib::cm
