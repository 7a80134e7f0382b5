// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies packets to captures, and reports packets with bad keys and bad cables to the daemon, which
// sends the traps of the ports that saw them.

#include <cstdint>
#include <span>
#include <vector>

#include "core/hca/hca.h"
#include "net/hosts/transport_hosts.h"
#include "runtime/direct/attachment.h"

namespace softib::carrier {

class Watchers {
  public:
    explicit Watchers(const direct::Attachment& self) : self_(self) {}

    /// Where a port of the network is in the arena.
    struct Place {
        bool is_switch = false;
        std::uint32_t index = UINT32_MAX;  ///< Index in the arena's switch ports or HCAs.
    };
    /// Sets the places of all ports of the network.
    void set_places(std::vector<Place> places) { places_ = std::move(places); }

    /// Copies a packet to the captures at a port.
    void show(std::uint32_t port, const net::Packet& packet, const net::TransportHosts::Body& body);
    /// Copies a packet to capture n for each bit n of `taps`.
    void put(std::uint32_t taps, std::span<const std::uint8_t> bytes);
    /// Reports a packet that a switch port has refused for its P_Key.
    void tell_refused(std::uint32_t port, bool inbound, const wire::PacketHeaders& headers);
    /// Reports that the cable at a port is bad, as the trap says.
    void tell_link(std::uint32_t port, std::uint16_t trap);
    /// Reports a packet with a bad key. Must be called after an HCA has handled a packet, which it
    /// may have counted as one.
    void look_for_violations(std::uint32_t index, const hca::Hca& hca,
                             const wire::PacketHeaders& headers);
    /// Ends the captures of processes that are gone.
    void forget_dead();

  private:
    void tell(shm::request::Refused::Where where, std::uint32_t place, std::uint32_t key,
              const wire::PacketHeaders& headers);

    const direct::Attachment& self_;
    std::vector<Place> places_;
    struct Violations {
        std::uint64_t pkeys = 0;
        std::uint64_t qkeys = 0;
    };
    std::vector<Violations> seen_;     ///< Violations that were reported, by HCA.
    std::vector<std::uint8_t> bytes_;  ///< The packet that is being shown.
};

}  // namespace softib::carrier
