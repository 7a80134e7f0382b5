// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two ends of a conversation with softibd: one Message per packet of a SOCK_SEQPACKET socket,
// at most one file descriptor along. Only the used part of Message::text travels. Linked into the
// shims: errors are errno values, nothing throws, no signal is raised.
//
// Thread rule: a socket belongs to one thread at a time; the caller holds the lock, if any.

#include "runtime/shm/protocol.h"

namespace softib::live {

/// Connects to the daemon of the fabric whose directory this is. Returns a close-on-exec
/// descriptor, or -1 with errno (ENOENT or ECONNREFUSED: no daemon is there).
int rpc_connect(const char* fabric_dir);

/// Sends a message; passed_fd < 0 passes none.
bool rpc_send(int fd, const Message& message, int passed_fd);

/// The same, but never waits: false where the other side does not read.
bool rpc_tell(int fd, const Message& message);

/// Waits for a message. *received_fd is the descriptor that came along or -1; with a null
/// received_fd a descriptor that came is closed. errno: EPROTO for anything that is not one whole
/// Message, EPROTONOSUPPORT for one of another version, EMFILE where a descriptor came that this
/// process has no room for, ECONNRESET when the other side has closed.
bool rpc_receive(int fd, Message& message, int* received_fd);

/// Sends `message` and replaces it by the reply. The reply's status is the caller's to look at.
bool rpc_call(int fd, Message& message, int* received_fd);

}  // namespace softib::live
