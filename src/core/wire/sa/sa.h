// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The parts of an SA MAD after the common header: the RMPP header, the SA header, and 200 bytes of
// records (IBA vol. 1, 15.2.1).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "core/wire/format/layout.h"
#include "core/wire/mad/mad.h"
#include "core/wire/mad/rmpp.h"

namespace softib::wire {

inline constexpr std::uint8_t kSaClassVersion = 2;
inline constexpr std::size_t kSaHeaderOffset = 36;
inline constexpr std::size_t kSaDataOffset = 56;
inline constexpr std::size_t kSaDataBytes = kMadBytes - kSaDataOffset;

enum class SaAttribute : std::uint16_t {
    kClassPortInfo = 0x0001,
    kNotice = 0x0002,
    kInformInfo = 0x0003,
    kNodeRecord = 0x0011,
    kPortInfoRecord = 0x0012,
    kSlToVlMappingTableRecord = 0x0013,
    kSwitchInfoRecord = 0x0014,
    kLinearForwardingTableRecord = 0x0015,
    kRandomForwardingTableRecord = 0x0016,
    kMulticastForwardingTableRecord = 0x0017,
    kSmInfoRecord = 0x0018,
    kLinkSpeedWidthPairsTableRecord = 0x0019,
    kLinkRecord = 0x0020,
    kGuidInfoRecord = 0x0030,
    kServiceRecord = 0x0031,
    kPKeyTableRecord = 0x0033,
    kPathRecord = 0x0035,
    kVlArbitrationTableRecord = 0x0036,
    kMcMemberRecord = 0x0038,
    kTraceRecord = 0x0039,
    kMultiPathRecord = 0x003A,
    kServiceAssociationRecord = 0x003B,
    kHierarchyInfoRecord = 0x003C,
    kCableInfoRecord = 0x003D,
    kPortInfoExtendedRecord = 0x003E,
    kInformInfoRecord = 0x00F3,
    kNoticeRecord = 0x00F4,
};

/// The class-specific part of MADHeader.Status (IBA vol. 1, 15.2.3.2).
namespace sa_status {
inline constexpr std::uint16_t kNoResources = 0x0100;
inline constexpr std::uint16_t kRequestInvalid = 0x0200;
inline constexpr std::uint16_t kNoRecords = 0x0300;
inline constexpr std::uint16_t kTooManyRecords = 0x0400;
inline constexpr std::uint16_t kInvalidGid = 0x0500;
inline constexpr std::uint16_t kInsufficientComponents = 0x0600;
inline constexpr std::uint16_t kRequestDenied = 0x0700;
inline constexpr std::uint16_t kPrioritySuggested = 0x0800;
}  // namespace sa_status

/// Bits of ClassPortInfo:CapabilityMask (IBA vol. 1, 15.2.2).
namespace sa_capability {
inline constexpr std::uint16_t kIsSubnetOptionalRecordsSupported = 1 << 8;
inline constexpr std::uint16_t kIsUDMulticastSupported = 1 << 9;
inline constexpr std::uint16_t kIsMultiPathSupported = 1 << 10;
inline constexpr std::uint16_t kIsReinitSupported = 1 << 11;
inline constexpr std::uint16_t kIsGIDScopedMultiPathSupported = 1 << 12;
inline constexpr std::uint16_t kIsPortInfoCapabilityMaskMatchSupported = 1 << 13;
inline constexpr std::uint16_t kIsLinkSpeedWidthPairsTableRecordSupported = 1 << 14;
}  // namespace sa_capability

/// Bits of ClassPortInfo:CapabilityMask2.
namespace sa_capability2 {
inline constexpr std::uint32_t kIsUnpathRepathSupported = 1 << 0;
inline constexpr std::uint32_t kIsQoSSupported = 1 << 1;
inline constexpr std::uint32_t kIsReversePathPKeyMembershipBitSupported = 1 << 2;
inline constexpr std::uint32_t kIsMulticastFDBTopSupported = 1 << 3;
inline constexpr std::uint32_t kIsHierarchyInfoSupported = 1 << 4;
inline constexpr std::uint32_t kIsAdditionalGUIDSupported = 1 << 5;
inline constexpr std::uint32_t kIsFullPortInfoRecordSupported = 1 << 6;
inline constexpr std::uint32_t kIsExtendedSpeedsSupported = 1 << 7;
inline constexpr std::uint32_t kIsMulticastServiceRecordSupported = 1 << 8;
inline constexpr std::uint32_t kIsCableInfoRecordSupported = 1 << 9;
inline constexpr std::uint32_t kIsPortInfoCapabilityMask2MatchSupported = 1 << 10;
inline constexpr std::uint32_t kIsPortInfoExtendedRecordSupported = 1 << 11;
}  // namespace sa_capability2

/// The AttributeModifier bit by which a query for PortInfoRecords matches all ports that have the
/// CapabilityMask bits given, not only those with an equal mask (IBA vol. 1, 15.2.5.3).
inline constexpr std::uint32_t kSaMatchCapabilityMaskBits = 1U << 31;

/// The AttributeOffset: the distance between two records of a table, in units of 8 bytes.
template <Attribute Record>
inline constexpr std::uint16_t kSaAttributeOffset = (Record::kBytes + 7) / 8;

struct SaHeader {
    static constexpr std::size_t kBytes = 20;

    std::uint64_t sm_key = 0;
    std::uint16_t attribute_offset = 0;
    std::uint64_t component_mask = 0;

    static constexpr auto fields() {
        using T = SaHeader;
        return Fields{
            Field{&T::sm_key, "SM_Key", 0, 64}.hex(),
            Field{&T::attribute_offset, "AttributeOffset", 64, 16},
            Field{&T::component_mask, "ComponentMask", 96, 64}.hex(),
        };
    }
    friend bool operator==(const SaHeader&, const SaHeader&) = default;
};
static_assert(layout_is_sound<SaHeader>());

/// A view of the three parts. Byte is std::uint8_t, or const std::uint8_t for a read-only view.
template <typename Byte>
class Sa {
  public:
    static std::optional<Sa> checked(std::span<Byte> mad) {
        if (mad.size() != kMadBytes) {
            return std::nullopt;
        }
        return Sa(mad.data());
    }
    explicit Sa(MadBytes& mad)
        requires(!std::is_const_v<Byte>)
        : at_(mad.data()) {}
    explicit Sa(const MadBytes& mad)
        requires std::is_const_v<Byte>
        : at_(mad.data()) {}

    RmppHeader rmpp() const { return parse<RmppHeader>(part<kRmppOffset, RmppHeader::kBytes>()); }
    SaHeader header() const { return parse<SaHeader>(part<kSaHeaderOffset, SaHeader::kBytes>()); }
    std::span<Byte, kSaDataBytes> data() const { return part<kSaDataOffset, kSaDataBytes>(); }

    void set_rmpp(const RmppHeader& rmpp) const {
        emit(rmpp, part<kRmppOffset, RmppHeader::kBytes>());
    }
    void set_header(const SaHeader& header) const {
        emit(header, part<kSaHeaderOffset, SaHeader::kBytes>());
    }

  private:
    explicit Sa(Byte* at) : at_(at) {}
    template <std::size_t Offset, std::size_t Bytes>
    std::span<Byte, Bytes> part() const {
        return std::span<Byte, Bytes>(at_ + Offset, Bytes);
    }
    Byte* at_;
};

}  // namespace softib::wire
