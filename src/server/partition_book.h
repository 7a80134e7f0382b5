// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Partitions that clients of UFM's interface change. The part of partitions.conf that an operator
// wrote stays as it is; the clients' part follows below a marker line. The subnet manager reads
// both (core/sm/partitions.h), and the last rule for a port counts.

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/sm/partitions.h"

namespace softib::server {

/// A partition of the clients' part.
struct BookedPartition {
    std::string name{};  ///< Empty: named after its P_Key.
    bool ipoib = false;
    bool index0 = false;  ///< Whether its P_Key is at index 0 of its members' tables.
    // Codes of SA records, for its IPoIB group; the SA chooses those not given.
    std::optional<std::uint8_t> mtu{};
    std::optional<std::uint8_t> rate{};
    std::optional<std::uint8_t> sl{};
    std::map<std::uint64_t, bool> members{};  ///< Port GUIDs; true for a full member.
};

class PartitionBook {
  public:
    /// Reads a partitions.conf. The error names its line.
    static std::expected<PartitionBook, std::string> parse(std::string_view text);

    /// Returns the whole partitions.conf.
    std::string text() const;
    /// Returns the clients' part alone.
    std::string booked_text() const;
    /// Replaces the clients' part by a text that booked_text() has returned.
    std::expected<void, std::string> take_booked(std::string_view text);
    std::map<std::uint16_t, BookedPartition>& booked() { return booked_; }
    /// Returns the partitions of both parts together, as they were parsed.
    const std::vector<sm::Partition>& all() const { return all_; }
    /// Returns the partition as the operator's part defines it; nullptr if it does not.
    const sm::Partition* operators(PKey pkey) const;
    /// Returns whether the operator's part makes this port a member.
    bool is_operators(PKey pkey, Guid port) const;

  private:
    std::string operators_;
    std::map<std::uint16_t, BookedPartition> booked_;  ///< By P_Key without its membership bit.
    std::vector<sm::Partition> all_;
    std::vector<sm::Partition> operators_rules_;
};

}  // namespace softib::server
