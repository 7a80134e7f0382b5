// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The packets of a fabric's trunks, between the network and the sockets. A packet that comes to a
// trunk's far end in the network leaves in a datagram, with as many others as fit; one that comes
// in by the socket begins there. Nothing piles up: while the peer's buffers are full the far end
// takes no packets from its switch, and while the switch takes none nothing is read from the
// socket.

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
    /// `ports`: of each trunk, its far end in the network.
    static std::expected<std::unique_ptr<TrunkWire>, std::string> open(
        const live::Arena& arena, net::Engine& net, Adapters& adapters, const spec::Trunks& trunks,
        const std::vector<std::uint32_t>& ports);
    ~TrunkWire();
    TrunkWire(const TrunkWire&) = delete;
    TrunkWire& operator=(const TrunkWire&) = delete;

    /// A packet has come to the far end of a trunk.
    void leave(std::uint32_t port, const net::Packet& packet,
               const net::TransportHosts::Body& body);
    /// One that came in there is on its way to the switch, or lost.
    void entered(std::uint32_t port);

    /// Takes in what is there; false: there was nothing.
    bool receive(std::uint64_t now_ns);
    /// Sends what there is, and does what is due; false: there was nothing to send.
    bool send(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return next_timeout_ns_; }
    /// Makes arrivals wake the carrier from now on. Returns false if something has yet to leave.
    bool watch();

  private:
    struct Datagram {
        std::unique_ptr<std::uint8_t[]> room;  ///< For the longest.
        std::size_t bytes = 0;
    };
    struct End {
        std::uint32_t port;
        std::unique_ptr<live::TrunkSocket> socket;
        std::deque<Datagram> out;  ///< The last may still grow.
        std::size_t out_bytes = 0;
        std::uint32_t entering = 0;  ///< Packets that wait for the switch.
    };
    TrunkWire(const live::Arena& arena, net::Engine& net, Adapters& adapters);
    End* end_at(std::uint32_t port);
    bool send(End& end);
    bool receive(End& end, std::uint64_t now_ns);
    Datagram new_datagram();

    const live::Arena& arena_;
    net::Engine& net_;
    Adapters& adapters_;
    int epoll_fd_ = -1;
    std::vector<End> ends_;
    std::vector<Datagram> spare_;
    std::unique_ptr<SocketWatch> watch_;
    bool received_ = false;  ///< Something, for which credits may be due.
    std::uint64_t next_timeout_ns_ = 0;
};

}  // namespace softib::carrier
