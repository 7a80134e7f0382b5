// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A congestion manager (IBA vol. 1, annex A10): the MADs by which it tells switches when to mark
// packets and HCAs how to slow down, and how the plant follows what nodes accept.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/agent/cc_agent.h"
#include "core/link/injection.h"
#include "core/switch/congestion.h"
#include "core/topo/graph.h"
#include "core/wire/mad/mad.h"
#include "net/manage/congestion_control.h"
#include "net/plant/plant.h"

namespace softib::net {

/// Returns the MADs for a switch: Set(SwitchCongestionSetting).
std::vector<wire::MadBytes> switch_requests(const CongestionControl& control);
/// Returns the MADs for an HCA: Set(CongestionControlTable) block by block, and
/// Set(CACongestionSetting).
std::vector<wire::MadBytes> adapter_requests(const CongestionControl& control);

/// Makes the ports of a switch mark packets as its manager wrote.
void write_marking(Plant& plant, std::uint32_t node, const agent::CongestionAgent& agent);

/// Sends these MADs to the agent of every node before anything else happens, in no virtual time,
/// and makes the plant do what the agents accepted. `node_in_plant` returns a node's number in the
/// plant, or kNone if the node is in another part of the fabric. `slow_down` is called with each
/// HCA port and its settings.
void manage_congestion(
    Plant& plant, const topo::Fabric& fabric, const CongestionControl& control,
    const std::function<std::uint32_t(std::uint32_t node)>& node_in_plant,
    const std::function<void(std::uint32_t port, const link::InjectionControl&)>& slow_down);

}  // namespace softib::net
