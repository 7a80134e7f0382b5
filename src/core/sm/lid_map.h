// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The LIDs of each port, as a text that outlives the manager. A line has a port's GUID and its
// first and last LID, as in OpenSM's guid2lid; '#' begins a comment.
//
//   0x0250f71b10000000 0x0001 0x0001

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"

namespace softib::sm {

struct LidRange {
    Guid guid;  ///< GUID of the port.
    Lid first;
    Lid last;
    friend bool operator==(const LidRange&, const LidRange&) = default;
};

struct ParsedLidMap {
    std::vector<LidRange> ranges;
    std::vector<std::string> problems;  ///< "line 3: ..." for each line that was left out.
};
ParsedLidMap parse_lid_map(std::string_view text);

std::string print_lid_map(std::span<const LidRange> ranges);

}  // namespace softib::sm
