// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/routers.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mix.h"
#include "core/router/address.h"
#include "core/topo/subnets.h"
#include "net/plant/plant.h"

namespace softib::net {

Routers::Routers(const topo::Fabric& fabric, std::span<const Lid> lids, const Plant& plant,
                 std::uint8_t levels)
    : Routers(fabric, lids,
              {plant.port_count(), [&](std::uint32_t node) { return plant.port_of(node, 1); }},
              levels) {}

Routers::Routers(const topo::Fabric& fabric, std::span<const Lid> lids, const Numbering& numbering,
                 std::uint8_t levels)
    : levels_(levels),
      subnets_(topo::subnet_count(fabric)),
      subnet_of_(numbering.port_count),
      lid_of_(numbering.port_count),
      rail_of_(numbering.port_count) {
    std::vector<bool> cabled(numbering.port_count);
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        if (node.kind != topo::NodeKind::kSwitch) {
            const std::uint32_t port = numbering.port_of(i);
            subnet_of_[port] = node.subnet;
            lid_of_[port] = lids[i];
            cabled[port] = node.ports[1].peer != topo::kNoNode;
        }
    }
    for (const topo::Host& host : fabric.hosts) {
        rails_ = std::max(rails_, static_cast<std::uint32_t>(host.hcas.size()));
        for (std::size_t rail = 0; rail < host.hcas.size(); ++rail) {
            rail_of_[numbering.port_of(host.hcas[rail].value)] = static_cast<std::uint8_t>(rail);
        }
    }
    add_routers(fabric, lids, numbering);
    add_choices(cabled);
}

void Routers::add_routers(const topo::Fabric& fabric, std::span<const Lid> lids,
                          const Numbering& numbering) {
    std::vector<std::pair<std::uint32_t, Place>> all;
    for (const auto& legs : topo::find_routers(fabric)) {
        const auto number = static_cast<std::uint32_t>(routers_.size());
        router::Router& router = routers_.emplace_back();
        legs_.emplace_back();
        for (const topo::NodeIndex node : legs) {
            const std::uint32_t port = numbering.port_of(node.value);
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

void Routers::add_choices(const std::vector<bool>& cabled) {
    choices_.resize(std::size_t{subnets_} * subnets_ * rails_);
    const std::size_t used = routers_.size() / rails_ * rails_;
    for (std::size_t router = 0; router < used; ++router) {
        for (const std::uint32_t in : legs_[router]) {
            for (const std::uint32_t out : legs_[router]) {
                if (in == out) {
                    continue;
                }
                Choice& choice = choices_[choice_of(subnet_of_[in], subnet_of_[out],
                                                    static_cast<std::uint32_t>(router % rails_))];
                choice.all.push_back({in, out});
                choice.works.push_back(cabled[in] && cabled[out]);
                if (choice.works.back()) {
                    choice.working.push_back({in, out});
                }
            }
        }
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

std::optional<Routers::Crossing> Routers::crossing(std::uint32_t from, std::uint32_t to) const {
    const Choice& choice = choices_[choice_of(subnet_of_[from], subnet_of_[to], rail_of_[to])];
    if (choice.working.empty()) {
        return std::nullopt;
    }
    const std::uint64_t drawn =
        mix(std::uint64_t{subnet_of_[from].value} << 48 | std::uint64_t{lid_of_[from].value} << 32 |
            std::uint64_t{subnet_of_[to].value} << 16 | lid_of_[to].value);
    const auto first = static_cast<std::size_t>(drawn % choice.all.size());
    return choice.works[first]
               ? choice.all[first]
               : choice.working[static_cast<std::size_t>(mix(drawn) % choice.working.size())];
}

Lid Routers::gateway(std::uint32_t from, std::uint32_t to) const {
    const auto found = crossing(from, to);
    return found ? lid_of_[found->in] : kLidUnassigned;
}

Gid Routers::gid(std::uint32_t port) const {
    return router::alias_gid(subnet_of_[port], lid_of_[port]);
}

}  // namespace softib::net
