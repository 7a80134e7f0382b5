// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Vendor-specific attributes of adaptive routing, by which a manager lets a switch choose among
// ports. AdaptiveRoutingInfo (0xFF20) enables it, ARGroupTable (0xFF21) has groups of ports, and
// ARLinearForwardingTable (0xFF23) has the group of ports for each LID. PortSLToPrivateLFTMap
// (0xFF14) gives packets that some ports receive a table of their own. docs/adr/0016 says where the
// formats come from.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct AdaptiveRoutingInfo {
    static constexpr std::size_t kBytes = 20;

    bool enabled = false;
    std::uint8_t sub_groups_active = 0;
    bool by_sl_cap = false;
    bool by_sl_enabled = false;
    bool by_transport_cap = false;
    /// The number of groups; 0: the switch does not support adaptive routing.
    std::uint16_t group_cap = 0;
    std::uint16_t group_top = 0;  ///< The last group in use.
    std::uint8_t group_table_cap = 0;
    std::uint8_t version_cap = 0;
    std::uint8_t sub_groups_supported = 0;
    std::uint16_t enable_by_sl_mask = 0;
    std::uint8_t by_transport_disable = 0;  ///< Bits of adaptive_transport.
    std::uint32_t ageing_time_us = 0;

    static constexpr auto fields() {
        using T = AdaptiveRoutingInfo;
        return Fields{
            Field{&T::by_transport_cap, "ByTransportCap", 2, 1},
            Field{&T::by_sl_enabled, "BySLEn", 3, 1},
            Field{&T::by_sl_cap, "BySLCap", 4, 1},
            Field{&T::sub_groups_active, "SubGrpsActive", 20, 4},
            Field{&T::enabled, "E", 31, 1},
            Field{&T::group_table_cap, "GroupTableCap", 36, 4},
            Field{&T::group_top, "GroupTop", 40, 12},
            Field{&T::group_cap, "GroupCap", 52, 12},
            Field{&T::enable_by_sl_mask, "EnableBySLMask", 64, 16}.hex(),
            Field{&T::sub_groups_supported, "SubGrpsSupported", 80, 8},
            Field{&T::version_cap, "ARVersionCap", 92, 4},
            Field{&T::by_transport_disable, "ByTransportDisable", 120, 8}.hex(),
            Field{&T::ageing_time_us, "AgeingTimeValue", 128, 32},
        };
    }
    friend bool operator==(const AdaptiveRoutingInfo&, const AdaptiveRoutingInfo&) = default;
};
static_assert(layout_is_sound<AdaptiveRoutingInfo>());

namespace adaptive_transport {
inline constexpr std::uint8_t kUd = 1U << 0;
inline constexpr std::uint8_t kRc = 1U << 1;
inline constexpr std::uint8_t kUc = 1U << 2;
inline constexpr std::uint8_t kDct = 1U << 3;
}  // namespace adaptive_transport

/// A block of ARGroupTable: two sets of ports, each a number of 256 bits with the highest word
/// first and bit n for port n. Without sub-groups each set is a group. With two sub-groups the sets
/// of a block are one group: the ports to prefer, and those on longer paths.
struct ArGroupTable {
    static constexpr std::size_t kBytes = 64;
    static constexpr std::size_t kGroups = 2;
    static constexpr std::size_t kWords = 4;

    std::array<std::uint64_t, kGroups * kWords> word{};

    constexpr bool has(std::size_t group, std::uint8_t port) const {
        return (word[group * kWords + kWords - 1 - port / 64] >> port % 64 & 1) != 0;
    }
    constexpr void add(std::size_t group, std::uint8_t port) {
        word[group * kWords + kWords - 1 - port / 64] |= std::uint64_t{1} << port % 64;
    }

    static constexpr auto fields() {
        using T = ArGroupTable;
        return Fields{
            Field{&T::word, "PortMask", 0, 64}.hex(),
        };
    }
    friend bool operator==(const ArGroupTable&, const ArGroupTable&) = default;
};
static_assert(layout_is_sound<ArGroupTable>());

enum class ArLidState : std::uint8_t {
    kBounded = 0,  ///< The switch chooses a port for a flow, which keeps it while it goes on.
    kFree = 1,     ///< The switch chooses a port for each packet.
    kStatic = 2,   ///< The switch has no choice: GroupNumber is the port.
};

/// How a switch forwards packets to one LID.
struct ArForwardingEntry {
    static constexpr std::size_t kBytes = 4;

    ArLidState lid_state = ArLidState::kStatic;
    std::uint8_t table_number = 0;
    std::uint8_t default_port = 0;  ///< The port of packets that may not be routed adaptively.
    std::uint16_t group_number = 0;

    static constexpr auto fields() {
        using T = ArForwardingEntry;
        return Fields{
            Field{&T::lid_state, "LidState", 0, 2},
            Field{&T::table_number, "TableNumber", 4, 4},
            Field{&T::default_port, "DefaultPort", 8, 8},
            Field{&T::group_number, "GroupNumber", 20, 12},
        };
    }
    friend bool operator==(const ArForwardingEntry&, const ArForwardingEntry&) = default;
};
static_assert(layout_is_sound<ArForwardingEntry>());

struct ArLinearForwardingTable {
    static constexpr std::size_t kBytes = 64;
    static constexpr std::size_t kEntries = 16;

    std::array<ArForwardingEntry, kEntries> entry{};

    static constexpr auto fields() {
        using T = ArLinearForwardingTable;
        return Fields{
            Field{&T::entry, "Entry", 0, 32},
        };
    }
    friend bool operator==(const ArLinearForwardingTable&,
                           const ArLinearForwardingTable&) = default;
};
static_assert(layout_is_sound<ArLinearForwardingTable>());

/// Returns the AttributeModifier of a block of ARLinearForwardingTable, in one of a switch's
/// tables.
constexpr std::uint32_t ar_forwarding_modifier(std::uint8_t table, std::uint32_t block) {
    return std::uint32_t{table} << 24 | block;
}

/// For each of four in ports and each service level, the forwarding table of packets; 0 is the
/// common table.
struct PortSlToPrivateLftMap {
    static constexpr std::size_t kBytes = 64;
    static constexpr std::size_t kPorts = 4;
    static constexpr std::size_t kLevels = 16;

    std::array<std::uint8_t, kPorts * kLevels> table{};

    constexpr std::uint8_t at(std::size_t port, std::size_t level) const {
        return table[port * kLevels + level];
    }
    /// Sets the table of an in port for all service levels.
    constexpr void set(std::size_t port, std::uint8_t number) {
        for (std::size_t level = 0; level < kLevels; ++level) {
            table[port * kLevels + level] = number;
        }
    }

    static constexpr auto fields() {
        using T = PortSlToPrivateLftMap;
        return Fields{
            Field{&T::table, "PLFTToPortSL", 0, 8},
        };
    }
    friend bool operator==(const PortSlToPrivateLftMap&, const PortSlToPrivateLftMap&) = default;
};
static_assert(layout_is_sound<PortSlToPrivateLftMap>());

}  // namespace softib::wire
