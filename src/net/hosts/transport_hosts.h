// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// HCAs with the transport of core/hca at the ends of a network. An HCA hands over one packet of
// a lane at a time, when the one before has begun to leave: what waits, waits in its queue pairs.
// Payload is copied when it leaves the sender's memory and placed when it arrives; memory without
// bytes travels as a length.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/hca/hca.h"
#include "core/link/injection.h"
#include "net/network.h"

namespace softib::net {

class TransportHosts {
  public:
    virtual ~TransportHosts() = default;

    /// The HCA must outlive the network. One per port of an HCA.
    void attach(std::uint32_t port, hca::Hca& hca);

    /// After something was posted to the HCA of a port, or changed in it.
    void pump(Engine& net, std::uint32_t port);

    /// Sends arbitrary bytes as a packet, as a port that keeps no rule would; the HCA of the port
    /// goes on sending. Returns the number of the packet's body.
    std::uint32_t send_bytes(Engine& net, std::uint32_t port, std::span<const std::uint8_t> bytes);

    /// A whole packet that comes in from elsewhere, at a port without an HCA.
    void send_packet(Engine& net, std::uint32_t port, const wire::Packet& packet);

    /// As a manager wrote it into the port: its queue pairs slow down by it when they hear that
    /// they make congestion.
    void control_congestion(std::uint32_t port, const link::InjectionControl& control);

    /// nullptr: nothing was written.
    const link::InjectionControl* injection(std::uint32_t port) const {
        return port < hosts_.size() ? hosts_[port].control.get() : nullptr;
    }

    /// The partition of a packet in the network.
    PKey pkey_of(const Packet& packet) const { return body(packet).headers.bth.p_key; }

    // For the network.
    void deliver(Engine& net, std::uint32_t port, const Packet& packet);
    void sent(Engine& net, std::uint32_t port, const Packet& packet);
    void timer(Engine& net, std::uint32_t port, std::uint32_t what);
    void copied(Engine& net, const Packet& packet, std::uint32_t more);
    void dropped(Engine& net, const Packet& packet);

    /// What is kept of a packet while it is in the network.
    struct Body {
        wire::PacketHeaders headers;
        std::unique_ptr<std::uint8_t[]> room;  ///< For kBodyBytes, made when first needed.
        std::uint32_t length = 0;
        bool has_bytes = false;  ///< Else `length` is all there is.
        bool left = false;       ///< Has begun to leave
        std::uint32_t port = 0;  ///< the port that sent it,
        Qpn source{};            ///< of this queue pair.
        bool raw = false;        ///< Not made by the HCA,
        bool unknown = false;    ///< and its headers are in vain.
        std::uint32_t uses = 0;  ///< Packets in the network that are copies of it.

        hca::Payload payload() const;
    };
    const Body& body(const Packet& packet) const { return bodies_[packet.body]; }
    /// Returns the memory of bodies, while no packet has one.
    void give_back();
    std::size_t bodies() const { return bodies_.size() - free_.size(); }
    bool is_raw(const Packet& packet) const { return bodies_[packet.body].raw; }
    /// Packets to the agents of switches, which are not here, and those of send_bytes whose check
    /// sums are right but whose headers no transport knows. Nobody answers them.
    std::uint64_t unknown() const { return unknown_; }

  protected:
    static constexpr std::uint32_t kBodyBytes = 4096;

    /// Returns the time of the transports: the network's, unless a subclass has another.
    virtual std::uint64_t now_ns(const Engine& net) const { return net.now() / link::kPsPerNs; }
    /// Sets a timer at which the HCA of this port is told the time: its next_timeout_ns().
    virtual void arm(Engine& net, std::uint32_t port);
    /// Before the HCA of a port is given a packet.
    virtual void before_packet(std::uint32_t, const wire::PacketHeaders&) {}
    virtual void after_packet(std::uint32_t, const wire::PacketHeaders&) {}

    /// A packet that uses the body is gone.
    void let_go(std::uint32_t body);
    hca::Hca* hca_at(std::uint32_t port) const {
        return port < hosts_.size() ? hosts_[port].hca : nullptr;
    }

  private:
    struct Host {
        hca::Hca* hca = nullptr;
        std::uint16_t busy = 0;    ///< Bit n: a packet of its own waits to leave on lane n.
        TimePs armed_at = kNever;  ///< The earliest timer under way.
        std::unique_ptr<link::InjectionControl> control;           ///< None: nobody slows down.
        std::unordered_map<std::uint32_t, link::Injection> flows;  ///< By QPN: those that did.
    };
    static std::uint16_t free_levels(const Engine& net, std::uint32_t port, const Host& host);
    static void free_lane(Host& host, const Packet& packet) {
        host.busy = static_cast<std::uint16_t>(host.busy & ~(1U << packet.vl));
    }
    void send(Engine& net, std::uint32_t port, Host& host, const hca::Transmit& transmit);
    void give(Engine& net, std::uint32_t port, const Body& body);
    void hear_becns(Engine& net, Host& host);
    void slow_down(Engine& net, std::uint32_t port, Host& host, const Packet& packet);
    std::uint32_t new_body(std::uint32_t port);
    std::uint32_t keep(std::uint32_t port, const hca::Transmit& transmit);
    static std::span<std::uint8_t> room_for(Body& body, std::uint32_t length);

    std::vector<Host> hosts_;  ///< By port.
    std::deque<Body> bodies_;  ///< They stay where they are.
    std::vector<std::uint32_t> free_;
    std::uint64_t unknown_ = 0;
};

}  // namespace softib::net
