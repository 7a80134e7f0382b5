// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Partitions that clients of UFM's interface change. What an operator wrote into partitions.conf
// stays as it is; what clients ask for stands behind it, below a line of its own. Both together are
// what the subnet manager reads (core/sm/partitions.h), where the last rule for a port counts.

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/sm/partitions.h"

namespace softib::server {

/// A partition of the clients' part.
struct BookedPartition {
    bool ipoib = false;
    bool index0 = false;  ///< Its key stands first in the tables of its members.
    std::map<std::uint64_t, bool> members{};  ///< By port GUID: whether it is a full member.
};

class PartitionBook {
  public:
    /// Reads a partitions.conf. The error names its line.
    static std::expected<PartitionBook, std::string> parse(std::string_view text);

    /// Returns the text of all, and of the clients' part alone.
    std::string text() const;
    std::string booked_text() const;
    /// Replaces the clients' part by what booked_text() returned once.
    std::expected<void, std::string> take_booked(std::string_view text);
    std::map<std::uint16_t, BookedPartition>& booked() { return booked_; }
    /// Returns what the subnet manager makes of it: operator's part and clients' part together.
    const std::vector<sm::Partition>& all() const { return all_; }
    /// Whether the operator's part makes this port a member.
    bool is_operators(PKey pkey, Guid port) const;

  private:
    std::string operators_;
    std::map<std::uint16_t, BookedPartition> booked_;  ///< By P_Key without its membership bit.
    std::vector<sm::Partition> all_;
    std::vector<sm::Partition> operators_rules_;
};

}  // namespace softib::server
