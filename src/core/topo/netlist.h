// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fabrics as text that other tools know: what `ibnetdiscover` prints, and the netlists of ibsim.
// The two are one language. ibsim reads dumps of ibnetdiscover and adds to them: ids of free choice
// instead of "S-0002c90300001234", GUIDs that count up where none is said, and link widths and
// speeds as options. So there is one reader for both.
//
//   switchguid=0x2c90300001234(2c90300001234)
//   Switch  36 "S-0002c90300001234"         # "leaf0" enhanced port 0 lid 4 lmc 0
//   [1]     "H-0002c90300005678"[1](2c90300005679)          # "node001 mlx5_0" lid 1 4xHDR
//
// A node's line is followed by a line for each of its ports that has a cable; every cable stands at
// both ends. Where the ends name different speeds, they would agree on the best that both can.

#include <expected>
#include <string>
#include <string_view>

#include "core/topo/fabric.h"

namespace softib::topo {

/// Reads a netlist. HCAs come first in the graph, then switches, then routers, each in the order of
/// the text. Hosts and devices get their names from the node descriptions (netlist_names.h). An
/// error begins with FILE:LINE, `file` being what the caller calls the text.
///
/// The text may be a log of a terminal: what is no line of a netlist is left out, and lines that
/// were wrapped are put together; `warnings` of the fabric then says how many. A line that begins
/// like one of a netlist and is wrong is an error.
std::expected<Fabric, Error> read_netlist(std::string_view text, std::string_view file);

/// As ibnetdiscover prints it, but for the time in its first lines. Reading it back gives the same
/// graph; levels and coordinates of switches are not in it.
std::string write_ibnetdiscover(const Fabric& fabric);

/// For ibsim: the names of nodes are their ids, and links say what an ibsim that does not know
/// their speed shall take. Reads back to the same as well.
std::string write_ibsim(const Fabric& fabric);

}  // namespace softib::topo
