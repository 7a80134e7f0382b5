// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// REQ: asks for a connection (IBA vol. 1, 12.6.5).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

/// A path of a REQ, as the sender sees it.
struct CmPath {
    static constexpr std::size_t kBytes = 44;

    Lid local_port_lid{};
    Lid remote_port_lid{};
    Gid local_port_gid{};
    Gid remote_port_gid{};
    std::uint32_t flow_label = 0;
    std::uint8_t packet_rate = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t sl = 0;
    bool subnet_local = false;
    std::uint8_t local_ack_timeout = 0;

    static constexpr auto fields() {
        using T = CmPath;
        return Fields{
            Field{&T::local_port_lid, "LocalPortLID", 0, 16},
            Field{&T::remote_port_lid, "RemotePortLID", 16, 16},
            Field{&T::local_port_gid, "LocalPortGID", 32, 128},
            Field{&T::remote_port_gid, "RemotePortGID", 160, 128},
            Field{&T::flow_label, "FlowLabel", 288, 20}.hex(),
            Field{&T::packet_rate, "PacketRate", 314, 6},
            Field{&T::traffic_class, "TrafficClass", 320, 8},
            Field{&T::hop_limit, "HopLimit", 328, 8},
            Field{&T::sl, "SL", 336, 4},
            Field{&T::subnet_local, "SubnetLocal", 340, 1},
            Field{&T::local_ack_timeout, "LocalACKTimeout", 344, 5},
        };
    }
    friend bool operator==(const CmPath&, const CmPath&) = default;
};
static_assert(layout_is_sound<CmPath>());

struct CmReq {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    std::uint32_t vendor_id = 0;  ///< Vendor of the options in the AttributeModifier; 0: none.
    std::uint64_t service_id = 0;
    Guid local_ca_guid{};
    QKey local_qkey{};
    Qpn local_qpn{};
    std::uint8_t responder_resources = 0;
    std::uint32_t local_eecn = 0;
    std::uint8_t initiator_depth = 0;
    std::uint32_t remote_eecn = 0;
    std::uint8_t remote_cm_response_timeout = 0;
    TransportServiceType transport_service_type{};
    bool end_to_end_flow_control = false;
    Psn starting_psn{};
    std::uint8_t local_cm_response_timeout = 0;
    std::uint8_t retry_count = 0;
    PKey partition_key{};
    std::uint8_t path_packet_payload_mtu = 0;
    bool rdc_exists = false;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t max_cm_retries = 0;
    bool srq = false;
    std::uint8_t extended_transport_type = 0;
    CmPath primary_path{};
    CmPath alternate_path{};
    bool sap_supported = false;
    std::array<std::uint8_t, 92> private_data{};

    static constexpr auto fields() {
        using T = CmReq;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::vendor_id, "VendorID", 40, 24}.hex(),
            Field{&T::service_id, "ServiceID", 64, 64}.hex(),
            Field{&T::local_ca_guid, "LocalCAGUID", 128, 64},
            Field{&T::local_qkey, "LocalQ_Key", 224, 32},
            Field{&T::local_qpn, "LocalQPN", 256, 24},
            Field{&T::responder_resources, "ResponderResources", 280, 8},
            Field{&T::local_eecn, "LocalEECN", 288, 24}.hex(),
            Field{&T::initiator_depth, "InitiatorDepth", 312, 8},
            Field{&T::remote_eecn, "RemoteEECN", 320, 24}.hex(),
            Field{&T::remote_cm_response_timeout, "RemoteCMResponseTimeout", 344, 5},
            Field{&T::transport_service_type, "TransportServiceType", 349, 2},
            Field{&T::end_to_end_flow_control, "EndToEndFlowControl", 351, 1},
            Field{&T::starting_psn, "StartingPSN", 352, 24},
            Field{&T::local_cm_response_timeout, "LocalCMResponseTimeout", 376, 5},
            Field{&T::retry_count, "RetryCount", 381, 3},
            Field{&T::partition_key, "PartitionKey", 384, 16},
            Field{&T::path_packet_payload_mtu, "PathPacketPayloadMTU", 400, 4},
            Field{&T::rdc_exists, "RDCExists", 404, 1},
            Field{&T::rnr_retry_count, "RNRRetryCount", 405, 3},
            Field{&T::max_cm_retries, "MaxCMRetries", 408, 4},
            Field{&T::srq, "SRQ", 412, 1},
            Field{&T::extended_transport_type, "ExtendedTransportType", 413, 3},
            Field{&T::primary_path, "PrimaryPath", 416, 352},
            Field{&T::alternate_path, "AlternatePath", 768, 352},
            Field{&T::sap_supported, "SAPSupported", 1117, 1},
            Field{&T::private_data, "PrivateData", 1120, 8}.hex(),
        };
    }
    friend bool operator==(const CmReq&, const CmReq&) = default;
};
static_assert(layout_is_sound<CmReq>());

}  // namespace softib::wire
