// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The routers of a fabric of several subnets, as an engine forwards by them, and what end ports
// need to know of them: the LID of the router for a destination in another subnet, which a subnet
// administration would tell them.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/router/router.h"
#include "core/topo/fabric.h"
#include "net/event_queue.h"

namespace softib::net {

class Plant;

/// HopLmt of packets that leave their subnet, as an SA answers for such paths.
inline constexpr std::uint8_t kHopLimit = 255;
/// What a GRH adds to each of them.
inline constexpr std::uint16_t kGrhBytes = 40;
/// Between subnets a packet has one service level on each side of a router.
inline constexpr std::uint8_t kLevelsAcross = 2;

class Routers {
  public:
    /// How the ports of adapters and routers are numbered: by their node.
    struct Numbering {
        std::uint32_t port_count = 0;
        std::function<std::uint32_t(std::uint32_t node)> port_of;
    };
    /// With `levels` service levels that have a lane each.
    Routers(const topo::Fabric& fabric, std::span<const Lid> lids, const Numbering& numbering,
            std::uint8_t levels);
    /// With the numbers of a plant.
    Routers(const topo::Fabric& fabric, std::span<const Lid> lids, const Plant& plant,
            std::uint8_t levels);

    /// A router's port.
    struct Place {
        std::uint32_t router = 0;
        std::uint32_t leg = 0;
    };
    /// Ports of all routers, in ascending order.
    std::span<const std::uint32_t> ports() const { return ports_; }
    /// Where a packet goes that came to a router's port; `port` gets the one by which it leaves.
    std::expected<router::Onward, router::Refusal> forward(std::uint32_t in_port,
                                                           const router::Addressed& packet,
                                                           std::uint32_t& port) const;

    /// Of end ports.
    bool apart(std::uint32_t a, std::uint32_t b) const { return subnet_of_[a] != subnet_of_[b]; }
    /// Two ports of a router: the one that a packet is sent to, and the one that it leaves by.
    struct Crossing {
        std::uint32_t in = 0;
        std::uint32_t out = 0;
    };
    /// The router between two end ports in different subnets: always the same one for the same two
    /// ports, different ones for different ports. It depends on their LIDs alone, not on how ports
    /// are numbered. A pair keeps its router as long as that has a cable in both subnets; if not,
    /// it gets one that has. Returns std::nullopt if there is none.
    std::optional<Crossing> crossing(std::uint32_t from, std::uint32_t to) const;
    /// To which LID an end port sends what is for one in another subnet; kLidUnassigned: no router
    /// leads there.
    Lid gateway(std::uint32_t from, std::uint32_t to) const;
    Gid gid(std::uint32_t port) const;

  private:
    /// The routers between two subnets, for one of the ports of hosts.
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
    std::uint32_t rails_ = 1;  ///< Ports of a host; so many routers belong together.
    std::vector<router::Router> routers_;
    std::vector<std::vector<std::uint32_t>> legs_;  ///< By router, then by leg: its port.
    std::vector<std::uint32_t> ports_;
    std::vector<Choice> choices_;        ///< By choice_of().
    std::vector<Place> places_;          ///< By position in ports_.
    std::vector<SubnetId> subnet_of_;    ///< By port.
    std::vector<Lid> lid_of_;            ///< By port of an adapter or router.
    std::vector<std::uint8_t> rail_of_;  ///< By port of an adapter: its number on its host.
};

/// Reads what a packet's GRH says of its destination: only those at the ends know it.
class GidReader {
  public:
    virtual ~GidReader() = default;
    virtual Gid dgid_of(const struct Packet& packet) const = 0;
};

}  // namespace softib::net
