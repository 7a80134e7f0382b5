// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows the forwarding tables of a routed fabric from one HCA to another.

#include <cstdint>
#include <vector>

#include "net/fabric.h"
#include "net/model.h"

namespace softib::net {

class Paths {
  public:
    /// `routed` must outlive it, with its forwarding tables.
    explicit Paths(const Routed& routed);
    /// The ports by which packets leave on their way, that of the sending node first. Returns
    /// nothing if the tables lead elsewhere.
    std::vector<Hop> find(std::uint32_t from_node, std::uint32_t to_node) const;

  private:
    const Routed& routed_;
    std::vector<std::uint32_t> switch_of_;  ///< By node: its number among the switches.
};

}  // namespace softib::net
