// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A router between subnets (IBA vol. 1, chapter 19). It receives a whole packet at one of its
// ports, looks up the prefix of the destination GID, and sends the packet on from another port with
// a new LRH. The GRH stays as it is, except that HopLmt is one less; the ICRC does not cover
// HopLmt, so the ICRC stays as well.
//
// The routes of each subnet have no credit loop, but those of two subnets together may have one:
// packets that come out of a router wait behind packets that go into one. So each router adds one
// to the service level, which thus tells how many routers a packet has passed, and the subnets map
// each service level to a lane of its own.

#include <cstdint>
#include <expected>
#include <vector>

#include "core/base/ids.h"

namespace softib::router {

/// Why a router drops a packet.
enum class Refusal : std::uint8_t {
    kNoGrh,
    kLinkLocal,   ///< Its destination is a link-local GID, which means: in the sender's subnet.
    kHopLimit,    ///< HopLmt is used up.
    kNoRoute,     ///< No port leads to the prefix of its destination GID.
    kNoHost,      ///< A port leads to the prefix, but the GID has no LID in it.
    kSameSubnet,  ///< It would leave by the port that it came by.
    kLevels,      ///< No service level is left: it has passed too many routers.
};

/// One of a router's ports.
struct Leg {
    std::uint64_t prefix = 0;  ///< The prefix of the subnet that the port is in.
    Lid lid;                   ///< The LID of the port in that subnet.
};

/// The fields of a packet that the router changes, and the port that sends it on.
struct Onward {
    std::uint32_t leg = 0;  ///< The number of the leg by which the packet leaves.
    Lid slid;
    Lid dlid;
    std::uint8_t sl = 0;
    std::uint8_t hop_lmt = 0;
    friend bool operator==(const Onward&, const Onward&) = default;
};

/// The fields of a packet by which the router forwards it.
struct Addressed {
    bool has_grh = true;
    Gid dgid{};
    std::uint8_t hop_lmt = 0;
    std::uint8_t sl = 0;  ///< The service level in the LRH that it came with.
};

class Router {
  public:
    /// Adds a port, and a route to its subnet. Returns the number of the leg.
    std::uint32_t add_leg(const Leg& leg);
    /// Adds a route to a subnet that no leg is in. It goes by another router, whose port in the
    /// subnet of `leg` has the LID `next`.
    void add_route(std::uint64_t prefix, std::uint32_t leg, Lid next);

    const std::vector<Leg>& legs() const { return legs_; }
    /// Returns how a packet that came in at a leg goes on, or why it is dropped. `levels` is the
    /// number of service levels that have a lane of their own.
    std::expected<Onward, Refusal> forward(std::uint32_t in_leg, const Addressed& packet,
                                           std::uint8_t levels) const;

  private:
    struct Route {
        std::uint64_t prefix = 0;
        std::uint32_t leg = 0;
        Lid next;  ///< The LID of the next router; 0: the destination is in this leg's subnet.
    };

    std::vector<Leg> legs_;
    std::vector<Route> routes_;
};

}  // namespace softib::router
