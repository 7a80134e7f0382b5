// SPDX-License-Identifier: BSD-2-Clause
#include "net/routers.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mix.h"
#include "core/router/address.h"
#include "core/topo/subnets.h"
#include "net/plant.h"

namespace softib::net {

Routers::Routers(const topo::Fabric& fabric, std::span<const Lid> lids, const Plant& plant,
                 std::uint8_t levels)
    : levels_(levels),
      subnet_of_(plant.port_count()),
      lid_of_(plant.port_count()),
      rail_of_(plant.port_count()) {
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (!plant.is_switch(i)) {
            subnet_of_[plant.port_of(i, 1)] = fabric.nodes[i].subnet;
            lid_of_[plant.port_of(i, 1)] = lids[i];
        }
    }
    for (const topo::Host& host : fabric.hosts) {
        rails_ = std::max(rails_, static_cast<std::uint32_t>(host.hcas.size()));
        for (std::size_t rail = 0; rail < host.hcas.size(); ++rail) {
            rail_of_[plant.port_of(host.hcas[rail].value, 1)] = static_cast<std::uint8_t>(rail);
        }
    }
    std::vector<std::pair<std::uint32_t, Place>> all;
    for (const auto& legs : topo::find_routers(fabric)) {
        const auto number = static_cast<std::uint32_t>(routers_.size());
        router::Router& router = routers_.emplace_back();
        legs_.emplace_back();
        for (const topo::NodeIndex node : legs) {
            const std::uint32_t port = plant.port_of(node.value, 1);
            const std::uint32_t leg =
                router.add_leg({router::subnet_prefix(fabric.node(node).subnet), lids[node.value]});
            legs_.back().push_back(port);
            all.emplace_back(port, Place{number, leg});
        }
    }
    std::ranges::sort(all, {}, [](const auto& each) { return each.first; });
    for (const auto& [port, place] : all) {
        ports_.push_back(port);
        places_.push_back(place);
    }
}

Routers::Place Routers::place_of(std::uint32_t port) const {
    const auto found = std::ranges::lower_bound(ports_, port);
    SOFTIB_CHECK(found != ports_.end() && *found == port);
    return places_[static_cast<std::size_t>(found - ports_.begin())];
}

std::expected<router::Onward, router::Refusal> Routers::forward(std::uint32_t in_port,
                                                                const router::Addressed& packet,
                                                                std::uint32_t& port) const {
    const Place place = place_of(in_port);
    auto onward = routers_[place.router].forward(place.leg, packet, levels_);
    if (onward) {
        port = legs_[place.router][onward->leg];
    }
    return onward;
}

Lid Routers::gateway(std::uint32_t from, std::uint32_t to) const {
    const auto sets = static_cast<std::uint32_t>(routers_.size()) / rails_;
    if (sets == 0) {
        return kLidUnassigned;
    }
    const std::uint64_t drawn = mix(std::uint64_t{from} << 32 | to) % sets;
    const std::size_t router = static_cast<std::size_t>(drawn) * rails_ + rail_of_[to];
    for (const std::uint32_t leg : legs_[router]) {
        if (subnet_of_[leg] == subnet_of_[from]) {
            return lid_of_[leg];
        }
    }
    return kLidUnassigned;
}

Gid Routers::gid(std::uint32_t port) const {
    return router::alias_gid(subnet_of_[port], lid_of_[port]);
}

}  // namespace softib::net
