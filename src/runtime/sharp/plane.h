// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The state of SHARP that the daemon passes to the carrier in a file: the tables of aggregation
// nodes, and the groups with their members.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/mad/mad.h"

namespace softib::sharp {

struct SharpPlane {
    struct Node {
        std::uint32_t sw = 0;                    ///< Index in the arena's table of switches.
        std::vector<wire::MadBytes> requests{};  ///< Result of AggregationTables::snapshot().
    };
    struct Member {
        std::uint32_t hca = 0;  ///< Index in the arena's table of HCAs.
        std::uint32_t qpn = 0;  ///< The member's end of its connection to the tree.
    };
    struct Group {
        std::uint32_t job = 0;
        std::uint32_t group = 0;
        std::uint32_t tree = 0;
        std::uint32_t datagram_bytes = 0;  ///< As in sharp::FragmentRule.
        std::uint32_t datagrams = 0;       ///< As in sharp::FragmentRule.
        std::uint32_t streams = 0;         ///< As in sharp::FragmentRule.
        std::vector<Member> members{};     ///< Members by rank.
    };
    std::vector<Node> nodes;
    std::vector<Group> groups;
};

/// Returns the content of the file.
std::string emit_plane(const SharpPlane& plane);
/// Returns what the file's content says; std::nullopt if it is not valid.
std::optional<SharpPlane> parse_plane(std::string_view text);

}  // namespace softib::sharp
