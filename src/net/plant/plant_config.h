// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "core/switch/lifetime.h"
#include "net/plant/units.h"

namespace softib::net {

/// Properties that all links and nodes have in common. The defaults are NDR with short cables;
/// latency.h has the latencies.
struct PlantConfig {
    std::uint8_t data_vls = 2;           ///< Data lanes, 1 to 15; VL15 comes on top.
    std::uint32_t buffer_bytes = 65536;  ///< Buffer per lane at a receiver; at most 128 KiB.
    TimePs cable_ps = 25'000;            ///< Delay of every cable: 5 m.
    /// Time from the first bit in to the first bit out of a switch; 0: by generation, see
    /// latency.h.
    TimePs switch_ps = 0;
    TimePs hca_ps = 0;       ///< Time from a packet's last bit in until the HCA handles it.
    TimePs training_ps = 0;  ///< Time that a cable trains when it has come back.
    std::uint16_t packet_bytes_max = 4224;
    // Limits of waiting at switches, until a manager writes others (core/switch/lifetime.h).
    std::uint8_t lifetime = 20;       ///< SwitchInfo.LifeTimeValue; above 19: no limit.
    std::uint8_t hoq_life = 20;       ///< PortInfo.HOQLife of switches' ports; the same codes.
    std::uint8_t vl_stall_count = 0;  ///< PortInfo.VLStallCount; 0: lanes never stall.
    /// Multicast LIDs in switches' tables, from 0xC000 on.
    std::uint16_t multicast_lids = 0;
    std::uint16_t lid_max = 0;  ///< Highest LID in forwarding tables; 0: one for every node.
};

/// Returns the limits of waiting at switches that a configuration sets.
inline sw::WaitingLimits limits_of(const PlantConfig& config) {
    return {config.lifetime, config.hoq_life, config.vl_stall_count};
}

}  // namespace softib::net
