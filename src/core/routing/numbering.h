// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The numbers by which closed-form routing spreads destinations over ports. Hosts of one switch
// have consecutive numbers, and hosts of switches that are close in the tree have close numbers.
// The switches themselves are numbered after all hosts.

#include <cstdint>
#include <span>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

class Numbering {
  public:
    /// `order` has all switches, in the order in which their hosts are numbered.
    Numbering(const Graph& graph, std::span<const std::uint32_t> order);

    struct Entry {
        std::uint16_t lid;  ///< First LID.
        std::uint8_t lids;  ///< Number of LIDs.
    };

    /// Returns the hosts of a switch. The number of the first one is `first(sw)`, and so on.
    std::span<const Entry> hosts(std::uint32_t sw) const {
        return std::span(hosts_).subspan(begin_[sw], count_[sw]);
    }
    std::uint32_t first(std::uint32_t sw) const { return begin_[sw]; }
    /// Returns the switch's own LIDs, mostly one entry. The number of the first is `own_first(sw)`.
    std::span<const Entry> own(std::uint32_t sw) const {
        return std::span(own_).subspan(own_begin_[sw], own_begin_[sw + 1] - own_begin_[sw]);
    }
    std::uint32_t own_first(std::uint32_t sw) const {
        return static_cast<std::uint32_t>(hosts_.size()) + own_begin_[sw];
    }

  private:
    std::vector<Entry> hosts_;          ///< Hosts by number.
    std::vector<std::uint32_t> begin_;  ///< By switch: index of its first host in hosts_.
    std::vector<std::uint32_t> count_;  ///< By switch: number of its hosts.
    std::vector<Entry> own_;
    std::vector<std::uint32_t> own_begin_;
};

/// Returns all switches in the order of their first host, those without hosts at the end.
std::vector<std::uint32_t> order_by_hosts(const Graph& graph);

}  // namespace softib::routing
