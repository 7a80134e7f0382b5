// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The table of adaptive routing of a switch: groups of ports, and for each LID the group among
// whose ports the switch may choose for a packet that allows it. Group 0 has no ports:
// packets to its LIDs go by the linear forwarding table.
//
// A port may have a table of its own for the packets that it receives, as in switches with private
// forwarding tables. It has two groups for each LID: the ports to prefer, and ports on longer
// paths.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"

namespace softib::sw {

class AdaptiveTable {
  public:
    /// Adds a group and returns its number. A group equal to an earlier one gets a new number too.
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

    /// Makes packets received at `in_port` use the private table `table`; 0: the common table.
    void set_private(std::uint8_t in_port, std::uint8_t table) {
        table_of_.resize(256);
        table_of_[in_port] = table;
        private_.resize(std::max<std::size_t>(private_.size(), table));
    }
    /// Sets the two groups of a LID in a private table: ports to prefer, and ports on longer paths.
    void set(std::uint8_t table, Lid lid, std::uint16_t near, std::uint16_t far) {
        std::vector<Entry>& entries = private_[table - 1U];
        entries.resize(std::max<std::size_t>(entries.size(), lid.value + std::size_t{1}));
        entries[lid.value] = {near, far};
    }

    /// Returns the number of tables: the private ones and the common one.
    std::uint8_t tables() const { return static_cast<std::uint8_t>(private_.size() + 1); }
    /// Returns the number of groups, group 0 included.
    std::uint16_t groups() const { return static_cast<std::uint16_t>(first_.size() - 1); }
    /// Returns the number behind the last LID that has a group in the common table.
    std::uint16_t lids() const { return static_cast<std::uint16_t>(group_of_.size()); }
    std::uint16_t group(std::uint16_t lid) const { return group_of_[lid]; }
    std::span<const std::uint8_t> group_ports(std::uint16_t group) const {
        return std::span(ports_).subspan(first_[group], first_[group + 1U] - first_[group]);
    }

    /// Returns whether no packet has a choice of ports.
    bool empty() const { return group_of_.empty() && private_.empty(); }
    std::span<const std::uint8_t> ports(std::uint16_t lid) const {
        if (lid >= group_of_.size()) {
            return {};
        }
        return group_ports(group_of_[lid]);
    }
    struct Choice {
        std::span<const std::uint8_t> near;
        std::span<const std::uint8_t> far;
        /// The choice comes from a private table: the packet must not go by the linear forwarding
        /// table.
        bool binding = false;
    };
    /// Returns the ports that a packet to `lid` may leave by if it was received at `in_port`.
    Choice choice(std::uint16_t lid, std::uint8_t in_port) const {
        const std::uint8_t table = table_of_.empty() ? std::uint8_t{0} : table_of_[in_port];
        if (table == 0) {
            return {ports(lid), {}, false};
        }
        const std::vector<Entry>& entries = private_[table - 1U];
        if (lid >= entries.size()) {
            return {};
        }
        return {group_ports(entries[lid].near), group_ports(entries[lid].far), true};
    }
    friend bool operator==(const AdaptiveTable&, const AdaptiveTable&) = default;

  private:
    struct Entry {
        std::uint16_t near = 0;
        std::uint16_t far = 0;
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<std::uint16_t> group_of_;     ///< By LID.
    std::vector<std::uint32_t> first_{0, 0};  ///< By group: its first place in ports_.
    std::vector<std::uint8_t> ports_;
    std::vector<std::uint8_t> table_of_;       ///< By in port; empty: all use the common table.
    std::vector<std::vector<Entry>> private_;  ///< By table number less 1, then by LID.
};

}  // namespace softib::sw
