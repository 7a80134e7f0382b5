// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A congestion manager (IBA vol. 1, annex A10): the MADs by which it tells switches when to mark
// packets and HCAs how to slow down, and what nodes do when they get them.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/link/injection.h"
#include "core/switch/congestion.h"
#include "core/topo/fabric.h"
#include "core/wire/mad.h"
#include "net/plant.h"

namespace softib::net {

/// What it writes. These values keep a flow that only passes by an incast at four fifths of its
/// fair share (congestion_test.cc).
struct CongestionControl {
    sw::MarkingRule marking{.threshold = 1, .packet_blocks = 8};
    link::InjectionRule injection{.timer = 5};  ///< Of every service level.
    link::DelayTable table = link::DelayTable::geometric(12, 13, 127);
};

/// SwitchCongestionSetting.
std::vector<wire::MadBytes> switch_requests(const CongestionControl& control);
/// CongestionControlTable, block by block, and CACongestionSetting.
std::vector<wire::MadBytes> adapter_requests(const CongestionControl& control);

/// Sends these to the agent of every node before anything else happens, in no time, and makes the
/// plant do what the agents accepted. `node_in_plant` gives a node's number there, or kNone if it
/// is in another part of the fabric. `slow_down` is called with each HCA port and its settings.
void manage_congestion(
    Plant& plant, const topo::Fabric& fabric, const CongestionControl& control,
    const std::function<std::uint32_t(std::uint32_t node)>& node_in_plant,
    const std::function<void(std::uint32_t port, const link::InjectionControl&)>& slow_down);

}  // namespace softib::net
