// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The state of a daemon's helper processes (runtime/daemon/supervisor.h), as the daemon reports it.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/shm/requests.h"

namespace softib::view {

using shm::request::HelperState;

struct Helper {
    std::string name;
    HelperState state = HelperState::kRuns;
    pid_t pid = 0;  ///< 0: the helper has ended and waits to be started again.
    std::uint32_t restarts = 0;
    std::time_t last_end = 0;  ///< When the helper last ended; 0: never.
    std::string reason;        ///< Why the helper last ended: "signal 9".
};

/// Asks the daemon, over a connection, for its helpers. Takes up to a second if a helper does not
/// answer the daemon. Returns an empty list if the daemon itself does not answer.
std::vector<Helper> read_health(int daemon);

/// Returns "runs", "ended", "stopped" or "silent".
std::string_view state_name(HelperState state);

/// Returns "ok", or what has gone wrong: "carrier restarted 2 times, last 12:01:07 (signal 9)".
std::string helpers_text(const std::vector<Helper>& helpers);

/// Returns whether all helpers run now, and none has failed to answer.
bool all_run(const std::vector<Helper>& helpers);

}  // namespace softib::view
