// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the carrier must know of SHARP, as the daemon tells it in a file: the tables of aggregation
// nodes, and the groups with their members.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/mad.h"

namespace softib::live {

struct SharpPlane {
    struct Node {
        std::uint32_t sw = 0;                    ///< Into the arena's table.
        std::vector<wire::MadBytes> requests{};  ///< AggregationTables::snapshot.
    };
    struct Member {
        std::uint32_t hca = 0;  ///< Into the arena's table.
        std::uint32_t qpn = 0;
    };
    struct Group {
        std::uint32_t job = 0;
        std::uint32_t group = 0;
        std::uint32_t tree = 0;
        std::uint32_t datagram_bytes = 0;  ///< As in sharp::FragmentRule.
        std::uint32_t datagrams = 0;
        std::uint32_t streams = 0;
        std::vector<Member> members{};  ///< By rank.
    };
    std::vector<Node> nodes;
    std::vector<Group> groups;
};

std::string emit_plane(const SharpPlane& plane);
/// Returns std::nullopt if the text is no plane.
std::optional<SharpPlane> parse_plane(std::string_view text);

}  // namespace softib::live
