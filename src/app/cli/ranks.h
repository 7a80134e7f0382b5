// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Files with the order in which a job uses hosts, one host a line. The first word of a line is
// HOST, HOST/DEVICE or a LID (decimal, or hexadecimal as in OpenSM's opensm-ftree-ca-order.dump).
// The rest of a line, empty lines and lines that begin with # are ignored.

#include <expected>
#include <string>
#include <vector>

#include "runtime/shm/arena.h"
#include "view/routes.h"

namespace softib::app {

std::expected<std::vector<Lid>, std::string> read_ranks(const std::string& file,
                                                        const shm::Arena& arena,
                                                        const view::Routes& routes);

}  // namespace softib::app
