// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Adapters with the transport of core/hca at the ends of a network. An HCA hands over one packet at
// a time, when the one before has begun to leave: what waits, waits in its queue pairs. Payload is
// copied when it leaves the sender's memory and placed when it arrives; memory without bytes
// travels as a length.

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/hca/hca.h"
#include "core/link/injection.h"
#include "runtime/sim/network.h"

namespace softib::sim {

class TransportHosts {
  public:
    /// The HCA must outlive the network. One per port of an adapter.
    void attach(std::uint32_t port, hca::Hca& hca);

    /// After something was posted to the HCA of a port, or changed in it.
    void pump(Engine& net, std::uint32_t port);

    /// A packet that no HCA has made, whatever its bytes are: a port that keeps to no rule sends
    /// it. At a port with an HCA, which sends on beside it. Returns the number of its body.
    std::uint32_t send_bytes(Engine& net, std::uint32_t port, std::span<const std::uint8_t> bytes);

    /// As a manager wrote it into the port: its queue pairs slow down by it when they hear that
    /// they make congestion.
    void control_congestion(std::uint32_t port, const link::InjectionControl& control);

    // For the network.
    void deliver(Engine& net, std::uint32_t port, const Packet& packet);
    void sent(Engine& net, std::uint32_t port, const Packet& packet);
    void timer(Engine& net, std::uint32_t port, std::uint32_t what);
    void dropped(Engine& net, const Packet& packet);

    /// Packets whose headers are kept: those in the network. Of multicasts they stay, since nobody
    /// says when the last copy is gone.
    std::size_t bodies() const { return bodies_.size() - free_.size(); }
    bool is_raw(const Packet& packet) const { return bodies_[packet.body].raw; }
    /// Packets to the agents of switches, which are not here, and those of send_bytes whose check
    /// sums are right but whose headers no transport knows. Nobody answers them.
    std::uint64_t unknown() const { return unknown_; }

  private:
    struct Host {
        hca::Hca* hca = nullptr;
        bool busy = false;                                ///< A packet of its own waits to leave.
        TimePs armed_at = kNever;                         ///< The earliest timer under way.
        std::unique_ptr<link::InjectionControl> control;  ///< None: nobody slows down.
        std::unordered_map<std::uint32_t, link::Injection> flows;  ///< By QPN: those that did.
    };
    struct Body {
        wire::PacketHeaders headers;
        std::vector<std::uint8_t> bytes;  ///< Empty where `length` is all there is.
        std::uint32_t length = 0;
        Qpn source{};
        std::uint32_t port = 0;  ///< Whose it is,
        bool left = false;       ///< and whether it has begun to leave it.
        bool raw = false;        ///< Not made by the HCA,
        bool unknown = false;    ///< and its headers are in vain.

        hca::Payload payload() const;
    };
    static std::uint64_t now_ns(const Engine& net) { return net.now() / 1000; }
    bool has_hca(std::uint32_t port) const {
        return port < hosts_.size() && hosts_[port].hca != nullptr;
    }
    void send(Engine& net, std::uint32_t port, Host& host, const hca::Transmit& transmit);
    void hear_becns(Engine& net, Host& host);
    void slow_down(Engine& net, std::uint32_t port, Host& host, const Packet& packet);
    void arm(Engine& net, std::uint32_t port, Host& host);
    std::uint32_t keep(std::uint32_t port, const hca::Transmit& transmit);
    std::uint32_t new_body(std::uint32_t port);

    std::vector<Host> hosts_;  ///< By port.
    std::vector<Body> bodies_;
    std::vector<std::uint32_t> free_;
    std::uint64_t unknown_ = 0;
};

}  // namespace softib::sim
