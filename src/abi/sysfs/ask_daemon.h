// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Questions to the fabric's daemon that a program asks without knowing it: none of them may cost it
// more than a moment, whatever became of the daemon.

#include "runtime/shm/protocol.h"

namespace softib::fs {

/// A connection to the daemon on which nothing waits longer than the timeout, not even connecting
/// to it; -1 and errno.
int connect_in_time();

/// Sends one message over a connection of its own, and replaces it by the reply. Returns false if
/// none came. A daemon that did not answer in time is not asked again for a while.
bool ask_daemon(live::Message& message);

}  // namespace softib::fs
