// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The state of a daemon's helper processes (runtime/daemon/supervisor.h), as the daemon reports it.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "app/observe.h"

namespace softib::app {

struct HelperHealth {
    std::string name;
    pid_t pid = 0;  ///< 0: it waits to be started again.
    std::uint32_t restarts = 0;
    std::time_t last_end = 0;  ///< 0: it has not ended yet.
    std::string reason;        ///< Why it last ended.
};

std::vector<HelperHealth> read_health(const Observer& observer);

/// "ok", or what is worth knowing: "carrier restarted 2 times, last 12:01:07 (signal 9)".
std::string health_text(const std::vector<HelperHealth>& helpers);

/// Whether all helpers run now.
bool all_run(const std::vector<HelperHealth>& helpers);

}  // namespace softib::app
