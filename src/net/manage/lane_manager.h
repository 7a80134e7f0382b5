// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The MADs by which a subnet manager writes lanes into nodes (Set(PortInfo),
// Set(SLtoVLMappingTable), Set(VLArbitrationTable)), for simulations without a manager, and how an
// engine follows the tables of lanes that a node has accepted.

#include <cstdint>
#include <functional>

#include "core/agent/node.h"
#include "core/sm/qos.h"
#include "core/topo/graph.h"
#include "net/engine/engine.h"

namespace softib::net {

/// Makes packets that leave a node of the engine at port `out` take the lanes that its manager
/// wrote.
void write_lanes(Engine& engine, std::uint32_t node, const agent::Node& agent, std::uint8_t out);
/// Makes the lanes of a port take turns as its manager wrote.
void write_arbitration(Engine& engine, std::uint32_t node, const agent::Node& agent,
                       std::uint8_t port);

/// Sends the manager's MADs for `config`, which must be on, to the agent of every node before
/// anything else happens, in no virtual time, and makes the engine do what the agents accepted.
/// `routes_need_lanes`: the routing engine has written SL2VL tables against deadlocks, which stay.
/// `node_in_engine` returns a node's number in the engine, or kNone if the node is in another part
/// of the fabric.
void manage_lanes(Engine& engine, const topo::Fabric& fabric, const sm::QosConfig& config,
                  bool routes_need_lanes,
                  const std::function<std::uint32_t(std::uint32_t node)>& node_in_engine);

}  // namespace softib::net
