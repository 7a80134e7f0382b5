// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the network's ports have counted, brought to the totals in the arena, where agents read. It
// is added to what stands there: an earlier carrier's counts stay.

#include <array>
#include <cstdint>
#include <vector>

#include "core/counters/lane_counts.h"
#include "core/counters/port_counters.h"
#include "net/engine.h"
#include "runtime/carrier/adapters.h"
#include "runtime/carrier/tables.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

class PortCountWriter {
  public:
    PortCountWriter(const live::Arena& arena, const Tables& tables)
        : arena_(arena), tables_(tables) {}

    void write(const net::Engine& net, Adapters& adapters);
    /// Those by lane and service level, which are many: only when somebody asks.
    void write_lanes(const net::Engine& net);

  private:
    void write_violations(std::uint32_t hca, const hca::Hca& from);

    const live::Arena& arena_;
    const Tables& tables_;
    // What was brought there so far. Ports in the order of the arena, those of HCAs first.
    std::vector<counters::PortCounts> written_;
    std::vector<counters::LaneCounts> lanes_written_;
    std::vector<std::array<std::uint64_t, 3>> violations_written_;
};

}  // namespace softib::carrier
