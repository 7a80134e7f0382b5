// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routes as files of the kind that OpenSM writes, for tools that read those: ibdmchk (ibutils)
// checks them with code that is not ours.
//
//   opensm-subnet.lst      every cable, from both ends
//   opensm.fdbs            linear forwarding tables
//   opensm.mcfdbs          multicast forwarding tables
//   opensm-sl2vl.dump      service levels to virtual lanes, of every switch
//   opensm-path-sl.dump    the service level of every path between hosts; only where it is known

#include <expected>
#include <string>
#include <vector>

#include "runtime/shm/arena.h"
#include "view/routes.h"

namespace softib::app {

/// Makes the directory if need be. Returns the files' names; the error is for the user.
std::expected<std::vector<std::string>, std::string> dump_routes(const live::Arena& arena,
                                                                 const view::Routes& routes,
                                                                 const std::string& directory);

}  // namespace softib::app
