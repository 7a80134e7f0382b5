// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Quality of service as the user configures it: how many VLs links use, which VL each service level
// takes, and how VLs take turns. The texts have the syntax of OpenSM's options.

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/sm/sl_to_vl_mapping_table.h"
#include "core/wire/sm/vl_arbitration_table.h"

namespace softib::sm {

using ArbitrationList = std::vector<wire::VlArbitrationEntry>;
inline constexpr std::size_t kArbitrationMax = 64;  ///< Most entries of a list, in two blocks.
inline constexpr std::uint8_t kArbitrationBlocks = 4;
inline constexpr std::uint8_t kMaxOpVlsAll = 5;

/// The default lists of OpenSM: VL0 alone has high priority, and the other VLs share equally what
/// it leaves.
ArbitrationList default_vlarb_high();
ArbitrationList default_vlarb_low();

struct QosConfig {
    /// Whether the lists and the SL2VL table below are used. If not, the manager writes SL2VL
    /// tables only if routing needs them, and leaves VL arbitration as at power-up.
    bool on = false;
    /// The largest PortInfo.OperationalVLs: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14. Holds with
    /// `on` false too.
    std::uint8_t max_op_vls = kMaxOpVlsAll;
    /// VLHighLimit: units of 4,096 bytes that high priority may send while low priority waits; 0
    /// allows one packet.
    std::uint8_t high_limit = 0;
    ArbitrationList vlarb_high = default_vlarb_high();
    ArbitrationList vlarb_low = default_vlarb_low();
    /// The SL2VL table; std::nullopt for SL modulo the number of VLs.
    std::optional<wire::SlToVlMappingTable> sl2vl;
    friend bool operator==(const QosConfig&, const QosConfig&) = default;
};

/// Reads a list of VLs with weights, such as "0:4,1:0". The error is the end of a sentence whose
/// subject is the name of the option.
std::expected<ArbitrationList, std::string> parse_vlarb(std::string_view text);
/// Reads a VL for every service level from 0 on, such as "0,1,2,3,0,1". VL 15 drops the service
/// level; service levels that the text leaves out take its last VL.
std::expected<wire::SlToVlMappingTable, std::string> parse_sl2vl(std::string_view text);
std::string to_string(const ArbitrationList& list);
std::string to_string(const wire::SlToVlMappingTable& table);

/// Returns the list that gives weights, but only to lanes that ports do not have, "vlarb_high" or
/// "vlarb_low"; empty if there is none. Other entries for such lanes are left out, as OpenSM does.
std::string_view idle_arbitration(const QosConfig& config, std::uint8_t data_vls);

/// Returns the number of data VLs for a code of PortInfo.VLCap.
std::uint8_t data_vls_of(std::uint8_t code);

/// Returns the table for a port with `data_vls` data VLs: a VL that the port does not have becomes
/// VL modulo `data_vls`; 15 stays 15.
wire::SlToVlMappingTable fold(const wire::SlToVlMappingTable& table, std::uint8_t data_vls);
/// Returns the table VL = SL modulo `data_vls`.
wire::SlToVlMappingTable spread(std::uint8_t data_vls);

/// Returns the four blocks of VLArbitrationTable: low, low, high, high. Entries for VLs that the
/// port does not have, or beyond its capacity, are left out.
std::array<wire::VlArbitrationTable, kArbitrationBlocks> arbitration_blocks(
    const QosConfig& config, std::uint8_t data_vls, std::uint8_t low_capacity,
    std::uint8_t high_capacity);

}  // namespace softib::sm
