// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sockets of ours that a program watches by epoll. The kernel does not see them become ready, so
// they are not in its set: epoll_wait waits for them and for the kernel's set together. Edges are
// reported as levels.

namespace softib::rspreload {

/// The socket is an ordinary one from now on: the kernel watches it.
void hand_over_watches(int fd);
/// The descriptor is closed.
void forget_watches(int fd);
void forget_epoll(int epoll_fd);
/// In the child of a fork, where nobody gives the lock back.
void forget_all_watches();

}  // namespace softib::rspreload
