// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// REJ: refuses a connection, and says why (IBA vol. 1, 12.6.7).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class RejectedMessage : std::uint8_t { kReq = 0, kRep = 1, kOther = 2 };

enum class RejectReason : std::uint16_t {
    kNoQpAvailable = 1,
    kNoEecAvailable = 2,
    kNoResourcesAvailable = 3,
    kTimeout = 4,
    kUnsupportedRequest = 5,
    kInvalidCommunicationId = 6,
    kInvalidCommunicationInstance = 7,
    kInvalidServiceId = 8,
    kInvalidTransportServiceType = 9,
    kStaleConnection = 10,
    kRdcDoesNotExist = 11,
    kPrimaryRemotePortGidRejected = 12,
    kPrimaryRemotePortLidRejected = 13,
    kInvalidPrimarySl = 14,
    kInvalidPrimaryTrafficClass = 15,
    kInvalidPrimaryHopLimit = 16,
    kInvalidPrimaryPacketRate = 17,
    kAlternateRemotePortGidRejected = 18,
    kAlternateRemotePortLidRejected = 19,
    kInvalidAlternateSl = 20,
    kInvalidAlternateTrafficClass = 21,
    kInvalidAlternateHopLimit = 22,
    kInvalidAlternatePacketRate = 23,
    kPortAndCmRedirection = 24,
    kPortRedirection = 25,
    kInvalidPathMtu = 26,
    kInsufficientResponderResources = 27,
    kConsumerReject = 28,
    kRnrRetryCountReject = 29,
    kDuplicateLocalCommunicationId = 30,
    kInvalidClassVersion = 31,
    kInvalidFlowLabel = 32,
    kInvalidAlternateFlowLabel = 33,
    kVendorOptionNotSupported = 35,
};

struct CmRej {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    CommunicationId remote_communication_id = 0;
    RejectedMessage message_rejected{};
    std::uint8_t reject_info_length = 0;
    RejectReason reason{};
    std::array<std::uint8_t, 72> ari{};  ///< Additional reject information.
    std::array<std::uint8_t, 148> private_data{};

    static constexpr auto fields() {
        using T = CmRej;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::remote_communication_id, "RemoteCommunicationID", 32, 32}.hex(),
            Field{&T::message_rejected, "MessageRejected", 64, 2},
            Field{&T::reject_info_length, "RejectInfoLength", 72, 7},
            Field{&T::reason, "Reason", 80, 16},
            Field{&T::ari, "ARI", 96, 8}.hex(),
            Field{&T::private_data, "PrivateData", 672, 8}.hex(),
        };
    }
    friend bool operator==(const CmRej&, const CmRej&) = default;
};
static_assert(layout_is_sound<CmRej>());

}  // namespace softib::wire
