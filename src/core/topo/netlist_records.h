// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A netlist as records, one for each switch, adapter and router. Each line is checked, but not yet
// the netlist as a whole. Internal to this folder.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/graph.h"
#include "core/topo/netlist_lines.h"

namespace softib::topo::netlist {

/// One end of a cable.
struct End {
    std::size_t line = 0;
    std::uint8_t port = 0;
    std::uint8_t peer_port = 0;
    std::uint8_t lmc = 0;
    Lid lid = {};
    Guid guid = {};  ///< The GUID of the port; 0: not given.
    std::string peer = {};
    LinkMask mask = {};
};

struct Record {
    std::size_t line = 0;
    std::string id;
    std::uint8_t ports = 0;
    Node node;              ///< The fields that all nodes made from this record have in common.
    std::vector<End> ends;  ///< Sorted by port; no port occurs twice.

    const End* find(std::uint8_t port) const;
};

struct Records {
    std::vector<Record> all;
    std::map<std::string, std::uint32_t, std::less<>> by_id;
};

/// What the user should know of a text: lines that are in no record, and speeds that are not in it.
struct LeftOut {
    std::size_t lines = 0;       ///< The number of foreign lines.
    std::size_t first_line = 0;  ///< The number of the first foreign line.
    std::string first_text;      ///< The beginning of the first foreign line.
    std::size_t joined = 0;      ///< Lines that were joined to the wrapped line before them.
    std::size_t no_speed = 0;    ///< Ends of cables that have ibsim's speed by default.
};

/// Reads the records of a text. Sets `left_out` for the lines read, even if it returns an error.
std::expected<Records, Error> read_records(std::string_view text, std::string_view file,
                                           LeftOut& left_out);

std::unexpected<Error> wrong(std::string_view file, std::size_t line, std::string_view message);

}  // namespace softib::topo::netlist
