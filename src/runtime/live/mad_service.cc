// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/mad_service.h"

#include "core/topo/fabric.h"
#include "runtime/live/path.h"

namespace softib::live {

namespace {

constexpr std::uint32_t kQpnSubnet = 0;
constexpr std::uint32_t kQpnServices = 1;
constexpr std::uint32_t kQKeyServices = 0x80010000;
constexpr std::uint8_t kMtu4096 = 5;

/// The rate of a 4X port as SA records encode it.
std::uint8_t rate_of(const HcaRecord& hca) {
    switch (static_cast<topo::Generation>(hca.generation)) {
        case topo::Generation::kSdr:
            return 3;
        case topo::Generation::kDdr:
            return 6;
        case topo::Generation::kQdr:
        case topo::Generation::kFdr10:
            return 7;
        case topo::Generation::kFdr:
            return 12;
        case topo::Generation::kEdr:
            return 16;
        case topo::Generation::kHdr:
            return 17;
        case topo::Generation::kNdr:
            return 21;
        case topo::Generation::kXdr:
            return 23;
    }
    return 16;
}

bool is_subnet_class(wire::MgmtClass mgmt_class) {
    return mgmt_class == wire::MgmtClass::kSubnLidRouted ||
           mgmt_class == wire::MgmtClass::kSubnDirectedRoute;
}

}  // namespace

MadService::MadService(const Arena& arena)
    : arena_(arena), sa_([this](const Gid& gid) { return find_port(gid); }) {}

std::optional<wire::MadBytes> MadService::handle(std::uint32_t hca, const MadFrame& frame,
                                                 const wire::MadBytes& mad) {
    const wire::Mad<const std::uint8_t> header(mad);
    if (!wire::wants_response(header.method()) || !arrives(hca, frame, mad)) {
        return std::nullopt;
    }
    if (header.mgmt_class() == wire::MgmtClass::kSubnAdm &&
        frame.remote_lid == arena_.hcas[hca].sm_lid) {
        return sa_.handle(mad, port_of(hca));
    }
    return wire::respond_with_status(mad, wire::mad_status::kUnsupportedClass);
}

/// Subnet management goes to QP0, by any way; everything else to QP1, with its Q_Key and in a
/// partition of the sender's, over the routes.
bool MadService::arrives(std::uint32_t hca, const MadFrame& frame,
                         const wire::MadBytes& mad) const {
    const Lid dlid{frame.remote_lid};
    const wire::MgmtClass mgmt_class = wire::Mad<const std::uint8_t>(mad).mgmt_class();
    if (is_subnet_class(mgmt_class)) {
        return frame.remote_qpn == kQpnSubnet &&
               (dlid == kLidPermissive || walk_to_node(arena_, hca, dlid));
    }
    if (frame.remote_qpn != kQpnServices || frame.remote_qkey != kQKeyServices ||
        frame.pkey_index >= kPKeysPerPort) {
        return false;
    }
    const std::uint16_t pkey =
        arena_.hcas[hca].pkeys[frame.pkey_index].load(std::memory_order_relaxed);
    return (pkey & 0x7FFF) != 0 && walk_to_node(arena_, hca, dlid);
}

sm::SaPort MadService::port_of(std::uint32_t hca) const {
    const HcaRecord& record = arena_.hcas[hca];
    sm::SaPort port{.gid = Gid::from(record.gid_prefix, Guid{record.port_guid}),
                    .pkeys = {},
                    .mtu = kMtu4096,
                    .rate = rate_of(record)};
    for (const auto& pkey : record.pkeys) {
        port.pkeys.emplace_back(pkey.load(std::memory_order_relaxed));
    }
    return port;
}

std::optional<sm::SaPort> MadService::find_port(const Gid& gid) const {
    for (std::uint32_t i = 0; i < arena_.header->hcas; ++i) {
        const HcaRecord& record = arena_.hcas[i];
        if (gid == Gid::from(record.gid_prefix, Guid{record.port_guid})) {
            return port_of(i);
        }
    }
    return std::nullopt;
}

}  // namespace softib::live
