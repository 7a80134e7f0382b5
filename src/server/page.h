// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Serves the files of the web page (src/page), which are built into the program.

#include <vector>

#include "server/route.h"

namespace softib::server {

/// Returns the rows that answer "/" and "/page/NAME".
std::vector<Route> page_routes();

}  // namespace softib::server
