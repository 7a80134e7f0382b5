// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Watchers of packets: captures get copies of them, and the daemon is told of packets that were
// refused for their keys and of bad cables, for the traps of the ports that saw them.

#include <cstdint>
#include <span>
#include <vector>

#include "core/hca/hca.h"
#include "net/hosts/transport_hosts.h"
#include "runtime/direct/process.h"

namespace softib::carrier {

class Watchers {
  public:
    explicit Watchers(live::Process& process) : process_(process) {}

    /// Where a port of the network stands in the arena.
    struct Place {
        bool is_switch = false;
        std::uint32_t index = UINT32_MAX;  ///< Into the arena's switch ports or HCAs.
    };
    void set_places(std::vector<Place> places) { places_ = std::move(places); }

    void show(std::uint32_t port, const net::Packet& packet, const net::TransportHosts::Body& body);
    /// Bit n of `taps`: capture n gets it.
    void put(std::uint32_t taps, std::span<const std::uint8_t> bytes);
    /// By a switch.
    void tell_refused(std::uint32_t port, bool inbound, const wire::PacketHeaders& headers);
    /// The cable at a port is as bad as this trap says.
    void tell_link(std::uint32_t port, std::uint16_t trap);
    /// An HCA has handled a packet, and may have counted it as one with a bad key.
    void look_for_violations(std::uint32_t index, const hca::Hca& hca,
                             const wire::PacketHeaders& headers);
    /// Ends the captures of processes that are gone.
    void forget_dead();

  private:
    void tell(live::request::Refused::Where where, std::uint32_t place, std::uint32_t key,
              const wire::PacketHeaders& headers);

    live::Process& process_;
    std::vector<Place> places_;
    struct Violations {
        std::uint64_t pkeys = 0;
        std::uint64_t qkeys = 0;
    };
    std::vector<Violations> seen_;     ///< By HCA.
    std::vector<std::uint8_t> bytes_;  ///< The packet that is being shown.
};

}  // namespace softib::carrier
