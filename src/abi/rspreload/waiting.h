// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Waiting for descriptors, sockets over RDMA among them.

#include <poll.h>

#include <span>

namespace softib::rspreload {

bool has_any_of_ours(std::span<const pollfd> fds);

/// As poll; at least one is ours.
int wait_for(std::span<pollfd> fds, int timeout_ms);

}  // namespace softib::rspreload
