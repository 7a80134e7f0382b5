// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// OpenSM as the subnet manager of a fabric (softib up --sm opensm). It runs on the first host, as
// if softib exec had started it, with its files below sm/ in the fabric's directory. The daemon is
// its parent; when the daemon ends, however it ends, OpenSM ends too.

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

#include "app/fabric/fabric_dir.h"
#include "spec/description.h"

namespace softib::app {

/// Returns the words of a command line, cut at spaces outside of '…' and "…".
std::expected<std::vector<std::string>, std::string> split_words(const std::string& text);

/// Checks that the subnet manager of a description can run here. The error says what to install or
/// change.
std::expected<void, std::string> check_manager(const spec::Description& description);

/// OpenSM's name among the daemon's helpers.
inline constexpr char kManagerHelper[] = "opensm";

/// Starts OpenSM and returns its pid. The fabric's socket must be open; OpenSM waits until the
/// daemon serves it.
std::expected<pid_t, std::string> start_manager(const FabricRef& fabric,
                                                const spec::Description& description,
                                                const std::string& host);

/// Waits until all ports with a cable are active. The error has the end of OpenSM's log.
std::expected<void, std::string> wait_until_managed(const FabricRef& fabric);

}  // namespace softib::app
