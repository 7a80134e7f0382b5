// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Questions to the fabric's daemon that a program asks without knowing it: none of them may cost it
// more than a moment, whatever became of the daemon.

#include "runtime/shm/rpc.h"

namespace softib::fs {

/// A connection to the daemon on which nothing waits longer than the timeout, not even connecting
/// to it; -1 and errno.
int connect_in_time();

/// Sends one message over a connection of its own, and replaces it by the reply. False: there was
/// none. After a daemon did not answer in time, for a while nobody asks it again.
bool exchange_with_daemon(live::Message& message);

/// Asks the daemon so. False: there was no answer, or (with a status in the message) a refusal. The
/// reply has texts of the message.
template <typename Request>
bool ask_daemon(const Request& request, live::Message& message, typename Request::Reply& reply) {
    return live::to_message(request, message) && exchange_with_daemon(message) &&
           message.status == 0 && live::decode(message, reply);
}

}  // namespace softib::fs
