// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A switch's choice among ports, for packets that allow it (adaptive routing).

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/mix.h"
#include "core/switch/adaptive.h"
#include "core/switch/adaptive_table.h"

namespace softib::net {

class Choice {
  public:
    explicit Choice(std::uint32_t switches) : turns_(switches) {}

    /// Returns the port by which a packet that came over link `name` should leave. `detour`: the
    /// wait on the short way from which on a longer one is worth while. `load(port)` is how long
    /// the packet would wait there.
    template <typename Load>
    std::uint8_t choose(std::uint32_t sw, const sw::AdaptiveTable::Choice& ports,
                        std::uint8_t otherwise, std::uint32_t name, std::uint64_t detour,
                        Load load) {
        // Among equal ports one is taken at random: switches that went round in step would send to
        // the same places further on.
        const auto start =
            static_cast<std::uint32_t>(mix(std::uint64_t{name} << 32 | turns_[sw]++) >> 32);
        return sw::least_loaded(ports.near, ports.far, start, otherwise, detour, load);
    }
    /// Returns the port whose turn it is at a switch.
    std::uint8_t next_in_turn(std::uint32_t sw, std::span<const std::uint8_t> ports) {
        return ports[turns_[sw]++ % ports.size()];
    }

  private:
    std::vector<std::uint32_t> turns_;  ///< By switch: how often it has chosen.
};

}  // namespace softib::net
