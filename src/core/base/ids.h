// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Strong identifiers. Two ids of different kinds never convert into each other, so that a
// signature with a Lid and a Qpn cannot be called the wrong way round.

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace softib {

template <typename Tag, typename Value>
struct Id {
    Value value{};

    constexpr Id() = default;
    constexpr explicit Id(Value v) : value(v) {}
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using Lid = Id<struct LidTag, std::uint16_t>;
using Guid = Id<struct GuidTag, std::uint64_t>;
using Qpn = Id<struct QpnTag, std::uint32_t>;
using Psn = Id<struct PsnTag, std::uint32_t>;
using PKey = Id<struct PKeyTag, std::uint16_t>;
using QKey = Id<struct QKeyTag, std::uint32_t>;
using PortNum = Id<struct PortNumTag, std::uint8_t>;
/// The number of a subnet. A LID is unique only within its subnet.
using SubnetId = Id<struct SubnetIdTag, std::uint16_t>;

inline constexpr Lid kLidUnassigned{0};
inline constexpr Lid kLidUnicastMax{0xBFFF};
inline constexpr Lid kLidMulticastMin{0xC000};
inline constexpr Lid kLidPermissive{0xFFFF};
inline constexpr Qpn kQpnMulticast{0xFFFFFF};
inline constexpr PKey kPKeyDefaultFull{0xFFFF};

constexpr bool is_multicast(Lid lid) {
    return lid >= kLidMulticastMin && lid != kLidPermissive;
}

/// Returns whether two P_Keys match: their low 15 bits agree and are not zero, and at least one of
/// the two is that of a full member (IBA vol. 1, 10.9.3).
constexpr bool matches(PKey a, PKey b) {
    return ((a.value ^ b.value) & 0x7FFF) == 0 && (a.value & 0x7FFF) != 0 &&
           ((a.value | b.value) & 0x8000) != 0;
}

/// Returns whether two P_Keys are of the same partition, whatever the membership. A switch port
/// that enforces partitions checks only this (IBA vol. 1, 18.2.4.2.1); the HCAs at the two ends
/// check that at least one of them is a full member.
constexpr bool same_partition(PKey a, PKey b) {
    return ((a.value ^ b.value) & 0x7FFF) == 0 && (a.value & 0x7FFF) != 0;
}

/// A GID in network byte order, as it stands on the wire and in `union ibv_gid`.
struct Gid {
    std::array<std::uint8_t, 16> bytes{};

    static Gid from(std::uint64_t subnet_prefix, Guid interface_id);
    std::uint64_t subnet_prefix() const;
    Guid interface_id() const;
    bool is_multicast() const { return bytes[0] == 0xFF; }
    friend auto operator<=>(const Gid&, const Gid&) = default;
};

inline constexpr std::uint64_t kSubnetPrefixDefault = 0xFE80000000000000;

std::string to_string(Guid guid);         ///< Returns 0x0002c90300001234, for example.
std::string to_string_colons(Guid guid);  ///< Returns the form of sysfs: 0002:c903:0000:1234.
std::string to_string(const Gid& gid);    ///< Returns fe80:0000:0000:0000:0002:c903:0000:1234.

}  // namespace softib
