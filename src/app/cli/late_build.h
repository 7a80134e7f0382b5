// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Builds the commands sim, plan and trace when one of them is used for the first time in the build
// tree of `make demo`, which leaves them out to be quick.

#include <string_view>

namespace softib::app {

/// Returns whether `name` is a command that a softib without the planner does not have.
bool is_left_out(std::string_view name);

/// Builds softib with all commands in the build tree in which this program lies, and runs it there
/// with the same arguments; returns only the exit status of a failure. Another softib that builds
/// at the same time is waited for.
int build_and_run(char** argv);

}  // namespace softib::app
