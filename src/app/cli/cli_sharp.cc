// SPDX-License-Identifier: BSD-2-Clause
// The subcommand that shows aggregation nodes, trees and jobs.
#include <CLI/CLI.hpp>

#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/commands.h"

namespace softib::app {

std::span<const Subcommand> sharp_subcommands() {
    static constexpr Subcommand kAll[]{{"sharp", add_sharp}};
    return kAll;
}

}  // namespace softib::app
