// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// LAP: proposes another alternate path (IBA vol. 1, 12.8.1). Its path has another layout than those
// of a REQ.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct CmLap {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    CommunicationId remote_communication_id = 0;
    Qpn remote_qpn_eecn{};
    std::uint8_t remote_cm_response_timeout = 0;
    Lid alternate_local_port_lid{};
    Lid alternate_remote_port_lid{};
    Gid alternate_local_port_gid{};
    Gid alternate_remote_port_gid{};
    std::uint32_t alternate_flow_label = 0;
    std::uint8_t alternate_traffic_class = 0;
    std::uint8_t alternate_hop_limit = 0;
    std::uint8_t alternate_packet_rate = 0;
    std::uint8_t alternate_sl = 0;
    bool alternate_subnet_local = false;
    std::uint8_t alternate_local_ack_timeout = 0;
    std::array<std::uint8_t, 168> private_data{};

    static constexpr auto fields() {
        using T = CmLap;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::remote_communication_id, "RemoteCommunicationID", 32, 32}.hex(),
            Field{&T::remote_qpn_eecn, "RemoteQPNEECN", 96, 24},
            Field{&T::remote_cm_response_timeout, "RemoteCMResponseTimeout", 120, 5},
            Field{&T::alternate_local_port_lid, "AlternateLocalPortLID", 160, 16},
            Field{&T::alternate_remote_port_lid, "AlternateRemotePortLID", 176, 16},
            Field{&T::alternate_local_port_gid, "AlternateLocalPortGID", 192, 128},
            Field{&T::alternate_remote_port_gid, "AlternateRemotePortGID", 320, 128},
            Field{&T::alternate_flow_label, "AlternateFlowLabel", 448, 20}.hex(),
            Field{&T::alternate_traffic_class, "AlternateTrafficClass", 472, 8},
            Field{&T::alternate_hop_limit, "AlternateHopLimit", 480, 8},
            Field{&T::alternate_packet_rate, "AlternatePacketRate", 490, 6},
            Field{&T::alternate_sl, "AlternateSL", 496, 4},
            Field{&T::alternate_subnet_local, "AlternateSubnetLocal", 500, 1},
            Field{&T::alternate_local_ack_timeout, "AlternateLocalACKTimeout", 504, 5},
            Field{&T::private_data, "PrivateData", 512, 8}.hex(),
        };
    }
    friend bool operator==(const CmLap&, const CmLap&) = default;
};
static_assert(layout_is_sound<CmLap>());

}  // namespace softib::wire
