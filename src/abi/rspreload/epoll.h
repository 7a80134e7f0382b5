// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sockets over RDMA that a program watches by epoll. The kernel does not see them become ready, so
// they are not in the kernel's epoll set: our epoll_wait waits for them and for that set together.
// Edge-triggered watches are reported as level-triggered ones.

namespace softib::rspreload {

/// Has the kernel watch a descriptor, which is an ordinary socket from now on.
void hand_over_watches(int fd);
/// Forgets the watches of a descriptor that is closed.
void forget_watches(int fd);
/// Forgets all watches of an epoll descriptor that is closed.
void forget_epoll(int epoll_fd);
/// Forgets all watches in a forked child. Takes no lock, because a thread of the parent may have
/// held it.
void forget_all_watches();

}  // namespace softib::rspreload
