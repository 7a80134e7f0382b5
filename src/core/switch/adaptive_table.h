// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Among which ports a switch may choose for a packet that allows it: sets of ports, and for each
// LID one of the sets. Set 0 has no ports: packets go by the forwarding table.
//
// In ports may have tables of their own, as switches with private forwarding tables do: for each
// LID a set to prefer and one of ports on longer ways.

#include <algorithm>
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

    /// Gives in ports with this number a table of their own; 0 is the common one.
    void set_private(std::uint8_t in_port, std::uint8_t table) {
        table_of_.resize(256);
        table_of_[in_port] = table;
        private_.resize(std::max<std::size_t>(private_.size(), table));
    }
    void set(std::uint8_t table, Lid lid, std::uint16_t near, std::uint16_t far) {
        std::vector<Entry>& entries = private_[table - 1U];
        entries.resize(std::max<std::size_t>(entries.size(), lid.value + std::size_t{1}));
        entries[lid.value] = {near, far};
    }

    /// Tables of in ports, the common one included.
    std::uint8_t tables() const { return static_cast<std::uint8_t>(private_.size() + 1); }
    /// Groups and LIDs up to the last that has one, by number.
    std::uint16_t groups() const { return static_cast<std::uint16_t>(first_.size() - 1); }
    std::uint16_t lids() const { return static_cast<std::uint16_t>(group_of_.size()); }
    std::uint16_t group(std::uint16_t lid) const { return group_of_[lid]; }
    std::span<const std::uint8_t> group_ports(std::uint16_t group) const {
        return std::span(ports_).subspan(first_[group], first_[group + 1U] - first_[group]);
    }

    /// No choice for any packet.
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
        bool binding = false;  ///< The forwarding table is for packets from elsewhere.
    };
    /// By the port that a packet comes in by.
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
    std::vector<std::uint16_t> group_of_;  ///< By LID.
    std::vector<std::uint32_t> first_{0, 0};
    std::vector<std::uint8_t> ports_;
    std::vector<std::uint8_t> table_of_;       ///< By in port; empty: all have the common one.
    std::vector<std::vector<Entry>> private_;  ///< By table from 1 on, then by LID.
};

}  // namespace softib::sw
