// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The sockets of a program that have a socket over RDMA beside them. The program's own descriptor
// is always an ordinary socket of the kernel. Both are kept alike until it is known whether the
// peer is on the fabric; if it is not, the ordinary socket is used.
//
// Thread rule: any thread may call any function. If two threads create and close the same
// descriptor at the same time, either order may win, as in the kernel. The child of a fork has
// ordinary sockets only.

#include <cstdint>

#include "abi/sysfs/next.h"

namespace softib::rspreload {

using fs::Next;

enum class Phase : std::uint8_t {
    kOrdinary,   ///< Not ours.
    kUndecided,  ///< New, or bound: both sockets are kept alike.
    kListening,  ///< Both listen.
    kConnected,  ///< By the fabric; the ordinary one does nothing.
};

struct Entry {
    Phase phase = Phase::kOrdinary;
    bool ordinary_bound = true;  ///< Its address is that of the ordinary one.
    int number = -1;             ///< Descriptor of the socket over RDMA.
};

/// Ordinary for what is not ours, and for all calls that sockets over RDMA make themselves.
Entry find(int fd);
bool is_connected(int fd, int& number);

void remember(int fd, const Entry& entry);
/// A second descriptor for the same socket.
void remember_duplicate(int fd, int original);
/// Removes a descriptor. Returns true if no other descriptor has its socket over RDMA: the caller
/// must close that. Does nothing in a child of vfork, which only borrows our memory.
bool forget(int fd, int& number);
/// False in a child of vfork, whose descriptors are its own and whose memory is ours.
bool owns_table();

/// While one exists, this thread's calls are the library's own.
class Inside {
  public:
    Inside();
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};
bool is_inside();

}  // namespace softib::rspreload
