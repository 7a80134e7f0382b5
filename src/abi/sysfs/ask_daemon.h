// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Requests to the fabric's daemon that the preloaded library makes on behalf of a program. None may
// take longer than a moment, even if the daemon is dead or stopped.

#include "runtime/shm/protocol.h"

namespace softib::fs {

/// A connection to the daemon on which nothing waits longer than the timeout, not even connecting
/// to it; -1 and errno.
int connect_in_time();

/// Sends one message over a connection of its own, and replaces it by the reply. Returns false if
/// none came. A daemon that did not answer in time is not asked again for a while.
bool ask_daemon(live::Message& message);

}  // namespace softib::fs
