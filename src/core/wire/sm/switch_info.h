// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SwitchInfo: the sizes of a switch's tables, its default ports and its capabilities (IBA vol. 1,
// 14.2.5.4).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct SwitchInfo {
    static constexpr std::size_t kBytes = 20;

    std::uint16_t linear_fdb_cap = 0;
    std::uint16_t random_fdb_cap = 0;
    std::uint16_t multicast_fdb_cap = 0;
    std::uint16_t linear_fdb_top = 0;
    PortNum default_port{};
    PortNum default_multicast_primary_port{};
    PortNum default_multicast_not_primary_port{};
    std::uint8_t life_time_value = 0;
    bool port_state_change = false;  ///< Writing 1 clears it.
    std::uint8_t optimized_sl_to_vl_mapping_programming = 0;
    std::uint16_t lids_per_port = 0;
    std::uint16_t partition_enforcement_cap = 0;
    bool inbound_enforcement_cap = false;
    bool outbound_enforcement_cap = false;
    bool filter_raw_inbound_cap = false;
    bool filter_raw_outbound_cap = false;
    bool enhanced_port0 = false;
    std::uint16_t multicast_fdb_top = 0;  ///< An MLID; 0xBFFF: no entry is used.

    static constexpr auto fields() {
        using T = SwitchInfo;
        return Fields{
            Field{&T::linear_fdb_cap, "LinearFDBCap", 0, 16, 0},
            Field{&T::random_fdb_cap, "RandomFDBCap", 16, 16, 1},
            Field{&T::multicast_fdb_cap, "MulticastFDBCap", 32, 16, 2},
            Field{&T::linear_fdb_top, "LinearFDBTop", 48, 16, 3},
            Field{&T::default_port, "DefaultPort", 64, 8, 4},
            Field{&T::default_multicast_primary_port, "DefaultMulticastPrimaryPort", 72, 8, 5},
            Field{&T::default_multicast_not_primary_port, "DefaultMulticastNotPrimaryPort", 80, 8,
                  6},
            Field{&T::life_time_value, "LifeTimeValue", 88, 5, 7},
            Field{&T::port_state_change, "PortStateChange", 93, 1, 8},
            Field{&T::optimized_sl_to_vl_mapping_programming, "OptimizedSLtoVLMappingProgramming",
                  94, 2, 9},
            Field{&T::lids_per_port, "LIDsPerPort", 96, 16, 10},
            Field{&T::partition_enforcement_cap, "PartitionEnforcementCap", 112, 16, 11},
            Field{&T::inbound_enforcement_cap, "InboundEnforcementCap", 128, 1, 12},
            Field{&T::outbound_enforcement_cap, "OutboundEnforcementCap", 129, 1, 13},
            Field{&T::filter_raw_inbound_cap, "FilterRawInboundCap", 130, 1, 14},
            Field{&T::filter_raw_outbound_cap, "FilterRawOutboundCap", 131, 1, 15},
            Field{&T::enhanced_port0, "EnhancedPort0", 132, 1, 16},
            Field{&T::multicast_fdb_top, "MulticastFDBTop", 144, 16, 18}.hex(),
        };
    }
    friend bool operator==(const SwitchInfo&, const SwitchInfo&) = default;
};
static_assert(layout_is_sound<SwitchInfo>());

}  // namespace softib::wire
