// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A netlist as records, one for each switch, adapter and router in it: what the text says, not yet
// checked as a whole. Internal to this folder.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/fabric.h"
#include "core/topo/netlist_lines.h"

namespace softib::topo::netlist {

/// One end of a cable.
struct End {
    std::size_t line = 0;
    std::uint8_t port = 0;
    std::uint8_t peer_port = 0;
    std::uint8_t lmc = 0;
    Lid lid = {};
    Guid guid = {};  ///< 0: not said.
    std::string peer = {};
    LinkMask mask = {};
};

struct Record {
    std::size_t line = 0;
    std::string id;
    std::uint8_t ports = 0;
    Node node;              ///< What every node made of it has in common.
    std::vector<End> ends;  ///< By port; no port twice.

    const End* find(std::uint8_t port) const;
};

struct Records {
    std::vector<Record> all;
    std::map<std::string, std::uint32_t, std::less<>> by_id;
};

/// What of the text is in no record.
struct LeftOut {
    std::size_t lines = 0;       ///< Foreign ones;
    std::size_t first_line = 0;  ///< the first of them,
    std::string first_text;      ///< and how it begins.
    std::size_t joined = 0;      ///< Lines that were put to the one before, which was wrapped.
};

/// `left_out` is set as far as the text was read, also if it is refused.
std::expected<Records, Error> read_records(std::string_view text, std::string_view file,
                                           LeftOut& left_out);

std::unexpected<Error> wrong(std::string_view file, std::size_t line, std::string_view message);

}  // namespace softib::topo::netlist
