// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies what managers have written about a port from the arena to the network: SL2VL mapping, VL
// arbitration, limits of errors and of waiting, congestion marking (FECN), injection control of
// HCAs, and the ports among which adaptive routing chooses.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/link/injection.h"
#include "net/engine/engine.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

/// Data VLs of each port, as many as the agents of all nodes report (agent::NodeSpec).
inline constexpr std::uint8_t kDataVls = 8;

class LaneTables {
  public:
    explicit LaneTables(const shm::Arena& arena);

    /// Copies what was written about an HCA's port since the last call.
    void read_hca(net::Engine& net, std::uint32_t node, std::uint32_t hca);
    /// Copies what was written about a switch port since the last call. `port_index` is its index
    /// in the arena's table.
    void read_switch_port(net::Engine& net, std::uint32_t node, std::uint8_t port,
                          std::uint32_t port_index);

    /// Copies the ports among which a switch may choose, if they were written since the last call.
    void read_adaptive(net::Engine& net, std::uint32_t node, std::uint32_t sw);
    /// Returns the injection control of an HCA; std::nullopt if it was not written since the last
    /// call.
    std::optional<link::InjectionControl> read_injection(std::uint32_t hca);

  private:
    using Row = std::array<std::uint8_t, 16>;
    bool is_new(const shm::PortLanes& lanes);
    static Row row_of(const shm::PortLanes& lanes, const shm::SlRow& row);
    static void set_arbitration(net::Engine& net, std::uint32_t port, const shm::PortLanes& lanes);

    const shm::Arena& arena_;
    std::vector<std::uint32_t> read_;  ///< Generations last read, in the order of Arena::lanes.
    std::vector<std::uint32_t> injections_read_;  ///< Generations last read, by HCA.
    std::vector<std::uint32_t> adaptive_read_;    ///< Generations last read, by switch.
};

/// Returns the number of data lanes for a code of PortInfo:OperationalVLs; kDataVls for code 0.
std::uint8_t operational_lanes(std::uint8_t code);

}  // namespace softib::carrier
