// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Kinds of cables for each link generation and how far they reach; racks in which hosts and
// switches stand, and the lengths of cables that follow.

#include <cstdint>
#include <span>
#include <vector>

#include "core/topo/graph.h"

namespace softib::topo {

enum class CableKind : std::uint8_t {
    kDac,         ///< Passive copper.
    kAcc,         ///< Active copper.
    kAoc,         ///< Active optical cable: fibre with a transceiver fixed to each end.
    kMultiMode,   ///< Two transceivers and multi-mode fibre.
    kSingleMode,  ///< Two transceivers and single-mode fibre.
};
const char* to_string(CableKind kind);

/// A kind of cable and how far it reaches.
struct CableRule {
    CableKind kind;
    std::uint32_t reach_cm;
};

/// Returns the kinds of cables for a generation, the shortest reach first. The last one has no
/// limit.
std::span<const CableRule> cable_rules(Generation generation);
/// Returns the first kind of cable for a generation that reaches this far.
const CableRule& cable_for(Generation generation, std::uint32_t length_cm);

/// A machine room with racks in rows. Hosts fill the racks in their order. A switch stands in the
/// median rack of its neighbours on the level below; racks have room for any number of switches. A
/// cable goes up to a tray, along the row and across rows, and down again.
struct FloorPlan {
    /// 0: 4 if a host has 8 HCAs or more, 16 if it has several, otherwise 32.
    std::uint32_t hosts_per_rack = 0;
    std::uint32_t racks_per_row = 16;
    std::uint32_t rack_cm = 60;
    std::uint32_t row_cm = 300;
    std::uint32_t climb_cm = 150;  ///< The way from a node up to the tray, or down from it.
    std::uint32_t slack_cm = 50;
    std::uint32_t inside_cm = 200;  ///< The length of a cable between two nodes of one rack.
};

/// Returns the plan with its values of 0 replaced by those chosen for the fabric.
FloorPlan complete_plan(const FloorPlan& plan, const Fabric& fabric);
/// Returns the rack of each node.
std::vector<std::uint32_t> place_in_racks(const Fabric& fabric, const FloorPlan& plan);
std::uint32_t cable_length_cm(const FloorPlan& plan, std::uint32_t rack_a, std::uint32_t rack_b);

}  // namespace softib::topo
