// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The program's sockets that have a socket over RDMA beside them. The program's own descriptor is
// always an ordinary socket of the kernel. Calls are made on both sockets until it is known whether
// the peer is on the fabric; if it is not, only the ordinary socket is used.
//
// Thread rule: any thread may call any function. If two threads create and close the same
// descriptor at the same time, either order may win, as in the kernel. The child of a fork has
// ordinary sockets only.

#include <cstdint>

#include "abi/sysfs/next.h"

namespace softib::rspreload {

using sysfs::Next;

enum class Phase : std::uint8_t {
    kOrdinary,   ///< There is only the ordinary socket.
    kUndecided,  ///< New or bound: calls are made on both sockets.
    kListening,  ///< Both sockets listen.
    kConnected,  ///< Connected over the fabric; the ordinary socket is not used.
};

struct Entry {
    Phase phase = Phase::kOrdinary;
    bool ordinary_bound = true;  ///< The ordinary socket is bound, or listens, there too.
    int number = -1;             ///< The number of the socket over RDMA.
};

/// Returns the entry of a descriptor. It is kOrdinary if the descriptor has no socket over RDMA,
/// and always if the library itself is calling (see Inside).
Entry find(int fd);
bool is_connected(int fd, int& number);

void remember(int fd, const Entry& entry);
/// Notes that `fd` is a second descriptor for the socket of `original`.
void remember_duplicate(int fd, int original);
/// Removes a descriptor. Returns true if it was the last one of its socket over RDMA, which the
/// caller must then close. Does nothing in a child of vfork, which shares this table with its
/// parent.
bool forget(int fd, int& number);
/// Returns false in a child of vfork, which has its own descriptors but shares our memory.
bool owns_table();

/// Marks the calls that this thread makes while it lives as the library's own: they go to the C
/// library.
class Inside {
  public:
    Inside();
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};
bool is_inside();

}  // namespace softib::rspreload
