// SPDX-License-Identifier: BSD-2-Clause
#include "core/router/router.h"

#include <algorithm>

#include "core/router/address.h"

namespace softib::router {

namespace {

/// Returns whether the prefix is in fe80::/10.
bool is_link_local(std::uint64_t prefix) {
    return prefix >> 54 == kSubnetPrefixDefault >> 54;
}

}  // namespace

std::uint32_t Router::add_leg(const Leg& leg) {
    const auto number = static_cast<std::uint32_t>(legs_.size());
    legs_.push_back(leg);
    routes_.push_back({leg.prefix, number, kLidUnassigned});
    return number;
}

void Router::add_route(std::uint64_t prefix, std::uint32_t leg, Lid next) {
    routes_.push_back({prefix, leg, next});
}

std::expected<Onward, Refusal> Router::forward(std::uint32_t in_leg, const Addressed& packet,
                                               std::uint8_t levels) const {
    if (!packet.has_grh) {
        return std::unexpected(Refusal::kNoGrh);
    }
    const std::uint64_t prefix = packet.dgid.subnet_prefix();
    if (is_link_local(prefix)) {
        return std::unexpected(Refusal::kLinkLocal);
    }
    // A router drops a packet that would arrive with a HopLmt of 0 (IBA vol. 1, 8.3).
    if (packet.hop_lmt <= 1) {
        return std::unexpected(Refusal::kHopLimit);
    }
    const auto route = std::ranges::find(routes_, prefix, &Route::prefix);
    if (route == routes_.end()) {
        return std::unexpected(Refusal::kNoRoute);
    }
    if (route->leg == in_leg) {
        return std::unexpected(Refusal::kSameSubnet);
    }
    Lid dlid = route->next;
    if (dlid == kLidUnassigned) {
        const auto lid = alias_lid(packet.dgid);
        if (!lid) {
            return std::unexpected(Refusal::kNoHost);
        }
        dlid = *lid;
    }
    if (packet.sl + 1 >= levels) {
        return std::unexpected(Refusal::kLevels);
    }
    return Onward{.leg = route->leg,
                  .slid = legs_[route->leg].lid,
                  .dlid = dlid,
                  .sl = static_cast<std::uint8_t>(packet.sl + 1),
                  .hop_lmt = static_cast<std::uint8_t>(packet.hop_lmt - 1)};
}

}  // namespace softib::router
