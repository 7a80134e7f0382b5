// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Requests to the fabric's daemon that the preloaded library makes for a program. They have a short
// timeout, in case the daemon is dead or stopped.

#include "runtime/shm/rpc.h"

namespace softib::sysfs {

/// Connects to the daemon; connecting, sending and receiving time out. Returns -1, with errno set,
/// if that fails.
int connect_in_time();

/// Sends one message over a new connection, and replaces it by the reply. Returns false if no reply
/// came. A daemon that did not answer in time is not asked again for a while.
bool exchange_with_daemon(shm::Message& message);

/// Sends a request to the daemon. Returns false if no reply came, or if the daemon refused (the
/// status in `message` is then not 0). Texts in the reply point into `message`.
template <typename Request>
bool ask_daemon(const Request& request, shm::Message& message, typename Request::Reply& reply) {
    return shm::to_message(request, message) && exchange_with_daemon(message) &&
           message.status == 0 && shm::decode(message, reply);
}

}  // namespace softib::sysfs
