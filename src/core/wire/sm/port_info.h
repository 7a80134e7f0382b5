// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortInfo: most of what a subnet manager reads from and writes to a port (IBA vol. 1, 14.2.5.6).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/port_state.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

using softib::PortPhysicalState;
using softib::PortState;

enum class LinkDownDefaultState : std::uint8_t { kNoChange = 0, kSleep = 1, kPolling = 2 };

/// Bits of CapabilityMask.
namespace port_capability {
inline constexpr std::uint32_t kIsSM = 1U << 1;
inline constexpr std::uint32_t kIsNoticeSupported = 1U << 2;
inline constexpr std::uint32_t kIsTrapSupported = 1U << 3;
inline constexpr std::uint32_t kIsOptionalIPDSupported = 1U << 4;
inline constexpr std::uint32_t kIsAutomaticMigrationSupported = 1U << 5;
inline constexpr std::uint32_t kIsSLMappingSupported = 1U << 6;
inline constexpr std::uint32_t kIsMKeyNVRAM = 1U << 7;
inline constexpr std::uint32_t kIsPKeyNVRAM = 1U << 8;
inline constexpr std::uint32_t kIsLEDInfoSupported = 1U << 9;
inline constexpr std::uint32_t kIsSMDisabled = 1U << 10;
inline constexpr std::uint32_t kIsSystemImageGUIDSupported = 1U << 11;
inline constexpr std::uint32_t kIsPKeySwitchExternalPortTrapSupported = 1U << 12;
inline constexpr std::uint32_t kIsCableInfoSupported = 1U << 13;
inline constexpr std::uint32_t kIsExtendedSpeedsSupported = 1U << 14;
inline constexpr std::uint32_t kIsCapabilityMask2Supported = 1U << 15;
inline constexpr std::uint32_t kIsCommunicationManagementSupported = 1U << 16;
inline constexpr std::uint32_t kIsSNMPTunnelingSupported = 1U << 17;
inline constexpr std::uint32_t kIsReinitSupported = 1U << 18;
inline constexpr std::uint32_t kIsDeviceManagementSupported = 1U << 19;
inline constexpr std::uint32_t kIsVendorClassSupported = 1U << 20;
inline constexpr std::uint32_t kIsDRNoticeSupported = 1U << 21;
inline constexpr std::uint32_t kIsCapabilityMaskNoticeSupported = 1U << 22;
inline constexpr std::uint32_t kIsBootManagementSupported = 1U << 23;
inline constexpr std::uint32_t kIsLinkRoundTripLatencySupported = 1U << 24;
inline constexpr std::uint32_t kIsClientReregistrationSupported = 1U << 25;
inline constexpr std::uint32_t kIsOtherLocalChangesNoticeSupported = 1U << 26;
inline constexpr std::uint32_t kIsLinkSpeedWidthPairsTableSupported = 1U << 27;
inline constexpr std::uint32_t kIsVendorSpecificMadsTableSupported = 1U << 28;
inline constexpr std::uint32_t kIsMulticastPKeyTrapSuppressionSupported = 1U << 29;
inline constexpr std::uint32_t kIsMulticastFDBTopSupported = 1U << 30;
inline constexpr std::uint32_t kIsHierarchyInfoSupported = 1U << 31;
}  // namespace port_capability

/// Bits of CapabilityMask2.
namespace port_capability2 {
inline constexpr std::uint16_t kIsSetNodeDescriptionSupported = 1U << 0;
inline constexpr std::uint16_t kIsPortInfoExtendedSupported = 1U << 1;
inline constexpr std::uint16_t kIsVirtualizationSupported = 1U << 2;
inline constexpr std::uint16_t kIsSwitchPortStateTableSupported = 1U << 3;
inline constexpr std::uint16_t kIsLinkWidth2xSupported = 1U << 4;
inline constexpr std::uint16_t kIsLinkSpeedHDRSupported = 1U << 5;
inline constexpr std::uint16_t kIsLinkSpeedNDRSupported = 1U << 10;
inline constexpr std::uint16_t kIsExtendedSpeeds2Supported = 1U << 11;
inline constexpr std::uint16_t kIsLinkSpeedXDRSupported = 1U << 12;
}  // namespace port_capability2

/// Bits of LinkWidthSupported, LinkWidthEnabled and LinkWidthActive.
namespace link_width {
inline constexpr std::uint8_t k1x = 1;
inline constexpr std::uint8_t k4x = 2;
inline constexpr std::uint8_t k8x = 4;
inline constexpr std::uint8_t k12x = 8;
inline constexpr std::uint8_t k2x = 16;
inline constexpr std::uint8_t kAllSupported = 255;  ///< In LinkWidthEnabled: all supported ones.
}  // namespace link_width

/// Bits of LinkSpeedSupported, LinkSpeedEnabled and LinkSpeedActive, with the Gb/s of a lane.
namespace link_speed {
inline constexpr std::uint8_t kSdr = 1;  ///< 2.5
inline constexpr std::uint8_t kDdr = 2;  ///< 5
inline constexpr std::uint8_t kQdr = 4;  ///< 10
inline constexpr std::uint8_t kAllSupported = 15;
}  // namespace link_speed

/// Bits of the LinkSpeedExt fields, with the Gb/s of a lane. Zero: no extended speed.
namespace link_speed_ext {
inline constexpr std::uint8_t kFdr = 1;  ///< 14.0625
inline constexpr std::uint8_t kEdr = 2;  ///< 25.78125
inline constexpr std::uint8_t kHdr = 4;  ///< 53.125
inline constexpr std::uint8_t kNdr = 8;  ///< 106.25
inline constexpr std::uint8_t kAllSupported = 31;
}  // namespace link_speed_ext

/// The codes of MTUs in NeighborMTU, MTUCap, and path and multicast records.
namespace mtu_code {
inline constexpr std::uint8_t k256 = 1;
inline constexpr std::uint8_t k512 = 2;
inline constexpr std::uint8_t k1024 = 3;
inline constexpr std::uint8_t k2048 = 4;
inline constexpr std::uint8_t k4096 = 5;
}  // namespace mtu_code

struct PortInfo {
    static constexpr std::size_t kBytes = 64;

    std::uint64_t mkey = 0;
    std::uint64_t gid_prefix = 0;
    Lid lid{};
    Lid master_sm_lid{};
    std::uint32_t capability_mask = 0;
    std::uint16_t diag_code = 0;
    std::uint16_t mkey_lease_period = 0;  ///< In seconds; 0: the lease never expires.
    PortNum local_port_num{};             ///< The port that received the SMP.
    std::uint8_t link_width_enabled = 0;
    std::uint8_t link_width_supported = 0;
    std::uint8_t link_width_active = 0;
    std::uint8_t link_speed_supported = 0;
    PortState port_state{};
    PortPhysicalState port_physical_state{};
    LinkDownDefaultState link_down_default_state{};
    std::uint8_t mkey_protect_bits = 0;
    std::uint8_t lmc = 0;
    std::uint8_t link_speed_active = 0;
    std::uint8_t link_speed_enabled = 0;
    std::uint8_t neighbor_mtu = 0;
    std::uint8_t master_sm_sl = 0;
    std::uint8_t vl_cap = 0;  ///< 1: VL0, 2: VL0-1, 3: VL0-3, 4: VL0-7, 5: VL0-14.
    std::uint8_t init_type = 0;
    std::uint8_t vl_high_limit = 0;
    std::uint8_t vl_arbitration_high_cap = 0;
    std::uint8_t vl_arbitration_low_cap = 0;
    std::uint8_t init_type_reply = 0;
    std::uint8_t mtu_cap = 0;
    std::uint8_t vl_stall_count = 0;
    std::uint8_t hoq_life = 0;
    std::uint8_t operational_vls = 0;  ///< Coded like VLCap; 0 in a Set(): no change.
    bool partition_enforcement_inbound = false;
    bool partition_enforcement_outbound = false;
    bool filter_raw_inbound = false;
    bool filter_raw_outbound = false;
    std::uint16_t mkey_violations = 0;
    std::uint16_t pkey_violations = 0;
    std::uint16_t qkey_violations = 0;
    std::uint8_t guid_cap = 0;
    bool client_reregister = false;
    std::uint8_t multicast_pkey_trap_suppression_enabled = 0;
    std::uint8_t subnet_time_out = 0;
    std::uint8_t resp_time_value = 0;
    std::uint8_t local_phy_errors = 0;
    std::uint8_t overrun_errors = 0;
    std::uint16_t max_credit_hint = 0;
    std::uint8_t link_speed_ext_active2 = 0;  ///< 1: XDR, 2: GDR.
    std::uint8_t link_speed_ext_supported2 = 0;
    std::uint8_t link_speed_ext_enabled2 = 0;
    std::uint32_t link_round_trip_latency = 0;
    std::uint16_t capability_mask2 = 0;
    std::uint8_t link_speed_ext_active = 0;
    std::uint8_t link_speed_ext_supported = 0;
    std::uint8_t link_speed_ext_enabled = 0;

    static constexpr auto fields() {
        using T = PortInfo;
        return Fields{
            Field{&T::mkey, "M_Key", 0, 64, 0}.hex(),
            Field{&T::gid_prefix, "GidPrefix", 64, 64, 1}.hex(),
            Field{&T::lid, "LID", 128, 16, 2},
            Field{&T::master_sm_lid, "MasterSMLID", 144, 16, 3},
            Field{&T::capability_mask, "CapabilityMask", 160, 32, 4}.hex(),
            Field{&T::diag_code, "DiagCode", 192, 16, 5}.hex(),
            Field{&T::mkey_lease_period, "M_KeyLeasePeriod", 208, 16, 6},
            Field{&T::local_port_num, "LocalPortNum", 224, 8, 7},
            Field{&T::link_width_enabled, "LinkWidthEnabled", 232, 8, 8},
            Field{&T::link_width_supported, "LinkWidthSupported", 240, 8, 9},
            Field{&T::link_width_active, "LinkWidthActive", 248, 8, 10},
            Field{&T::link_speed_supported, "LinkSpeedSupported", 256, 4, 11},
            Field{&T::port_state, "PortState", 260, 4, 12},
            Field{&T::port_physical_state, "PortPhysicalState", 264, 4, 13},
            Field{&T::link_down_default_state, "LinkDownDefaultState", 268, 4, 14},
            Field{&T::mkey_protect_bits, "M_KeyProtectBits", 272, 2, 15},
            Field{&T::lmc, "LMC", 277, 3, 17},
            Field{&T::link_speed_active, "LinkSpeedActive", 280, 4, 18},
            Field{&T::link_speed_enabled, "LinkSpeedEnabled", 284, 4, 19},
            Field{&T::neighbor_mtu, "NeighborMTU", 288, 4, 20},
            Field{&T::master_sm_sl, "MasterSMSL", 292, 4, 21},
            Field{&T::vl_cap, "VLCap", 296, 4, 22},
            Field{&T::init_type, "InitType", 300, 4, 23},
            Field{&T::vl_high_limit, "VLHighLimit", 304, 8, 24},
            Field{&T::vl_arbitration_high_cap, "VLArbitrationHighCap", 312, 8, 25},
            Field{&T::vl_arbitration_low_cap, "VLArbitrationLowCap", 320, 8, 26},
            Field{&T::init_type_reply, "InitTypeReply", 328, 4, 27},
            Field{&T::mtu_cap, "MTUCap", 332, 4, 28},
            Field{&T::vl_stall_count, "VLStallCount", 336, 3, 29},
            Field{&T::hoq_life, "HOQLife", 339, 5, 30},
            Field{&T::operational_vls, "OperationalVLs", 344, 4, 31},
            Field{&T::partition_enforcement_inbound, "PartitionEnforcementInbound", 348, 1, 32},
            Field{&T::partition_enforcement_outbound, "PartitionEnforcementOutbound", 349, 1, 33},
            Field{&T::filter_raw_inbound, "FilterRawInbound", 350, 1, 34},
            Field{&T::filter_raw_outbound, "FilterRawOutbound", 351, 1, 35},
            Field{&T::mkey_violations, "M_KeyViolations", 352, 16, 36},
            Field{&T::pkey_violations, "P_KeyViolations", 368, 16, 37},
            Field{&T::qkey_violations, "Q_KeyViolations", 384, 16, 38},
            Field{&T::guid_cap, "GUIDCap", 400, 8, 39},
            Field{&T::client_reregister, "ClientReregister", 408, 1, 40},
            Field{&T::multicast_pkey_trap_suppression_enabled,
                  "MulticastPKeyTrapSuppressionEnabled", 409, 2, 41},
            Field{&T::subnet_time_out, "SubnetTimeOut", 411, 5, 42},
            Field{&T::resp_time_value, "RespTimeValue", 419, 5, 44},
            Field{&T::local_phy_errors, "LocalPhyErrors", 424, 4, 45},
            Field{&T::overrun_errors, "OverrunErrors", 428, 4, 46},
            Field{&T::max_credit_hint, "MaxCreditHint", 432, 16, 47},
            Field{&T::link_speed_ext_active2, "LinkSpeedExtActive2", 449, 2},
            Field{&T::link_speed_ext_supported2, "LinkSpeedExtSupported2", 451, 2},
            Field{&T::link_speed_ext_enabled2, "LinkSpeedExtEnabled2", 453, 3},
            Field{&T::link_round_trip_latency, "LinkRoundTripLatency", 456, 24, 49},
            Field{&T::capability_mask2, "CapabilityMask2", 480, 16, 50}.hex(),
            Field{&T::link_speed_ext_active, "LinkSpeedExtActive", 496, 4, 51},
            Field{&T::link_speed_ext_supported, "LinkSpeedExtSupported", 500, 4, 52},
            Field{&T::link_speed_ext_enabled, "LinkSpeedExtEnabled", 507, 5, 54},
        };
    }
    friend bool operator==(const PortInfo&, const PortInfo&) = default;
};
static_assert(layout_is_sound<PortInfo>());

}  // namespace softib::wire
