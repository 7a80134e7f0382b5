// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows forwarding tables. For one LID the tables are a forest, in which every switch points to
// the next one. RouteWalk reverses it and lists the switches from the destination outwards.

#include <cstdint>
#include <span>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

/// The switches that ports lead to, as one array: entry sw * width + port. The index of an entry
/// also names the channel behind the port.
class PortMap {
  public:
    explicit PortMap(const Graph& graph);

    std::uint32_t width() const { return width_; }
    std::size_t size() const { return peer_.size(); }
    std::uint32_t index(std::uint32_t sw, std::uint8_t port) const { return sw * width_ + port; }
    /// Returns the switch behind a port; kNone if there is none, or the port does not exist.
    std::uint32_t peer(std::uint32_t sw, std::uint8_t port) const {
        return port < width_ ? peer_[index(sw, port)] : kNone;
    }
    std::uint8_t peer_port(std::uint32_t sw, std::uint8_t port) const {
        return peer_port_[index(sw, port)];
    }

  private:
    std::uint32_t width_ = 1;
    std::vector<std::uint32_t> peer_;
    std::vector<std::uint8_t> peer_port_;
};

class RouteWalk {
  public:
    RouteWalk(const Graph& graph, const Lfts& lfts, const PortMap& ports);

    /// Follows the routes to a LID of `target`. This is fastest if LIDs come in ascending order.
    void to(const Target& target, Lid lid);

    /// The switches that reach the LID: that of the destination first, each after its next hop.
    std::span<const std::uint32_t> reached() const { return std::span(queue_).first(reached_); }
    bool reaches(std::uint32_t sw) const { return hops_[sw] != kNone; }
    std::uint32_t hops(std::uint32_t sw) const { return hops_[sw]; }
    std::uint32_t next(std::uint32_t sw) const { return next_[sw]; }
    std::uint8_t out_port(std::uint32_t sw) const { return out_[sw]; }
    std::uint32_t longest() const { return reached_ == 0 ? 0 : hops_[queue_[reached_ - 1]]; }

  private:
    void load_block(std::uint32_t block);

    const Lfts& lfts_;
    const PortMap& ports_;
    std::uint32_t count_;
    std::uint32_t block_ = kNone;
    std::vector<std::uint8_t> columns_;  ///< Out ports of a block, by LID and then by switch.
    std::span<const std::uint8_t> out_;
    std::vector<std::uint32_t> next_;
    std::vector<std::uint32_t> child_;
    std::vector<std::uint32_t> sibling_;
    std::vector<std::uint32_t> hops_;
    std::vector<std::uint32_t> queue_;
    std::size_t reached_ = 0;
};

}  // namespace softib::routing
