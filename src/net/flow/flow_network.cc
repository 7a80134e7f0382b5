// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/flow_network.h"

#include <algorithm>
#include <span>

#include "net/latency.h"

namespace softib::net::flow {

namespace {

/// A way that is longer goes round in circles (the limit of directed routes, IBA vol. 1, 14.2.1.2).
constexpr std::uint32_t kHopsMax = 64;

/// Puts hops over the same link together; the result is in the order of links.
void merge_hops(std::vector<Hop>& hops) {
    std::ranges::sort(hops, {}, &Hop::link);
    std::size_t kept = 0;
    for (const Hop& hop : hops) {
        if (kept != 0 && hops[kept - 1].link == hop.link) {
            hops[kept - 1].share += hop.share;
        } else {
            hops[kept++] = hop;
        }
    }
    hops.resize(kept);
}

}  // namespace

FlowNetwork::FlowNetwork(const Routed& routed, const PlantConfig& config, bool adaptive,
                         const EndLimits& limits)
    : routed_(routed), adaptive_(adaptive && !routed.tables.groups.empty()) {
    add_links(routed.topology, config, limits);
    for (const topo::Host& host : routed.topology.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            const topo::PortLink& cable = routed.topology.nodes[hca.value].ports[1];
            const bool cabled = cable.peer != topo::kNoNode;
            ends_.push_back({.link = link_of(hca.value, 1),
                             .link_in = cabled ? link_of(cable.peer.value, cable.peer_port.value)
                                               : link_of(hca.value, 1),
                             .node = hca.value,
                             .lid = routed.lids[hca.value]});
        }
    }
}

void FlowNetwork::add_links(const topo::Fabric& fabric, const PlantConfig& config,
                            const EndLimits& limits) {
    std::vector<std::uint32_t> switch_of(fabric.nodes.size(), kNone);
    std::uint32_t links = 0;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        const bool is_switch = node.kind == topo::NodeKind::kSwitch;
        first_link_.push_back(is_switch ? links : links - 1);  // An adapter has no port 0.
        links += static_cast<std::uint32_t>(node.ports.size()) - (is_switch ? 0 : 1);
        if (is_switch) {
            switch_of[i] = static_cast<std::uint32_t>(switch_nodes_.size());
            switch_nodes_.push_back(i);
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
            const std::uint32_t limit = switch_of[i] == kNone ? limits.out_block_ps
                                        : to_switch == kNone  ? limits.in_block_ps
                                                              : 0;
            links_[link_of(i, static_cast<std::uint8_t>(port))] = {
                .capacity =
                    rate_of(std::max(link::ps_per_block(cable.generation, cable.width), limit)),
                .delay_ps = config.cable_ps + (to_switch == kNone ? config.hca_ps : in_switch),
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
    // Only the first subnet is modelled.
    if (routed_.topology.nodes[source.node].subnet != SubnetId{0} ||
        routed_.topology.nodes[end.node].subnet != SubnetId{0}) {
        return std::nullopt;
    }
    TimePs latency = 0;
    for (std::uint32_t link = source.link; hops.size() < kHopsMax;) {
        const LinkRecord& record = links_[link];
        if (record.capacity == 0) {
            break;
        }
        hops.push_back({.link = link, .share = kWhole});
        latency += record.delay_ps;
        if (record.to_switch == kNone) {
            const bool there = record.to_node == end.node &&
                               (!adaptive_ || hops.size() <= 2 || spread(source, end, hops));
            return there ? std::optional(latency) : std::nullopt;
        }
        const std::uint8_t port = routed_.tables.lfts.at(record.to_switch, end.lid);
        const std::uint32_t node = switch_nodes_[record.to_switch];
        if (port == 0 || port >= routed_.topology.nodes[node].ports.size()) {
            break;
        }
        link = link_of(node, port);
    }
    return std::nullopt;
}

/// The branches of an adaptive way, found hop by hop from the first switch on. False if some of
/// them do not end where they should.
bool FlowNetwork::spread(const End& from, const End& to, std::vector<Hop>& hops) const {
    hops.assign(1, {.link = from.link, .share = kWhole});
    std::vector<Arrived> here{{.sw = links_[from.link].to_switch, .share = kWhole}};
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
    merge_hops(hops);
    return delivered == kWhole;
}

/// Sends on what has come to a switch: by all ports of its group alike, else by its table.
void FlowNetwork::split(const Arrived& arrived, const End& to, std::vector<Hop>& hops) const {
    const routing::PortGroups& groups = routed_.tables.groups;
    const std::uint32_t target = routed_.graph.target_of(to.lid);
    const std::uint32_t home = routed_.graph.targets()[target].at;
    const std::uint32_t node = switch_nodes_[arrived.sw];
    const std::span<const std::uint8_t> ports =
        groups.ports(arrived.sw, groups.of(arrived.sw, home));
    if (ports.empty()) {
        const std::uint8_t port = routed_.tables.lfts.at(arrived.sw, to.lid);
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
