// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Waiting for descriptors, some of which have a socket over RDMA.

#include <poll.h>

#include <span>

namespace softib::rspreload {

/// Returns whether a descriptor listens or is connected by a socket over RDMA.
bool has_any_of_ours(std::span<const pollfd> fds);

/// Does what poll() does, for descriptors of which at least one has a socket over RDMA.
int wait_for(std::span<pollfd> fds, int timeout_ms);

}  // namespace softib::rspreload
