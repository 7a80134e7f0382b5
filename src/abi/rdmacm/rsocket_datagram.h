// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Datagram sockets over RDMA: a queue pair for datagrams at each port of the host that is used. A
// socket with an address is a service, and a sender first asks for its queue pair (SIDR). Each
// datagram begins with the sender's address, so answers need not ask. Nothing is sent twice: a
// datagram that finds no receive is lost.
//
// Thread rule: as in rsocket.h, all under the socket's lock.

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

/// An address and port, comparable, as each datagram begins with: family (4 or 6), a zero byte,
/// port, address; numbers in network order.
inline constexpr std::size_t kNameBytes = 20;
using Name = std::array<std::uint8_t, kNameBytes>;

/// All zero for a family that these sockets do not have.
Name name_of(const sockaddr* address);
void to_sockaddr(const Name& name, sockaddr_storage& out);
/// The port number of one and the address of the other.
Name with_address_of(const Name& name, const Name& other);
bool is_any_address(const Name& name);

inline constexpr std::uint64_t kDatagramReceive = 1U << 16;  ///< In a request's number.

/// A queue pair at one port of the host, and its memory: slots to send from, then to receive into.
struct DatagramPort : SocketQueue {
    std::size_t payload_max = 0;
    Name address{};  ///< The port's, for a socket that is bound to none.
};

struct Destination {
    enum class State : std::uint8_t { kAsking, kKnown, kFailed };
    State state = State::kAsking;
    int error = 0;             ///< Why it failed.
    rdma_cm_id* id = nullptr;  ///< By which we ask.
    DatagramPort* port = nullptr;
    ibv_ah* ah = nullptr;
    std::uint16_t lid = 0;
    std::uint32_t qpn = 0;
    std::uint32_t qkey = 0;
    std::vector<std::vector<std::uint8_t>> waiting;  ///< To be sent when it is known.
};

/// What came and was not read.
struct Datagram {
    DatagramPort* port = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t bytes = 0;
    Name from{};
};

struct Datagrams {
    int ready_fd = -1;  ///< Readable when a port's completion channel is.
    std::list<DatagramPort> ports;
    std::map<Name, Destination> destinations;
    std::deque<Datagram> queue;
    Name own{};
    Name peer{};  ///< In a connected socket, otherwise zero.
};

/// nullptr and errno.
Datagrams* make_datagrams();
void release_datagrams(Datagrams* datagrams);

/// The port at which `id` is, made if there is none yet; nullptr and errno.
DatagramPort* port_at(Datagrams& datagrams, rdma_cm_id* id);
/// What was received, from its routing header on; and from its first byte of payload.
std::uint8_t* received_packet(const DatagramPort& port, std::uint32_t slot);
const std::uint8_t* payload_of(const Datagram& datagram);
/// Whether sends are under way.
bool is_sending(const DatagramPort& port);
bool post_datagram_receive(const DatagramPort& port, std::uint32_t slot);
/// Sends a datagram. Returns false if no slot is free, or if it cannot be sent (errno says why).
bool post_datagram(const Datagrams& datagrams, Destination& to, std::span<const std::uint8_t> data);

/// Takes an address, and a port number if `address` has none, and answers who asks for it.
int bind_datagrams(Rsocket& socket, const sockaddr* address);
/// The same at any address of this family, unless it has one.
int bind_anywhere(Rsocket& socket, sa_family_t family);
int connect_datagrams(Rsocket& socket, const sockaddr* address);

/// As progress and arm of streams.
void progress_datagrams(Rsocket& socket);
bool arm_datagrams(Rsocket& socket);

ssize_t send_datagram(Rsocket& socket, std::unique_lock<std::mutex>& lock,
                      std::span<const std::uint8_t> data, int flags, const Name& to);
ssize_t receive_datagram(Rsocket& socket, std::unique_lock<std::mutex>& lock,
                         std::span<const iovec> parts, int flags, sockaddr_storage* from);

}  // namespace softib::abi::rdmacm
