// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Among which ports a switch may choose for a packet that allows it: sets of ports, and for each
// LID one of the sets. Set 0 has no ports: packets go by the forwarding table.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"

namespace softib::sw {

class AdaptiveTable {
  public:
    /// Returns the set's number; equal sets are not recognised.
    std::uint16_t add_group(std::span<const std::uint8_t> ports) {
        ports_.insert(ports_.end(), ports.begin(), ports.end());
        first_.push_back(static_cast<std::uint32_t>(ports_.size()));
        return static_cast<std::uint16_t>(first_.size() - 2);
    }
    void set(Lid lid, std::uint16_t group) {
        if (group_of_.size() <= lid.value) {
            group_of_.resize(std::size_t{lid.value} + 1);
        }
        group_of_[lid.value] = group;
    }

    /// Groups and LIDs up to the last that has one, by number.
    std::uint16_t groups() const { return static_cast<std::uint16_t>(first_.size() - 1); }
    std::uint16_t lids() const { return static_cast<std::uint16_t>(group_of_.size()); }
    std::uint16_t group(std::uint16_t lid) const { return group_of_[lid]; }
    std::span<const std::uint8_t> group_ports(std::uint16_t group) const {
        return std::span(ports_).subspan(first_[group], first_[group + 1U] - first_[group]);
    }

    /// No choice for any packet.
    bool empty() const { return group_of_.empty(); }
    std::span<const std::uint8_t> ports(std::uint16_t lid) const {
        if (lid >= group_of_.size()) {
            return {};
        }
        return group_ports(group_of_[lid]);
    }
    friend bool operator==(const AdaptiveTable&, const AdaptiveTable&) = default;

  private:
    std::vector<std::uint16_t> group_of_;  ///< By LID.
    std::vector<std::uint32_t> first_{0, 0};
    std::vector<std::uint8_t> ports_;
};

}  // namespace softib::sw
