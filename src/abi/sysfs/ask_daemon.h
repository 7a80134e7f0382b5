// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Requests to the fabric's daemon that the preloaded library makes on behalf of a program. None may
// take longer than a moment, even if the daemon is dead or stopped.

#include "runtime/shm/rpc.h"

namespace softib::fs {

/// A connection to the daemon on which nothing waits longer than the timeout, not even connecting
/// to it; -1 and errno.
int connect_in_time();

/// Sends one message over a connection of its own, and replaces it by the reply. Returns false if
/// none came. A daemon that did not answer in time is not asked again for a while.
bool exchange_with_daemon(live::Message& message);

/// Asks the daemon so. Returns false if no answer came, or (with a status in the message) a
/// refusal. The reply has texts of the message.
template <typename Request>
bool ask_daemon(const Request& request, live::Message& message, typename Request::Reply& reply) {
    return live::to_message(request, message) && exchange_with_daemon(message) &&
           message.status == 0 && live::decode(message, reply);
}

}  // namespace softib::fs
