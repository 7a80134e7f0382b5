// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// REP: accepts a connection and names its queue pair (IBA vol. 1, 12.6.8).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class FailoverAccepted : std::uint8_t { kAccepted = 0, kNotSupported = 1, kRejected = 2 };

struct CmRep {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    CommunicationId remote_communication_id = 0;
    QKey local_qkey{};
    Qpn local_qpn{};
    /// The highest byte of the vendor ID, which a REQ has too; its three bytes are apart here.
    std::uint8_t vendor_id_high = 0;
    std::uint32_t local_ee_context_number = 0;
    std::uint8_t vendor_id_middle = 0;
    Psn starting_psn{};
    std::uint8_t vendor_id_low = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t target_ack_delay = 0;
    FailoverAccepted failover_accepted{};
    bool end_to_end_flow_control = false;
    std::uint8_t rnr_retry_count = 0;
    bool srq = false;
    Guid local_ca_guid{};
    std::array<std::uint8_t, 196> private_data{};

    std::uint32_t vendor_id() const {
        return std::uint32_t{vendor_id_high} << 16 | std::uint32_t{vendor_id_middle} << 8 |
               vendor_id_low;
    }
    void set_vendor_id(std::uint32_t id) {
        vendor_id_high = static_cast<std::uint8_t>(id >> 16);
        vendor_id_middle = static_cast<std::uint8_t>(id >> 8);
        vendor_id_low = static_cast<std::uint8_t>(id);
    }

    static constexpr auto fields() {
        using T = CmRep;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::remote_communication_id, "RemoteCommunicationID", 32, 32}.hex(),
            Field{&T::local_qkey, "LocalQ_Key", 64, 32},
            Field{&T::local_qpn, "LocalQPN", 96, 24},
            Field{&T::vendor_id_high, "VendorIDHigh", 120, 8}.hex(),
            Field{&T::local_ee_context_number, "LocalEEContextNumber", 128, 24}.hex(),
            Field{&T::vendor_id_middle, "VendorIDMiddle", 152, 8}.hex(),
            Field{&T::starting_psn, "StartingPSN", 160, 24},
            Field{&T::vendor_id_low, "VendorIDLow", 184, 8}.hex(),
            Field{&T::responder_resources, "ResponderResources", 192, 8},
            Field{&T::initiator_depth, "InitiatorDepth", 200, 8},
            Field{&T::target_ack_delay, "TargetACKDelay", 208, 5},
            Field{&T::failover_accepted, "FailoverAccepted", 213, 2},
            Field{&T::end_to_end_flow_control, "EndToEndFlowControl", 215, 1},
            Field{&T::rnr_retry_count, "RNRRetryCount", 216, 3},
            Field{&T::srq, "SRQ", 219, 1},
            Field{&T::local_ca_guid, "LocalCAGUID", 224, 64},
            Field{&T::private_data, "PrivateData", 288, 8}.hex(),
        };
    }
    friend bool operator==(const CmRep&, const CmRep&) = default;
};
static_assert(layout_is_sound<CmRep>());

}  // namespace softib::wire
