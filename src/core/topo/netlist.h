// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fabrics in the text formats of other tools: the output of `ibnetdiscover`, and the netlists of
// ibsim. The two are one language. ibsim reads dumps of ibnetdiscover and adds to the format:
// freely chosen ids instead of "S-0002c90300001234", GUIDs that are counted up where none is given,
// and link widths and speeds as options. So there is one reader for both.
//
//   switchguid=0x2c90300001234(2c90300001234)
//   Switch  36 "S-0002c90300001234"         # "leaf0" enhanced port 0 lid 4 lmc 0
//   [1]     "H-0002c90300005678"[1](2c90300005679)          # "node001 mlx5_0" lid 1 4xHDR
//
// A node's line is followed by a line for each of its ports that has a cable; every cable is listed
// at both ends. If the ends name different speeds, the link gets the best that both ends support.

#include <expected>
#include <string>
#include <string_view>

#include "core/topo/graph.h"

namespace softib::topo {

/// Reads a netlist. HCAs come first in the graph, then switches, then routers, each in the order of
/// the text. Hosts and devices get their names from the node descriptions (netlist_names.h). An
/// error begins with FILE:LINE; `file` is the name of the text for this purpose.
///
/// The text may be a log of a terminal: lines that do not belong to a netlist are left out, and
/// wrapped lines are joined; Fabric::warnings then says how many. A line that begins like one of a
/// netlist and is wrong is an error.
std::expected<Fabric, Error> read_netlist(std::string_view text, std::string_view file);

/// Returns the fabric as ibnetdiscover prints it, without the time in its first lines. Reading the
/// text gives the same graph, but without the levels and coordinates of switches.
std::string write_ibnetdiscover(const Fabric& fabric);

/// Returns the fabric as a netlist for ibsim. The ids of nodes are their names, and links have
/// options for releases of ibsim that do not know their speed. Reading the text gives the same
/// graph, but without the levels and coordinates of switches.
std::string write_ibsim(const Fabric& fabric);

}  // namespace softib::topo
