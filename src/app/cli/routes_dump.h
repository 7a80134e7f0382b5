// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routes as the files that OpenSM dumps, for tools that read those. One is ibdmchk (ibutils), which
// checks routes independently of our code.
//
//   opensm-subnet.lst      every cable, from both ends
//   opensm.fdbs            linear forwarding tables
//   opensm.mcfdbs          multicast forwarding tables
//   opensm-sl2vl.dump      SL2VL tables of every switch
//   opensm-path-sl.dump    the service level of every path between hosts, if it is known

#include <expected>
#include <string>
#include <vector>

#include "runtime/shm/arena.h"
#include "view/routes.h"

namespace softib::app {

/// Writes the files into the directory, which it makes if need be. Returns the names of the files;
/// the error is for the user.
std::expected<std::vector<std::string>, std::string> dump_routes(const shm::Arena& arena,
                                                                 const view::Routes& routes,
                                                                 const std::string& directory);

}  // namespace softib::app
