// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric in numbers, for planning and buying: switches and how full they are, cables by kind,
// bisection, diameter, LIDs.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/cabling.h"
#include "core/topo/graph.h"
#include "core/topo/measures.h"

namespace softib::topo {

/// Switches at the same distance from the hosts.
struct LevelReport {
    std::uint32_t level = 0;
    std::uint32_t switches = 0;
    std::uint32_t radix = 0;       ///< The number of ports of the largest of these switches.
    std::uint64_t ports = 0;       ///< The ports of all these switches.
    std::uint64_t ports_used = 0;  ///< The ports of all these switches that have a cable.
};

/// Cables of one kind between the same two levels.
struct CableReport {
    std::string between;  ///< "hosts and level 0", "level 0 and level 1".
    Generation generation = Generation::kNdr;
    Width width = Width::k4x;
    CableRule rule{};
    std::uint32_t count = 0;
    std::uint64_t length_cm = 0;  ///< The length of all these cables together.
    std::uint32_t longest_cm = 0;
};
/// The LIDs that a subnet needs, and how many there are.

struct LidBudget {
    static constexpr std::uint32_t kLimit = kLidUnicastMax.value;

    std::uint64_t hca_ports = 0;
    std::uint64_t switches = 0;
    std::uint64_t routers = 0;
    std::uint8_t lmc = 0;

    std::uint64_t used(std::uint8_t with_lmc) const {
        return (hca_ports << with_lmc) + switches + routers;
    }
    bool fits() const { return used(lmc) <= kLimit; }
    /// Returns the largest LMC that fits; 0 if none does.
    std::uint8_t lmc_max() const;
};

struct Report {
    std::uint64_t hosts = 0;
    std::uint64_t hcas = 0;
    std::vector<LevelReport> levels;  ///< From the hosts upwards.
    std::vector<CableReport> cables;
    Bisection bisection;
    std::uint32_t diameter = 0;      ///< See find_diameter().
    LidBudget lids;                  ///< The LIDs of the subnet that needs most.
    std::vector<LidBudget> subnets;  ///< The LIDs of each subnet.
    FloorPlan plan;
    std::uint32_t racks = 0;
};

Report make_report(const Fabric& fabric, const FloorPlan& plan = {}, std::uint8_t lmc = 0);

/// Returns the assumptions of the report, as sentences.
std::vector<std::string> assumptions(const Report& report);

/// Returns the report as text for a terminal.
std::string render_report(const Fabric& fabric, const Report& report);

}  // namespace softib::topo
