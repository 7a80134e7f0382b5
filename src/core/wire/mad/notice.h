// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Notice: the report of an event (IBA vol. 1, 13.4.8.2; 14.2.5.1 has the details of each trap). An
// SMP has a Notice of 64 bytes; GmpNotice has the issuer's GID too.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/mad/mad.h"

namespace softib::wire {

enum class NoticeType : std::uint8_t {
    kFatal = 0,
    kUrgent = 1,
    kSecurity = 2,
    kSubnetManagement = 3,
    kInformational = 4,
    kEmpty = 0x7F,
};

/// TrapNumber of generic notices of the subnet management class.
namespace trap {
inline constexpr std::uint16_t kGidInService = 64;
inline constexpr std::uint16_t kGidOutOfService = 65;
inline constexpr std::uint16_t kMulticastGroupCreated = 66;
inline constexpr std::uint16_t kMulticastGroupDeleted = 67;
inline constexpr std::uint16_t kUnpath = 68;
inline constexpr std::uint16_t kRepath = 69;
inline constexpr std::uint16_t kLinkStateChanged = 128;
inline constexpr std::uint16_t kLocalLinkIntegrity = 129;
inline constexpr std::uint16_t kExcessiveBufferOverrun = 130;
inline constexpr std::uint16_t kFlowControlWatchdog = 131;
inline constexpr std::uint16_t kLocalChanges = 144;
inline constexpr std::uint16_t kSystemImageGuidChanged = 145;
inline constexpr std::uint16_t kBadMKey = 256;
inline constexpr std::uint16_t kBadPKey = 257;
inline constexpr std::uint16_t kBadQKey = 258;
inline constexpr std::uint16_t kBadPKeyAtSwitch = 259;
}  // namespace trap

inline constexpr std::size_t kNoticeDetailsBytes = 54;

struct Notice {
    static constexpr std::size_t kBytes = 64;

    bool is_generic = true;
    NoticeType type{};
    std::uint32_t producer_type = 0;  ///< A NodeType; VendorID if the notice is not generic.
    std::uint16_t trap_number = 0;    ///< DeviceID if the notice is not generic.
    Lid issuer_lid{};
    bool notice_toggle = false;
    std::uint16_t notice_count = 0;
    std::array<std::uint8_t, kNoticeDetailsBytes> data_details{};

    /// Returns DataDetails as the struct that belongs to the trap number.
    template <Attribute Details>
    constexpr Details details() const {
        return parse<Details>(data_details);
    }
    template <Attribute Details>
    constexpr void set_details(const Details& value) {
        data_details = {};
        emit(value, data_details);
    }

    static constexpr auto fields() {
        using T = Notice;
        return Fields{
            Field{&T::is_generic, "IsGeneric", 0, 1, 0},
            Field{&T::type, "Type", 1, 7, 1},
            Field{&T::producer_type, "ProducerType", 8, 24, 2}.hex(),
            Field{&T::trap_number, "TrapNumber", 32, 16, 3},
            Field{&T::issuer_lid, "IssuerLID", 48, 16, 4},
            Field{&T::notice_toggle, "NoticeToggle", 64, 1, 5},
            Field{&T::notice_count, "NoticeCount", 65, 15, 6},
            Field{&T::data_details, "DataDetails", 80, 8, 7}.hex(),
        };
    }
    friend bool operator==(const Notice&, const Notice&) = default;
};
static_assert(layout_is_sound<Notice>());

/// The notice of all classes but subnet management.
struct GmpNotice {
    static constexpr std::size_t kBytes = 80;

    Notice notice{};
    Gid issuer_gid{};

    static constexpr auto fields() {
        using T = GmpNotice;
        return Fields{
            Field{&T::notice, "Notice", 0, 512, 0},
            Field{&T::issuer_gid, "IssuerGID", 512, 128, 8},
        };
    }
    friend bool operator==(const GmpNotice&, const GmpNotice&) = default;
};
static_assert(layout_is_sound<GmpNotice>());

/// Details of traps 64 to 67: the GID of a port or a multicast group.
struct GidTrap {
    static constexpr std::size_t kBytes = 22;

    Gid gid{};

    static constexpr auto fields() {
        using T = GidTrap;
        return Fields{
            Field{&T::gid, "GIDADDR", 48, 128},
        };
    }
    friend bool operator==(const GidTrap&, const GidTrap&) = default;
};
static_assert(layout_is_sound<GidTrap>());

/// Details of trap 128: the LID of a switch of which a link has changed its state.
struct LinkStateTrap {
    static constexpr std::size_t kBytes = 2;

    Lid lid{};

    static constexpr auto fields() {
        using T = LinkStateTrap;
        return Fields{
            Field{&T::lid, "LIDADDR", 0, 16},
        };
    }
    friend bool operator==(const LinkStateTrap&, const LinkStateTrap&) = default;
};
static_assert(layout_is_sound<LinkStateTrap>());

/// Details of traps 129 to 131.
struct PortThresholdTrap {
    static constexpr std::size_t kBytes = 5;

    Lid lid{};
    PortNum port_num{};

    static constexpr auto fields() {
        using T = PortThresholdTrap;
        return Fields{
            Field{&T::lid, "LIDADDR", 16, 16},
            Field{&T::port_num, "PORTNO", 32, 8},
        };
    }
    friend bool operator==(const PortThresholdTrap&, const PortThresholdTrap&) = default;
};
static_assert(layout_is_sound<PortThresholdTrap>());

/// Details of trap 144.
struct LocalChangesTrap {
    static constexpr std::size_t kBytes = 14;

    Lid lid{};
    bool other_local_changes = false;  ///< One of the flags below is set.
    std::uint32_t capability_mask = 0;
    bool capability_mask2_change = false;
    bool hierarchy_info_change = false;
    bool sm_priority_change = false;
    bool link_speed_enabled_change = false;
    bool link_width_enabled_change = false;
    bool node_description_change = false;
    std::uint16_t capability_mask2 = 0;

    static constexpr auto fields() {
        using T = LocalChangesTrap;
        return Fields{
            Field{&T::lid, "LIDADDR", 16, 16},
            Field{&T::other_local_changes, "OtherLocalChanges", 47, 1},
            Field{&T::capability_mask, "CAPABILITYMASK", 48, 32}.hex(),
            Field{&T::capability_mask2_change, "CapabilityMask2Change", 90, 1},
            Field{&T::hierarchy_info_change, "HierarchyInfoChange", 91, 1},
            Field{&T::sm_priority_change, "SMPriorityChange", 92, 1},
            Field{&T::link_speed_enabled_change, "LinkSpeedEnabledChange", 93, 1},
            Field{&T::link_width_enabled_change, "LinkWidthEnabledChange", 94, 1},
            Field{&T::node_description_change, "NodeDescriptionChange", 95, 1},
            Field{&T::capability_mask2, "CAPABILITYMASK2", 96, 16}.hex(),
        };
    }
    friend bool operator==(const LocalChangesTrap&, const LocalChangesTrap&) = default;
};
static_assert(layout_is_sound<LocalChangesTrap>());

/// Details of trap 145.
struct SystemImageGuidTrap {
    static constexpr std::size_t kBytes = 14;

    Lid lid{};
    Guid system_image_guid{};

    static constexpr auto fields() {
        using T = SystemImageGuidTrap;
        return Fields{
            Field{&T::lid, "LIDADDR", 16, 16},
            Field{&T::system_image_guid, "SYSTEMIMAGEGUID", 48, 64},
        };
    }
    friend bool operator==(const SystemImageGuidTrap&, const SystemImageGuidTrap&) = default;
};
static_assert(layout_is_sound<SystemImageGuidTrap>());

/// Details of trap 256: the SMP whose M_Key was wrong.
struct BadMKeyTrap {
    static constexpr std::size_t kBytes = 54;

    Lid lid{};
    Lid dr_slid{};
    Method method{};
    std::uint16_t attribute_id = 0;
    std::uint32_t attribute_modifier = 0;
    std::uint64_t mkey = 0;
    bool dr_notice = false;
    bool dr_path_truncated = false;
    std::uint8_t dr_hop_count = 0;
    std::array<std::uint8_t, 30> dr_notice_return_path{};

    static constexpr auto fields() {
        using T = BadMKeyTrap;
        return Fields{
            Field{&T::lid, "LIDADDR", 16, 16},
            Field{&T::dr_slid, "DRSLID", 32, 16},
            Field{&T::method, "METHOD", 48, 8},
            Field{&T::attribute_id, "ATTRIBUTEID", 64, 16}.hex(),
            Field{&T::attribute_modifier, "ATTRIBUTEMODIFIER", 80, 32}.hex(),
            Field{&T::mkey, "MKEY", 112, 64}.hex(),
            Field{&T::dr_notice, "DRNotice", 184, 1},
            Field{&T::dr_path_truncated, "DRPathTruncated", 185, 1},
            Field{&T::dr_hop_count, "DRHopCount", 186, 6},
            Field{&T::dr_notice_return_path, "DRNoticeReturnPath", 192, 8}.hex(),
        };
    }
    friend bool operator==(const BadMKeyTrap&, const BadMKeyTrap&) = default;
};
static_assert(layout_is_sound<BadMKeyTrap>());

/// Details of traps 257 and 258: the packet whose P_Key or Q_Key was wrong.
struct BadKeyTrap {
    static constexpr std::size_t kBytes = 50;

    Lid lid1{};             ///< The source LID.
    Lid lid2{};             ///< The destination LID.
    std::uint32_t key = 0;  ///< The Q_Key, or the P_Key in the lower half.
    std::uint8_t sl = 0;
    Qpn qp1{};
    Qpn qp2{};
    Gid gid1{};
    Gid gid2{};

    static constexpr auto fields() {
        using T = BadKeyTrap;
        return Fields{
            Field{&T::lid1, "LIDADDR1", 16, 16},   Field{&T::lid2, "LIDADDR2", 32, 16},
            Field{&T::key, "KEY", 48, 32}.hex(),   Field{&T::sl, "SL", 80, 4},
            Field{&T::qp1, "QP1", 88, 24},         Field{&T::qp2, "QP2", 120, 24},
            Field{&T::gid1, "GIDADDR1", 144, 128}, Field{&T::gid2, "GIDADDR2", 272, 128},
        };
    }
    friend bool operator==(const BadKeyTrap&, const BadKeyTrap&) = default;
};
static_assert(layout_is_sound<BadKeyTrap>());

/// Details of trap 259: the packet whose P_Key a switch refused.
struct BadSwitchPKeyTrap {
    static constexpr std::size_t kBytes = 51;

    std::uint16_t data_valid = 0;  ///< A bit for each field below that is valid.
    Lid lid1{};
    Lid lid2{};
    PKey pkey{};
    std::uint8_t sl = 0;
    Qpn qp1{};
    Qpn qp2{};
    Gid gid1{};
    Gid gid2{};
    Lid switch_lid{};
    PortNum port_num{};

    static constexpr auto fields() {
        using T = BadSwitchPKeyTrap;
        return Fields{
            Field{&T::data_valid, "DataValid", 0, 16}.hex(),
            Field{&T::lid1, "LIDADDR1", 16, 16},
            Field{&T::lid2, "LIDADDR2", 32, 16},
            Field{&T::pkey, "PKEY", 48, 16},
            Field{&T::sl, "SL", 64, 4},
            Field{&T::qp1, "QP1", 72, 24},
            Field{&T::qp2, "QP2", 104, 24},
            Field{&T::gid1, "GIDADDR1", 128, 128},
            Field{&T::gid2, "GIDADDR2", 256, 128},
            Field{&T::switch_lid, "SWLIDADDR", 384, 16},
            Field{&T::port_num, "PORTNO", 400, 8},
        };
    }
    friend bool operator==(const BadSwitchPKeyTrap&, const BadSwitchPKeyTrap&) = default;
};
static_assert(layout_is_sound<BadSwitchPKeyTrap>());

}  // namespace softib::wire
