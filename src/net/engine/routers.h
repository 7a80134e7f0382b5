// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The routers of a fabric of several subnets, as an engine forwards by them, and what end ports
// need to know of them: the LID of the router for a destination in another subnet, which the SA
// would tell them.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/router/router.h"
#include "core/topo/graph.h"
#include "net/plant/units.h"

namespace softib::net {

class Plant;

/// HopLmt of packets that leave their subnet, as an SA answers for such paths.
inline constexpr std::uint8_t kHopLimit = 255;
/// Bytes that a GRH adds to a packet.
inline constexpr std::uint16_t kGrhBytes = 40;
/// Service levels that a packet between two subnets uses: one on each side of the router.
inline constexpr std::uint8_t kLevelsAcross = 2;

class Routers {
  public:
    /// How the ports of HCAs and routers are numbered.
    struct Numbering {
        std::uint32_t port_count = 0;
        std::function<std::uint32_t(std::uint32_t node)> port_of;
    };
    /// `levels`: service levels that have a lane of their own.
    Routers(const topo::Fabric& fabric, std::span<const Lid> lids, const Numbering& numbering,
            std::uint8_t levels);
    /// Numbers ports as a plant does.
    Routers(const topo::Fabric& fabric, std::span<const Lid> lids, const Plant& plant,
            std::uint8_t levels);

    /// A router's port: the number of the router, and that of the port in it.
    struct Place {
        std::uint32_t router = 0;
        std::uint32_t leg = 0;
    };
    /// Returns the ports of all routers, in ascending order.
    std::span<const std::uint32_t> ports() const { return ports_; }
    /// Returns where a packet that came to a router's port goes, and sets `port` to the port by
    /// which it leaves; or returns why the router refuses it.
    std::expected<router::Onward, router::Refusal> forward(std::uint32_t in_port,
                                                           const router::Addressed& packet,
                                                           std::uint32_t& port) const;

    /// Returns whether two end ports are in different subnets.
    bool apart(std::uint32_t a, std::uint32_t b) const { return subnet_of_[a] != subnet_of_[b]; }
    /// Two ports of a router: the one that a packet is sent to, and the one that it leaves by.
    struct Crossing {
        std::uint32_t in = 0;
        std::uint32_t out = 0;
    };
    /// Returns the router between two end ports in different subnets; std::nullopt if there is
    /// none. A sender and a receiver always get the same router, and pairs are spread over all
    /// routers. The choice depends on the LIDs alone, not on how ports are numbered. A pair keeps
    /// its router as long as the router has a cable in both subnets, and otherwise gets one that
    /// has.
    std::optional<Crossing> crossing(std::uint32_t from, std::uint32_t to) const;
    /// Returns the LID to which an end port sends packets for a port in another subnet;
    /// kLidUnassigned if no router leads there.
    Lid gateway(std::uint32_t from, std::uint32_t to) const;
    Gid gid(std::uint32_t port) const;

  private:
    /// The routers between two subnets for one rail: for end ports with the same number on their
    /// hosts.
    struct Choice {
        std::vector<Crossing> all;
        std::vector<bool> works;  ///< By position in `all`: both ports have a cable.
        std::vector<Crossing> working;
    };

    Place place_of(std::uint32_t port) const;
    void add_routers(const topo::Fabric& fabric, std::span<const Lid> lids,
                     const Numbering& numbering);
    void add_choices(const std::vector<bool>& cabled);
    std::size_t choice_of(SubnetId from, SubnetId to, std::uint32_t rail) const {
        return (std::size_t{from.value} * subnets_ + to.value) * rails_ + rail;
    }

    std::uint8_t levels_;
    std::uint32_t subnets_;
    /// Ports of a host. Router n serves the ports with number n % rails_.
    std::uint32_t rails_ = 1;
    std::vector<router::Router> routers_;
    std::vector<std::vector<std::uint32_t>> legs_;  ///< By router, then by leg: its port.
    std::vector<std::uint32_t> ports_;
    std::vector<Choice> choices_;        ///< By choice_of().
    std::vector<Place> places_;          ///< By position in ports_.
    std::vector<SubnetId> subnet_of_;    ///< By port.
    std::vector<Lid> lid_of_;            ///< By port of an HCA or router.
    std::vector<std::uint8_t> rail_of_;  ///< By port of an HCA: its number on its host.
};

/// Reads the DGID in a packet's GRH: the engine's own Packet has none.
class GidReader {
  public:
    virtual ~GidReader() = default;
    virtual Gid dgid_of(const struct Packet& packet) const = 0;
};

}  // namespace softib::net
