// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Datagram sockets over RDMA. A socket has a UD queue pair at each port of the host that it uses. A
// bound socket is a service of the CM: a sender first looks its queue pair up (SIDR). Each datagram
// begins with the sender's address, so that an answer needs no lookup. No datagram is sent again:
// one that finds no posted receive is lost.
//
// Thread rule: the caller holds the socket's lock (rsocket.h).

#include <netinet/in.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <vector>

#include "abi/rdmacm/rsocket.h"

namespace softib::abi::rdmacm {

/// An address and port number, in the form with which each datagram begins: family (4 or 6), a zero
/// byte, port, address; numbers in network order.
inline constexpr std::size_t kNameBytes = 20;
using Name = std::array<std::uint8_t, kNameBytes>;

/// Returns the name of an address; all zero if these sockets do not support its family.
Name name_of(const sockaddr* address);
void to_sockaddr(const Name& name, sockaddr_storage& out);
/// Returns the port number of `name` with the address of `other`.
Name with_address_of(const Name& name, const Name& other);
bool is_any_address(const Name& name);

inline constexpr std::uint64_t kDatagramReceive = 1U << 16;  ///< The wr_id bit of a receive.

/// A queue pair at one port of the host, and its memory: slots to send from, then slots to receive
/// into.
struct DatagramPort : SocketQueue {
    std::size_t payload_max = 0;
    Name address{};  ///< The port's address: the source address if the socket is bound to none.
};

/// What is known of an address that this socket has sent to or received from.
struct Destination {
    enum class State : std::uint8_t { kAsking, kKnown, kFailed };
    State state = State::kAsking;
    int error = 0;             ///< The errno value of a lookup that failed.
    rdma_cm_id* id = nullptr;  ///< The endpoint of the lookup.
    DatagramPort* port = nullptr;
    ibv_ah* ah = nullptr;
    std::uint16_t lid = 0;
    std::uint32_t qpn = 0;
    std::uint32_t qkey = 0;
    /// Datagrams to send when the lookup has been answered and send slots are free.
    std::vector<std::vector<std::uint8_t>> waiting;
};

/// A datagram that was received and not read.
struct Datagram {
    DatagramPort* port = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t bytes = 0;
    Name from{};
};

/// The part of a socket that only datagram sockets have.
struct Datagrams {
    int ready_fd = -1;  ///< Readable when the completion channel of any port is.
    std::list<DatagramPort> ports;
    std::map<Name, Destination> destinations;
    std::deque<Datagram> queue;
    bool wait_for_slots = false;  ///< Datagrams of a known destination wait for free send slots.
    Name own{};                   ///< The address that the socket is bound to.
    Name peer{};                  ///< The peer of a connected socket, otherwise zero.
};

/// Returns nullptr, with errno set, if it fails.
Datagrams* make_datagrams();
void release_datagrams(Datagrams* datagrams);

/// Returns the socket's queue pair at the port that `id` is bound to, and makes it if there is none
/// yet. Returns nullptr, with errno set, if that fails.
DatagramPort* port_at(Datagrams& datagrams, rdma_cm_id* id);
/// Returns a received packet, from its global route header on.
std::uint8_t* received_packet(const DatagramPort& port, std::uint32_t slot);
/// Returns the first byte of a datagram's payload.
const std::uint8_t* payload_of(const Datagram& datagram);
/// Returns whether sends are under way.
bool is_sending(const DatagramPort& port);
bool post_datagram_receive(const DatagramPort& port, std::uint32_t slot);
/// Sends a datagram. Returns false if no slot is free, or if it cannot be sent (errno says why).
bool post_datagram(const Datagrams& datagrams, Destination& to, std::span<const std::uint8_t> data);

/// Binds a socket, to a free port number if `address` has none, and listens for lookups. Returns 0,
/// or -1 with errno set.
int bind_datagrams(Rsocket& socket, const sockaddr* address);
/// Binds a socket to the wildcard address of a family, unless it is bound already. Returns 0, or -1
/// with errno set.
int bind_anywhere(Rsocket& socket, sa_family_t family);
int connect_datagrams(Rsocket& socket, const sockaddr* address);

// These do for datagram sockets what progress() and arm() do for streams.
void progress_datagrams(Rsocket& socket);
bool arm_datagrams(Rsocket& socket);

ssize_t send_datagram(Rsocket& socket, std::unique_lock<std::mutex>& lock,
                      std::span<const std::uint8_t> data, int flags, const Name& to);
ssize_t receive_datagram(Rsocket& socket, std::unique_lock<std::mutex>& lock,
                         std::span<const iovec> parts, int flags, sockaddr_storage* from);

}  // namespace softib::abi::rdmacm
