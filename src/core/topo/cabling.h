// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Cables as they are bought: what kinds there are for a generation and how far they reach, where
// hosts and switches stand, and how long a cable is then.

#include <cstdint>
#include <span>
#include <vector>

#include "core/topo/fabric.h"

namespace softib::topo {

enum class CableKind : std::uint8_t {
    kDac,         ///< Passive copper.
    kAcc,         ///< Active copper.
    kAoc,         ///< Fibre with both ends fixed to it.
    kMultiMode,   ///< Two transceivers and multi-mode fibre.
    kSingleMode,  ///< Two transceivers and single-mode fibre.
};
const char* to_string(CableKind kind);

/// A kind of cable and how far it reaches.
struct CableRule {
    CableKind kind;
    std::uint32_t reach_cm;
};

/// What a generation has, by reach; the first that reaches is taken. The last reaches everywhere.
std::span<const CableRule> cable_rules(Generation generation);
const CableRule& cable_for(Generation generation, std::uint32_t length_cm);

/// A machine room with racks in rows. Hosts fill racks in their order; a switch stands in the rack
/// that is the middle one of those that its lower neighbours stand in, and finds room there. A
/// cable goes up to a tray, along the row and across rows, and down.
struct FloorPlan {
    std::uint32_t hosts_per_rack = 0;  ///< 0: 4 with 8 HCAs or more each, 16 with several, else 32.
    std::uint32_t racks_per_row = 16;
    std::uint32_t rack_cm = 60;
    std::uint32_t row_cm = 300;
    std::uint32_t climb_cm = 150;  ///< Up to the tray, and the same down.
    std::uint32_t slack_cm = 50;
    std::uint32_t inside_cm = 200;  ///< Between two nodes of one rack.
};

/// The plan with nothing left to choose.
FloorPlan complete_plan(const FloorPlan& plan, const Fabric& fabric);
/// By node: its rack.
std::vector<std::uint32_t> place_in_racks(const Fabric& fabric, const FloorPlan& plan);
std::uint32_t cable_length_cm(const FloorPlan& plan, std::uint32_t rack_a, std::uint32_t rack_b);

}  // namespace softib::topo
