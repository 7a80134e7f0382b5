// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Adds what the network's ports have counted to the totals in the arena, where agents read them.
// The counts of an earlier carrier stay.

#include <array>
#include <cstdint>
#include <vector>

#include "core/counters/lane_counts.h"
#include "core/counters/port_counters.h"
#include "net/engine/engine.h"
#include "runtime/carrier/adapters.h"
#include "runtime/carrier/tables.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

class PortCountWriter {
  public:
    PortCountWriter(const shm::Arena& arena, const Tables& tables)
        : arena_(arena), tables_(tables) {}

    void write(const net::Engine& net, Adapters& adapters);
    /// Adds the counts by lane and service level. They are many, so this is done only when an agent
    /// asks for them.
    void write_lanes(const net::Engine& net);

  private:
    void write_violations(std::uint32_t hca, const hca::Hca& from);

    const shm::Arena& arena_;
    const Tables& tables_;
    // The counts that have been added so far. Ports are in the order of the arena, those of HCAs
    // first.
    std::vector<counters::PortCounts> written_;
    std::vector<counters::LaneCounts> lanes_written_;
    std::vector<std::array<std::uint64_t, 3>> violations_written_;
};

}  // namespace softib::carrier
