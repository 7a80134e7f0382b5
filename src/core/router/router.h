// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A router between subnets (IBA vol. 1, chapter 19): takes a packet whole at one of its ports,
// looks its destination GID up by prefix, and sends it on from another port with a new LRH. What
// the GRH says stays as it is, except that HopLmt is one less; ICRC leaves that field out, so it
// stays too.
//
// The routes of each subnet close no circle, but those of two together may: packets that come out
// of a router wait for room behind packets that go into one. So the service level tells how many
// routers a packet has passed. It is one more behind each, and the subnets give each level a lane.

#include <cstdint>
#include <expected>
#include <vector>

#include "core/base/ids.h"

namespace softib::router {

/// Why a packet goes no further.
enum class Refusal : std::uint8_t {
    kNoGrh,
    kLinkLocal,   ///< Its destination is a link-local GID: it was not to leave its subnet.
    kHopLimit,    ///< HopLmt is used up.
    kNoRoute,     ///< No port leads to this prefix.
    kNoHost,      ///< A port does, but the GID names no LID there.
    kSameSubnet,  ///< It would leave by the port that it came by.
    kLevels,      ///< It has passed more routers than there are service levels.
};

/// One of a router's ports.
struct Leg {
    std::uint64_t prefix = 0;  ///< Of the subnet that it is in.
    Lid lid;                   ///< Its own there.
};

/// What changes of a packet.
struct Onward {
    std::uint32_t leg = 0;  ///< It leaves by this one.
    Lid slid;
    Lid dlid;
    std::uint8_t sl = 0;
    std::uint8_t hop_lmt = 0;
    friend bool operator==(const Onward&, const Onward&) = default;
};

/// The part of a packet that decides.
struct Addressed {
    bool has_grh = true;
    Gid dgid{};
    std::uint8_t hop_lmt = 0;
    std::uint8_t sl = 0;  ///< Of the LRH that it came with.
};

class Router {
  public:
    /// Returns the number of the leg.
    std::uint32_t add_leg(const Leg& leg);
    /// A subnet that no leg is in is reached by way of another router, whose port in the subnet of
    /// `leg` has this LID.
    void add_route(std::uint64_t prefix, std::uint32_t leg, Lid next);

    const std::vector<Leg>& legs() const { return legs_; }
    /// What becomes of a packet that came in at a leg; `levels`: service levels that have a lane.
    std::expected<Onward, Refusal> forward(std::uint32_t in_leg, const Addressed& packet,
                                           std::uint8_t levels) const;

  private:
    struct Route {
        std::uint64_t prefix = 0;
        std::uint32_t leg = 0;
        Lid next;  ///< 0: the destination is in this leg's subnet.
    };

    std::vector<Leg> legs_;
    std::vector<Route> routes_;
};

}  // namespace softib::router
