// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Moves packets of a fabric's trunks between the network and the sockets. A packet that comes to a
// trunk's far end in the network leaves in a datagram, with as many others as fit; a packet that
// comes by the socket enters the network at the far end. Nothing piles up: while the peer's buffers
// are full, the far end takes no packets from its switch; while the switch takes none from the far
// end, nothing is read from the socket.

#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "runtime/carrier/adapters.h"
#include "runtime/carrier/socket_watch.h"
#include "runtime/daemon/trunk_socket.h"

namespace softib::carrier {

class TrunkWire {
  public:
    /// Opens the sockets of all trunks. `ports` has the network's port at each trunk's far end.
    static std::expected<std::unique_ptr<TrunkWire>, std::string> open(
        const shm::Arena& arena, net::Engine& net, Adapters& adapters, const spec::Trunks& trunks,
        const std::vector<std::uint32_t>& ports);
    ~TrunkWire();
    TrunkWire(const TrunkWire&) = delete;
    TrunkWire& operator=(const TrunkWire&) = delete;

    /// Takes a packet that has come to the far end of a trunk, to send it in a datagram.
    void leave(std::uint32_t port, const net::Packet& packet,
               const net::TransportHosts::Body& body);
    /// Notes that a packet from the socket is on its way to the switch, or lost.
    void entered(std::uint32_t port);

    /// Reads datagrams from all sockets. Returns false if there were none.
    bool receive(std::uint64_t now_ns);
    /// Sends datagrams that wait, and does what is due. Returns false if none was sent.
    bool send(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return next_timeout_ns_; }
    /// Makes arrivals wake the carrier from now on. Returns false if something has yet to leave.
    bool watch();

  private:
    struct Datagram {
        std::unique_ptr<std::uint8_t[]> room;  ///< Room for the longest datagram.
        std::size_t bytes = 0;
    };
    struct End {
        std::uint32_t port;
        std::unique_ptr<daemon::TrunkSocket> socket;
        std::deque<Datagram> out;  ///< Datagrams that wait; the last may still grow.
        std::size_t out_bytes = 0;
        std::uint32_t entering = 0;  ///< Packets that wait for the switch.
    };
    TrunkWire(const shm::Arena& arena, net::Engine& net, Adapters& adapters);
    End* end_at(std::uint32_t port);
    bool send(End& end);
    bool receive(End& end, std::uint64_t now_ns);
    Datagram new_datagram();

    const shm::Arena& arena_;
    net::Engine& net_;
    Adapters& adapters_;
    int epoll_fd_ = -1;
    std::vector<End> ends_;
    std::vector<Datagram> spare_;
    std::unique_ptr<SocketWatch> watch_;
    bool received_ = false;  ///< Whether a datagram has come, for which credits may be due.
    std::uint64_t next_timeout_ns_ = 0;
};

}  // namespace softib::carrier
