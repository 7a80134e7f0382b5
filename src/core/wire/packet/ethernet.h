// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The header of an Ethernet frame (IEEE 802.3), and the VLAN tag that may follow its addresses
// (802.1Q). RoCEv2 packets are captured in such frames.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

using MacAddress = std::array<std::uint8_t, 6>;

namespace ether_type {
inline constexpr std::uint16_t kIpv4 = 0x0800;
inline constexpr std::uint16_t kVlan = 0x8100;
inline constexpr std::uint16_t kIpv6 = 0x86DD;
}  // namespace ether_type

struct EthernetHeader {
    static constexpr std::size_t kBytes = 14;

    MacAddress destination{};
    MacAddress source{};
    std::uint16_t type = 0;

    static constexpr auto fields() {
        using T = EthernetHeader;
        return Fields{
            Field{&T::destination, "Destination", 0, 8}.hex(),
            Field{&T::source, "Source", 48, 8}.hex(),
            Field{&T::type, "Type", 96, 16}.hex(),
        };
    }
    friend bool operator==(const EthernetHeader&, const EthernetHeader&) = default;
};
static_assert(layout_is_sound<EthernetHeader>());

/// The tag that follows a header whose type is kVlan.
struct VlanTag {
    static constexpr std::size_t kBytes = 4;

    std::uint8_t priority = 0;
    bool drop_eligible = false;
    std::uint16_t vlan = 0;
    std::uint16_t type = 0;  ///< The EtherType of what follows the tag.

    static constexpr auto fields() {
        using T = VlanTag;
        return Fields{
            Field{&T::priority, "Priority", 0, 3},
            Field{&T::drop_eligible, "DropEligible", 3, 1},
            Field{&T::vlan, "VLAN", 4, 12},
            Field{&T::type, "Type", 16, 16}.hex(),
        };
    }
    friend bool operator==(const VlanTag&, const VlanTag&) = default;
};
static_assert(layout_is_sound<VlanTag>());

}  // namespace softib::wire
