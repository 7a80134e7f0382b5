// SPDX-License-Identifier: BSD-2-Clause
// Several subnets of one shape. The shape's generator makes each subnet with one additional host
// for each router, spread over the switches; these hosts then become the ports of the routers.
#include "core/topo/subnets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/spec.h"
#include "core/topo/trunk.h"

namespace softib::topo {

namespace {

// The first GUID of routers: of node kind kRouter (builder.cc), above the GUIDs of trunks.
constexpr std::uint64_t kRouterGuids = 0x0250F71B38000000;

std::expected<void, Error> check_subnets(const Spec& spec) {
    if (spec.subnets > kSubnetsMax) {
        return refuse(
            fmt::format("subnets {}: a router joins {} at most", spec.subnets, kSubnetsMax));
    }
    if (spec.hosts < spec.subnets) {
        return refuse(
            fmt::format("{} hosts do not fill {} subnets: ask for more hosts or fewer "
                        "subnets",
                        spec.hosts, spec.subnets));
    }
    if (spec.routers == 0) {
        return refuse("nothing joins the subnets: ask for routers = 1 or more");
    }
    return {};
}

/// Returns whether the host at this place of a subnet becomes a port of a router.
bool is_router(std::uint32_t place, std::uint32_t places, std::uint32_t routers) {
    const auto before = [&](std::uint64_t count) { return count * routers / places; };
    return before(place + std::uint64_t{1}) != before(place);
}

/// Turns some hosts of a subnet into ports of routers, and gives all nodes names and GUIDs that are
/// unique in the whole fabric. `first_host` is the number of the subnet's first host in it.
Fabric fit_in(Fabric part, const Spec& spec, std::uint32_t subnet, std::uint32_t first_host) {
    std::vector<Host> hosts;
    const auto places = static_cast<std::uint32_t>(part.hosts.size());
    std::uint32_t legs = 0;
    for (std::uint32_t place = 0; place < places; ++place) {
        Host& host = part.hosts[place];
        const bool router = is_router(place, places, spec.routers);
        if (!router) {
            host.name = fill_pattern(spec.host_pattern,
                                     first_host + static_cast<std::uint32_t>(hosts.size()));
        }
        for (std::size_t i = 0; i < host.hcas.size(); ++i) {
            Node& node = part.nodes[host.hcas[i].value];
            if (!router) {
                node.name = host.name + "/" + host.device_names[i];
                node.host = static_cast<std::uint32_t>(hosts.size());
                continue;
            }
            node.kind = NodeKind::kRouter;
            node.host = UINT32_MAX;
            node.name = fmt::format("router{}-s{}", legs, subnet);  // See router_name().
            node.node_guid = Guid{kRouterGuids + (std::uint64_t{legs} << 8)};
            ++legs;
        }
        if (!router) {
            hosts.push_back(std::move(host));
        }
    }
    part.hosts = std::move(hosts);
    set_site(part, subnet);
    for (Node& node : part.nodes) {
        node.subnet = SubnetId{static_cast<std::uint16_t>(subnet)};
        if (node.kind == NodeKind::kSwitch) {
            node.name = fmt::format("s{}-{}", subnet, node.name);
        } else if (node.kind == NodeKind::kRouter) {
            // The device has the GUID of its port in the first subnet.
            node.adapter = {Guid{node.node_guid.value - (std::uint64_t{subnet} << kSiteShift)},
                            PortNum{static_cast<std::uint8_t>(subnet + 1)},
                            static_cast<std::uint8_t>(spec.subnets)};
            node.system_image_guid = node.adapter.guid;
        }
    }
    return part;
}

void append(Fabric& fabric, Fabric part) {
    const auto nodes = static_cast<std::uint32_t>(fabric.nodes.size());
    const auto hosts = static_cast<std::uint32_t>(fabric.hosts.size());
    for (Node& node : part.nodes) {
        if (node.kind == NodeKind::kHca) {
            node.host += hosts;
        }
        for (PortLink& link : node.ports) {
            if (link.peer != kNoNode) {
                link.peer = NodeIndex{link.peer.value + nodes};
            }
        }
        fabric.nodes.push_back(std::move(node));
    }
    for (Host& host : part.hosts) {
        for (NodeIndex& hca : host.hcas) {
            hca = NodeIndex{hca.value + nodes};
        }
        fabric.hosts.push_back(std::move(host));
    }
}

}  // namespace

std::expected<Fabric, Error> generate_subnets(const Spec& spec) {
    if (auto checked = check_subnets(spec); !checked) {
        return std::unexpected(checked.error());
    }
    Fabric fabric;
    for (std::uint32_t subnet = 0; subnet < spec.subnets; ++subnet) {
        Spec one = spec;
        one.subnets = 1;
        one.routers = 0;
        one.hosts =
            spec.hosts / spec.subnets + (subnet < spec.hosts % spec.subnets ? 1 : 0) + spec.routers;
        auto part = generate(one);
        if (!part) {
            return std::unexpected(
                Error{fmt::format("in each of {} subnets with {} routers: {}", spec.subnets,
                                  spec.routers, part.error().message)});
        }
        if (subnet == 0) {
            fabric.name = part->name;
            fabric.shape = part->shape;
        }
        append(fabric, fit_in(*std::move(part), spec, subnet,
                              static_cast<std::uint32_t>(fabric.hosts.size())));
    }
    return fabric;
}

std::uint32_t subnet_count(const Fabric& fabric) {
    std::uint32_t count = 1;
    for (const Node& node : fabric.nodes) {
        count = std::max(count, node.subnet.value + 1U);
    }
    return count;
}

std::vector<Lid> number_lids(const Fabric& fabric) {
    std::vector<Lid> lids(fabric.nodes.size());
    std::vector<std::uint16_t> next(subnet_count(fabric), 1);
    for (const NodeKind kind : {NodeKind::kHca, NodeKind::kSwitch, NodeKind::kRouter}) {
        for (std::size_t i = 0; i < lids.size(); ++i) {
            if (fabric.nodes[i].kind == kind) {
                lids[i] = Lid{next[fabric.nodes[i].subnet.value]++};
            }
        }
    }
    return lids;
}

std::string router_name(const Node& leg) {
    const std::string ending = fmt::format("-s{}", leg.subnet.value);
    return leg.name.ends_with(ending) ? leg.name.substr(0, leg.name.size() - ending.size())
                                      : leg.name;
}

std::vector<std::vector<NodeIndex>> find_routers(const Fabric& fabric) {
    std::vector<std::vector<NodeIndex>> routers;
    std::map<Guid, std::size_t> known;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (node.kind == NodeKind::kRouter && node.adapter.guid != Guid{0}) {
            const auto [at, fresh] = known.emplace(node.adapter.guid, routers.size());
            if (fresh) {
                routers.emplace_back();
            }
            routers[at->second].push_back(NodeIndex{i});
        }
    }
    std::erase_if(routers, [](const std::vector<NodeIndex>& legs) { return legs.size() < 2; });
    return routers;
}

}  // namespace softib::topo
