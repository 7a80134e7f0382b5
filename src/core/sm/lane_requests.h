// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a manager writes into a port so that its virtual lanes do what the user configured (qos.h):
// the number of lanes and VLHighLimit in PortInfo, SLtoVLMappingTable, VLArbitrationTable.

#include <cstdint>
#include <vector>

#include "core/sm/qos.h"
#include "core/sm/smp_client.h"
#include "core/wire/sm/port_info.h"

namespace softib::sm {

/// Modifiers of SLtoVLMappingTable that write the tables of all out ports, or of all in ports, of a
/// switch at once, if it supports that (SwitchInfo.OptimizedSLtoVLMappingProgramming).
inline constexpr std::uint32_t kAllOutPorts = 1U << 16;
inline constexpr std::uint32_t kAllInPorts = 1U << 17;

/// Sets the lanes of a port in its PortInfo. `peer_vl_cap`: VLCap of the port at the other end.
void set_lane_fields(const QosConfig& config, std::uint8_t peer_vl_cap, wire::PortInfo& info);

/// Returns the SL2VL table of a port with `data_vls` data VLs whose routes need no lanes of their
/// own: the user's, or SL modulo VLs.
wire::SlToVlMappingTable lane_table(const QosConfig& config, std::uint8_t data_vls);

/// Appends a Set() for each block of VLArbitrationTable that the port has and that differs from
/// `written`, and updates `written`. Purposes and paths of the requests are left empty. A port with
/// one data VL needs none.
void list_arbitration_requests(const QosConfig& config, std::uint8_t port, std::uint8_t data_vls,
                               const wire::PortInfo& info,
                               std::vector<wire::VlArbitrationTable>& written,
                               std::vector<SmpRequest>& requests);

}  // namespace softib::sm
