// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Quality of service as the manager's user asks for it: how many lanes links use, which service
// level takes which lane, and how lanes take turns. The texts are those of OpenSM's options.

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/sl_to_vl_mapping_table.h"
#include "core/wire/vl_arbitration_table.h"

namespace softib::sm {

using ArbitrationList = std::vector<wire::VlArbitrationEntry>;
inline constexpr std::size_t kArbitrationMax = 64;  ///< Entries of a list, in two blocks.
inline constexpr std::uint8_t kArbitrationBlocks = 4;
inline constexpr std::uint8_t kMaxOpVlsAll = 5;

/// VL0 alone has high priority, and the others share what is left alike: what OpenSM does.
ArbitrationList default_vlarb_high();
ArbitrationList default_vlarb_low();

struct QosConfig {
    bool on = false;  ///< False: SL2VL only where routing needs it, arbitration as at power-up.
    /// PortInfo.OperationalVLs at most: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14. Counts always.
    std::uint8_t max_op_vls = kMaxOpVlsAll;
    /// 4,096-byte units that high priority may send while low priority waits; 0: one packet.
    std::uint8_t high_limit = 0;
    ArbitrationList vlarb_high = default_vlarb_high();
    ArbitrationList vlarb_low = default_vlarb_low();
    /// std::nullopt: SL modulo the number of lanes.
    std::optional<wire::SlToVlMappingTable> sl2vl;
    friend bool operator==(const QosConfig&, const QosConfig&) = default;
};

/// "0:4,1:0": VL and weight. The error is the end of a sentence that begins with the key.
std::expected<ArbitrationList, std::string> parse_vlarb(std::string_view text);
/// "0,1,2,3,0,1": a lane for every service level from 0 on, 15 to drop it; levels that the text
/// leaves out have the last lane's.
std::expected<wire::SlToVlMappingTable, std::string> parse_sl2vl(std::string_view text);
std::string to_string(const ArbitrationList& list);
std::string to_string(const wire::SlToVlMappingTable& table);

/// Number of data lanes of a code as in PortInfo.VLCap.
std::uint8_t data_vls_of(std::uint8_t code);

/// Lanes that the port does not have are folded onto those it has; dropped stays dropped.
wire::SlToVlMappingTable fold(const wire::SlToVlMappingTable& table, std::uint8_t data_vls);
wire::SlToVlMappingTable spread(std::uint8_t data_vls);  ///< SL modulo lanes.

/// The four blocks of VLArbitrationTable: low, low, high, high. Entries for lanes that the port
/// does not have, or beyond its capacity, are left out.
std::array<wire::VlArbitrationTable, kArbitrationBlocks> arbitration_blocks(
    const QosConfig& config, std::uint8_t data_vls, std::uint8_t low_capacity,
    std::uint8_t high_capacity);

}  // namespace softib::sm
