// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/flow_network.h"

#include <algorithm>
#include <span>

#include "net/plant/latency.h"

namespace softib::net::flow {

namespace {

/// The most hops of a way; a longer one goes round in circles. It is the limit of directed routes
/// (IBA vol. 1, 14.2.1.2).
constexpr std::uint32_t kHopsMax = 64;

/// Merges hops over the same link, from number `first` on, and sorts them by link.
void merge_hops(std::vector<Hop>& hops, std::size_t first) {
    const std::span<Hop> merged = std::span(hops).subspan(first);
    std::ranges::sort(merged, {}, &Hop::link);
    std::size_t kept = first;
    for (const Hop& hop : merged) {
        if (kept != first && hops[kept - 1].link == hop.link) {
            hops[kept - 1].share += hop.share;
        } else {
            hops[kept++] = hop;
        }
    }
    hops.resize(kept);
}

}  // namespace

FlowNetwork::FlowNetwork(const Routed& routed, const PlantConfig& config, bool adaptive,
                         const EndLimits& limits, std::uint32_t packet_bytes)
    : routed_(routed), adaptive_(adaptive && routed.has_choice()), packet_bytes_(packet_bytes) {
    add_links(routed.topology, config, limits);
    if (routed.subnets() > 1) {
        routers_.emplace(
            routed.topology, routed.lids,
            Routers::Numbering{link_count(), [&](std::uint32_t node) { return link_of(node, 1); }},
            kLevelsAcross);
        legs_.resize(link_count());
        for (std::uint32_t node = 0; node < routed.topology.nodes.size(); ++node) {
            if (routed.topology.nodes[node].kind == topo::NodeKind::kRouter) {
                legs_[link_of(node, 1)] = node;
            }
        }
    }
    for (const topo::Host& host : routed.topology.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            const topo::PortLink& cable = routed.topology.nodes[hca.value].ports[1];
            const bool cabled = cable.peer != topo::kNoNode;
            ends_.push_back({.link = link_of(hca.value, 1),
                             .link_in = cabled ? link_of(cable.peer.value, cable.peer_port.value)
                                               : link_of(hca.value, 1),
                             .node = hca.value});
        }
    }
}

void FlowNetwork::add_links(const topo::Fabric& fabric, const PlantConfig& config,
                            const EndLimits& limits) {
    std::vector<std::uint32_t> switch_of(fabric.nodes.size(), kNone);
    std::vector<std::uint32_t> counts(routed_.subnets());
    std::uint32_t links = 0;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        const bool is_switch = node.kind == topo::NodeKind::kSwitch;
        first_link_.push_back(is_switch ? links : links - 1);  // An HCA has no port 0.
        links += static_cast<std::uint32_t>(node.ports.size()) - (is_switch ? 0 : 1);
        if (is_switch) {
            switch_of[i] = static_cast<std::uint32_t>(switches_.size());
            switches_.push_back({i, counts[node.subnet.value]++});
        }
    }
    links_.resize(links);
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        for (std::size_t port = 1; port < fabric.nodes[i].ports.size(); ++port) {
            const topo::PortLink& cable = fabric.nodes[i].ports[port];
            if (cable.peer == topo::kNoNode) {
                continue;
            }
            const std::uint32_t to_switch = switch_of[cable.peer.value];
            const TimePs in_switch =
                config.switch_ps != 0 ? config.switch_ps : switch_latency(cable.generation);
            const auto is_hca = [&](std::uint32_t at) {
                return fabric.nodes[at].kind == topo::NodeKind::kHca;
            };
            const std::uint32_t limit = is_hca(i)                  ? limits.out_block_ps
                                        : is_hca(cable.peer.value) ? limits.in_block_ps
                                                                   : 0;
            links_[link_of(i, static_cast<std::uint8_t>(port))] = {
                .capacity =
                    rate_of(std::max(link::ps_per_block(cable.generation, cable.width), limit)),
                .delay_ps =
                    config.cable_ps + (is_hca(cable.peer.value) ? config.hca_ps : in_switch),
                .to_switch = to_switch,
                .to_node = cable.peer.value};
        }
    }
}

std::optional<TimePs> FlowNetwork::find_way(std::uint32_t from, std::uint32_t to,
                                            std::vector<Hop>& hops) const {
    hops.clear();
    const End& source = ends_[from];
    const End& end = ends_[to];
    if (!apart(from, to)) {
        return follow(source.link, target_at(end.node), hops);
    }
    const auto crossing = routers_->crossing(source.link, end.link);
    if (!crossing) {
        return std::nullopt;
    }
    const auto before = follow(source.link, target_at(legs_[crossing->in]), hops);
    const auto behind = follow(crossing->out, target_at(end.node), hops);
    if (!before || !behind) {
        return std::nullopt;
    }
    return *before + *behind + time_for(work_of(packet_bytes_), links_[crossing->out].capacity);
}

/// Appends the way inside a subnet that begins with a link. Returns as find_way() does.
std::optional<TimePs> FlowNetwork::follow(std::uint32_t link, const Target& to,
                                          std::vector<Hop>& hops) const {
    const routing::Lfts& lfts = routed_.tables_in(to.subnet).lfts;
    const std::size_t before = hops.size();
    const std::uint32_t first = link;
    TimePs latency = 0;
    while (hops.size() - before < kHopsMax) {
        const LinkRecord& record = links_[link];
        if (record.capacity == 0) {
            break;
        }
        hops.push_back({.link = link, .share = kWhole});
        latency += record.delay_ps;
        if (record.to_switch == kNone) {
            if (record.to_node != to.node) {
                break;
            }
            if (adaptive_ && hops.size() - before > 2) {
                hops.resize(before);
                return spread(first, to, hops) ? std::optional(latency) : std::nullopt;
            }
            return latency;
        }
        const Switch& here = switches_[record.to_switch];
        const std::uint8_t port = lfts.at(here.number, to.lid);
        if (port == 0 || port >= routed_.topology.nodes[here.node].ports.size()) {
            break;
        }
        link = link_of(here.node, port);
    }
    return std::nullopt;
}

/// Appends the branches of an adaptive way, found hop by hop from the first switch on. Returns
/// false if some of them do not end where they should.
bool FlowNetwork::spread(std::uint32_t link, const Target& to, std::vector<Hop>& hops) const {
    const std::size_t before_all = hops.size();
    hops.push_back({.link = link, .share = kWhole});
    std::vector<Arrived> here{{.sw = links_[link].to_switch, .share = kWhole}};
    std::uint32_t delivered = 0;
    for (std::uint32_t round = 0; round < kHopsMax && !here.empty(); ++round) {
        const std::size_t before = hops.size();
        for (const Arrived& arrived : here) {
            split(arrived, to, hops);
        }
        here.clear();
        for (const Hop& hop : std::span(hops).subspan(before)) {
            const LinkRecord& record = links_[hop.link];
            if (record.to_switch != kNone) {
                here.push_back({.sw = record.to_switch, .share = hop.share});
            } else if (record.to_node == to.node) {
                delivered += hop.share;
            }
        }
        std::ranges::sort(here, {}, &Arrived::sw);
        std::size_t kept = 0;
        for (const Arrived& arrived : here) {
            if (kept != 0 && here[kept - 1].sw == arrived.sw) {
                here[kept - 1].share += arrived.share;
            } else {
                here[kept++] = arrived;
            }
        }
        here.resize(kept);
    }
    merge_hops(hops, before_all);
    return delivered == kWhole;
}

/// Appends the hops by which a switch sends on what has come to it: in equal shares by all ports of
/// its group; without a group, by its table.
void FlowNetwork::split(const Arrived& arrived, const Target& to, std::vector<Hop>& hops) const {
    const routing::Tables& tables = routed_.tables_in(to.subnet);
    const routing::Graph& graph = routed_.graph_in(to.subnet);
    const auto [node, number] = switches_[arrived.sw];
    std::span<const std::uint8_t> ports;
    if (!tables.groups.empty()) {
        const std::uint32_t home = graph.targets()[graph.target_of(to.lid)].at;
        ports = tables.groups.ports(number, tables.groups.of(number, home));
    }
    if (ports.empty()) {
        const std::uint8_t port = tables.lfts.at(number, to.lid);
        if (port != 0 && port < routed_.topology.nodes[node].ports.size()) {
            hops.push_back({.link = link_of(node, port), .share = arrived.share});
        }
        return;
    }
    const auto count = static_cast<std::uint32_t>(ports.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t share = arrived.share / count + (i < arrived.share % count ? 1 : 0);
        if (share != 0) {
            hops.push_back({.link = link_of(node, ports[i]), .share = share});
        }
    }
}

}  // namespace softib::net::flow
