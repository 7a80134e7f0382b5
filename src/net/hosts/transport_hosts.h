// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// HCAs with the transport of core/hca at the ends of a network. An HCA hands over one packet of
// a lane at a time, when the one before has begun to leave; all else waits in its queue pairs.
// Payload is copied when it leaves the sender's memory, and placed when it arrives. Of memory
// without bytes only the length travels.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/hca/hca.h"
#include "core/link/injection.h"
#include "net/engine/network.h"

namespace softib::net {

class TransportHosts {
  public:
    /// What the owner of the hosts may add to them.
    class Hooks {
      public:
        virtual ~Hooks() = default;
        /// Returns the time of the transports: the network's, unless the owner has another.
        virtual std::uint64_t now_ns(const Engine& net) const { return net.now() / link::kPsPerNs; }
        /// Called when the HCA of a port must be told the time at `due_ns`. Returns whether the
        /// owner will do so; otherwise a timer of the network does.
        virtual bool tells_time(std::uint32_t /*port*/, std::uint64_t /*due_ns*/) { return false; }
        /// Called before the HCA of a port is given a packet.
        virtual void before_packet(std::uint32_t /*port*/, const wire::PacketHeaders&) {}
        /// Called after the HCA of a port was given a packet.
        virtual void after_packet(std::uint32_t /*port*/, const wire::PacketHeaders&) {}
    };

    TransportHosts() : TransportHosts(none()) {}
    /// `hooks` must outlive the hosts.
    explicit TransportHosts(Hooks& hooks) : hooks_(hooks) {}

    /// Puts an HCA at a port, at most one for each port. The HCA must outlive the network.
    void attach(std::uint32_t port, hca::Hca& hca);

    /// Sends what the HCA of a port has to send. Callers must call it after something was posted to
    /// the HCA, or changed in it.
    void pump(Engine& net, std::uint32_t port);

    /// Sends arbitrary bytes as a packet, as a port that breaks the rules could; the HCA of the
    /// port goes on sending. Returns the number of the packet's body.
    std::uint32_t send_bytes(Engine& net, std::uint32_t port, std::span<const std::uint8_t> bytes);

    /// Sends a whole packet that came from elsewhere, from a port without an HCA.
    void send_packet(Engine& net, std::uint32_t port, const wire::Packet& packet);

    /// Sets the congestion control that a manager wrote into a port: its queue pairs slow down by
    /// it when they hear that they cause congestion.
    void control_congestion(std::uint32_t port, const link::InjectionControl& control);

    /// Returns the congestion control of a port; nullptr if none was written.
    const link::InjectionControl* injection(std::uint32_t port) const {
        return port < hosts_.size() ? hosts_[port].control.get() : nullptr;
    }

    /// Returns the P_Key of a packet in the network.
    PKey pkey_of(const Packet& packet) const { return body(packet).headers.bth.p_key; }

    // Called by the network (ends.h), or by an owner that is its ends itself.
    static constexpr unsigned kHears = hears::kCopied | hears::kDropped;
    void deliver(Engine& net, std::uint32_t port, const Packet& packet);
    void sent(Engine& net, std::uint32_t port, const Packet& packet);
    void timer(Engine& net, std::uint32_t port, std::uint32_t what);
    void copied(Engine& net, const Packet& packet, std::uint32_t more);
    void dropped(Engine& net, const Packet& packet, TimePs at);

    /// What the hosts keep of a packet while it is in the network.
    struct Body {
        wire::PacketHeaders headers;
        /// kBodyBytes for the payload; made when first needed.
        std::unique_ptr<std::uint8_t[]> room;
        std::uint32_t length = 0;
        bool has_bytes = false;  ///< `room` has the payload; otherwise only its length is known.
        bool left = false;       ///< The packet has begun to leave its port.
        std::uint32_t port = 0;  ///< The port that sent it.
        Qpn source{};            ///< The queue pair that sent it.
        bool raw = false;        ///< No HCA made it: it is from send_bytes() or send_packet().
        bool unknown = false;    ///< No transport knows its headers.
        std::uint32_t uses = 0;  ///< Packets in the network that have this body.

        hca::Payload payload() const;
    };
    const Body& body(const Packet& packet) const { return bodies_[packet.body]; }
    /// Frees the memory of bodies if no packet has one.
    void give_back();
    /// Returns how many bodies are in use.
    std::size_t bodies() const { return bodies_.size() - free_.size(); }
    bool is_raw(const Packet& packet) const { return bodies_[packet.body].raw; }
    /// Returns how many packets no HCA took: those to the agents of switches, which are not here,
    /// and those of send_bytes() whose CRCs are right but whose headers no transport knows.
    std::uint64_t unknown() const { return unknown_; }

    /// Takes a packet from the network in place of deliver(): frees its body, and gives it to no
    /// HCA.
    void let_go(const Packet& packet) { let_go(packet.body); }
    /// Returns the HCA at a port; nullptr if none was attached.
    hca::Hca* hca_at(std::uint32_t port) const {
        return port < hosts_.size() ? hosts_[port].hca : nullptr;
    }

  private:
    struct Host {
        hca::Hca* hca = nullptr;
        std::uint16_t busy = 0;    ///< Bit n: a packet of the HCA waits to leave on lane n.
        TimePs armed_at = kNever;  ///< Time of the earliest timer that is set.
        std::unique_ptr<link::InjectionControl> control;  ///< nullptr: no queue pair slows down.
        /// By QPN: queue pairs that got a BECN.
        std::unordered_map<std::uint32_t, link::Injection> flows;
    };
    static constexpr std::uint32_t kBodyBytes = 4096;

    /// Returns hooks that add nothing; they have no state.
    static Hooks& none();
    static std::uint16_t free_levels(const Engine& net, std::uint32_t port, const Host& host);
    static void free_lane(Host& host, const Packet& packet) {
        host.busy = static_cast<std::uint16_t>(host.busy & ~(1U << packet.vl));
    }
    void send(Engine& net, std::uint32_t port, Host& host, const hca::Transmit& transmit);
    void give(Engine& net, std::uint32_t port, const Body& body);
    void hear_becns(Engine& net, Host& host);
    void slow_down(Engine& net, std::uint32_t port, Host& host, const Packet& packet);
    void arm(Engine& net, std::uint32_t port);
    /// Notes that a packet with this body is gone, and frees the body if it was the last.
    void let_go(std::uint32_t body);
    std::uint32_t new_body(std::uint32_t port);
    std::uint32_t keep(std::uint32_t port, const hca::Transmit& transmit);
    static std::span<std::uint8_t> room_for(Body& body, std::uint32_t length);

    Hooks& hooks_;
    std::vector<Host> hosts_;  ///< By port.
    std::deque<Body> bodies_;  ///< A deque, so that bodies stay where they are.
    std::vector<std::uint32_t> free_;
    std::uint64_t unknown_ = 0;
};
static_assert(Ends<TransportHosts>);

}  // namespace softib::net
