// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies what managers wrote of a port from the arena to the network: which service level takes
// which lane, how lanes take turns, how many errors a cable may make, how long packets wait, when
// they are marked, how HCAs slow down, and among which ports switches choose.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/link/injection.h"
#include "net/engine.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

/// As many as the agents of all nodes say that their ports have (agent::NodeSpec).
inline constexpr std::uint8_t kDataVls = 8;

class LaneTables {
  public:
    explicit LaneTables(const live::Arena& arena);

    /// Brings the network up to date with what was written of a port since the last time.
    void read_hca(net::Engine& net, std::uint32_t node, std::uint32_t hca);
    /// `port_index`: into the arena's table.
    void read_switch_port(net::Engine& net, std::uint32_t node, std::uint8_t port,
                          std::uint32_t port_index);

    /// Among which ports a switch may choose.
    void read_adaptive(net::Engine& net, std::uint32_t node, std::uint32_t sw);
    /// How an HCA slows down, if that was written since the last time.
    std::optional<link::InjectionControl> read_injection(std::uint32_t hca);

  private:
    using Row = std::array<std::uint8_t, 16>;
    bool is_new(const live::PortLanes& lanes);
    static Row row_of(const live::PortLanes& lanes, const live::SlRow& row);
    static void set_arbitration(net::Engine& net, std::uint32_t port, const live::PortLanes& lanes);

    const live::Arena& arena_;
    std::vector<std::uint32_t> read_;             ///< Generations, in the order of Arena::lanes.
    std::vector<std::uint32_t> injections_read_;  ///< The same, by HCA.
    std::vector<std::uint32_t> adaptive_read_;    ///< The same, by switch.
};

/// Returns the number of data lanes for a code as in PortInfo.OperationalVLs; 0: all.
std::uint8_t operational_lanes(std::uint8_t code);

}  // namespace softib::carrier
