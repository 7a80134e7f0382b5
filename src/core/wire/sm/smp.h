// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Subnet management packets (IBA vol. 1, 14.2.1), LID-routed or directed-route. Both have the same
// format; a LID-routed SMP has zeros in the fields of the directed route.

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "core/base/ids.h"
#include "core/wire/format/bytes.h"
#include "core/wire/mad/mad.h"

namespace softib::wire {

inline constexpr std::uint8_t kSmpClassVersion = 1;
inline constexpr std::size_t kSmpDataOffset = 64;
inline constexpr std::size_t kSmpDataBytes = 64;
inline constexpr std::size_t kSmpInitialPathOffset = 128;
inline constexpr std::size_t kSmpReturnPathOffset = 192;
inline constexpr std::size_t kSmpPathBytes = 64;
/// The most hops of a directed route; the first byte of a path is not a hop.
inline constexpr std::uint8_t kSmpHopsMax = 63;

enum class SmAttribute : std::uint16_t {
    kNotice = 0x0002,
    kNodeDescription = 0x0010,
    kNodeInfo = 0x0011,
    kSwitchInfo = 0x0012,
    kGuidInfo = 0x0014,
    kPortInfo = 0x0015,
    kPKeyTable = 0x0016,
    kSlToVlMappingTable = 0x0017,
    kVlArbitrationTable = 0x0018,
    kLinearForwardingTable = 0x0019,
    kRandomForwardingTable = 0x001A,
    kMulticastForwardingTable = 0x001B,
    kLinkSpeedWidthPairsTable = 0x001C,
    kVendorSpecificMadsTable = 0x001D,
    kHierarchyInfo = 0x001E,
    kSmInfo = 0x0020,
    kVendorDiag = 0x0030,
    kLedInfo = 0x0031,
    kCableInfo = 0x0032,
    kPortInfoExtended = 0x0033,
    kPortSlToPrivateLftMap = 0xFF14,
    kAdaptiveRoutingInfo = 0xFF20,
    kArGroupTable = 0xFF21,
    kArLinearForwardingTable = 0xFF23,
    kMlnxExtendedPortInfo = 0xFF90,
};

/// A view of the SMP's fields after the common header, for which there is Mad. Byte is
/// std::uint8_t, or const std::uint8_t for a read-only view.
template <typename Byte>
class Smp {
  public:
    static std::optional<Smp> checked(std::span<Byte> mad) {
        if (mad.size() != kMadBytes) {
            return std::nullopt;
        }
        return Smp(mad.data());
    }
    explicit Smp(MadBytes& mad)
        requires(!std::is_const_v<Byte>)
        : at_(mad.data()) {}
    explicit Smp(const MadBytes& mad)
        requires std::is_const_v<Byte>
        : at_(mad.data()) {}

    /// Returns the D bit: true if the SMP is on its way back.
    bool direction() const { return (at_[4] & 0x80) != 0; }
    /// Returns MADHeader.Status without the D bit.
    std::uint16_t status() const { return load_be<std::uint16_t>(at_ + 4) & 0x7FFF; }
    std::uint8_t hop_pointer() const { return at_[6]; }
    std::uint8_t hop_count() const { return at_[7]; }
    std::uint64_t mkey() const { return load_be<std::uint64_t>(at_ + 24); }
    Lid dr_slid() const { return Lid{load_be<std::uint16_t>(at_ + 32)}; }
    Lid dr_dlid() const { return Lid{load_be<std::uint16_t>(at_ + 34)}; }
    std::span<Byte, kSmpDataBytes> data() const {
        return std::span<Byte, kSmpDataBytes>(at_ + kSmpDataOffset, kSmpDataBytes);
    }
    /// Returns the ports of the directed route: element `hop` is the port by which node `hop - 1`
    /// sends the SMP on. Element 0 is not used.
    std::span<Byte, kSmpPathBytes> initial_path() const {
        return std::span<Byte, kSmpPathBytes>(at_ + kSmpInitialPathOffset, kSmpPathBytes);
    }
    std::span<Byte, kSmpPathBytes> return_path() const {
        return std::span<Byte, kSmpPathBytes>(at_ + kSmpReturnPathOffset, kSmpPathBytes);
    }

    void set_direction(bool back) const {
        at_[4] = static_cast<std::uint8_t>((at_[4] & 0x7F) | (back ? 0x80 : 0));
    }
    /// Sets MADHeader.Status and keeps the D bit.
    void set_status(std::uint16_t v) const {
        store_be(at_ + 4, static_cast<std::uint16_t>((direction() ? 0x8000 : 0) | (v & 0x7FFF)));
    }
    // clang-format off
    void set_hop_pointer(std::uint8_t v) const { at_[6] = v; }
    void set_hop_count(std::uint8_t v) const { at_[7] = v; }
    void set_mkey(std::uint64_t v) const { store_be(at_ + 24, v); }
    void set_dr_slid(Lid v) const { store_be(at_ + 32, v.value); }
    void set_dr_dlid(Lid v) const { store_be(at_ + 34, v.value); }
    // clang-format on

  private:
    explicit Smp(Byte* at) : at_(at) {}
    Byte* at_;
};

}  // namespace softib::wire
