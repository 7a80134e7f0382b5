// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/partition.h"

#include <algorithm>
#include <map>

#include "core/base/check.h"
#include "net/sim/routes.h"

namespace softib::net {

namespace {

/// Returns, for each node, the number of its port 0 as a Plant counts ports. Sets `links` to the
/// number of all ports.
std::vector<std::uint32_t> first_links(const topo::Fabric& fabric, std::uint32_t& links) {
    std::vector<std::uint32_t> first;
    links = 0;
    for (const topo::Node& node : fabric.nodes) {
        const bool is_switch = node.kind == topo::NodeKind::kSwitch;
        first.push_back(is_switch ? links : links - 1);
        links += static_cast<std::uint32_t>(node.ports.size()) - (is_switch ? 0 : 1);
    }
    return first;
}

/// Deals a class of switches out to the parts. Shares have equal weights, and each share is a run
/// of neighbours.
void share_out(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& members,
               std::uint32_t parts, std::vector<std::uint32_t>& part_of) {
    std::uint64_t all = 0;
    for (const auto& [node, weight] : members) {
        all += weight;
    }
    std::uint64_t before = 0;
    for (const auto& [node, weight] : members) {
        part_of[node] = static_cast<std::uint32_t>((before + weight / 2) * parts / all);
        before += weight;
    }
}

}  // namespace

std::vector<std::uint32_t> assign_parts(const topo::Fabric& fabric, std::uint32_t parts) {
    SOFTIB_CHECK(parts != 0);
    using Members = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
    Members with_adapters;
    std::map<std::uint32_t, Members> by_level;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        if (node.kind != topo::NodeKind::kSwitch) {
            continue;
        }
        const auto adapters =
            static_cast<std::uint64_t>(std::ranges::count_if(node.ports, [&](const auto& port) {
                return port.peer != topo::kNoNode &&
                       fabric.node(port.peer).kind != topo::NodeKind::kSwitch;
            }));
        if (adapters != 0) {
            with_adapters.emplace_back(i, adapters);
        } else {
            by_level[node.level].emplace_back(i, 1);
        }
    }
    std::vector<std::uint32_t> part_of(fabric.nodes.size(), 0);
    share_out(with_adapters, parts, part_of);
    for (const auto& [level, members] : by_level) {
        share_out(members, parts, part_of);
    }
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        if (node.kind != topo::NodeKind::kSwitch && node.ports.size() > 1 &&
            node.ports[1].peer != topo::kNoNode) {
            part_of[i] = part_of[node.ports[1].peer.value];
        }
    }
    return part_of;
}

Part::Part(const topo::Fabric& whole, std::span<const std::uint32_t> part_of, std::uint32_t part)
    : whole_nodes_(static_cast<std::uint32_t>(whole.nodes.size())) {
    std::vector<std::uint8_t> kept(whole.nodes.size(), 0);
    for (std::uint32_t i = 0; i < whole.nodes.size(); ++i) {
        if (part_of[i] != part) {
            continue;
        }
        kept[i] = 1;
        for (const topo::PortLink& port : whole.nodes[i].ports) {
            if (port.peer != topo::kNoNode) {
                kept[port.peer.value] = 1;
            }
        }
    }
    std::uint32_t links = 0;
    const std::vector<std::uint32_t> first = first_links(whole, links);
    here_.assign(whole.nodes.size(), kNone);
    link_here_.assign(links, kNone);
    for (std::uint32_t i = 0; i < whole.nodes.size(); ++i) {
        const bool is_switch = whole.nodes[i].kind == topo::NodeKind::kSwitch;
        if (is_switch) {
            switches_.push_back(kNone);
        }
        if (kept[i] == 0) {
            continue;
        }
        here_[i] = static_cast<std::uint32_t>(fabric_.nodes.size());
        if (is_switch && part_of[i] == part) {
            switches_.back() = here_[i];
        }
        fabric_.nodes.push_back(whole.nodes[i]);
        first_link_.push_back(first[i]);
        part_.push_back(part_of[i]);
        ghost_.push_back(part_of[i] != part);
    }
    for (std::uint32_t i = 0; i < fabric_.nodes.size(); ++i) {
        for (topo::PortLink& port : fabric_.nodes[i].ports) {
            if (port.peer == topo::kNoNode) {
                continue;
            }
            const std::uint32_t peer = here_[port.peer.value];
            // A ghost has only its cables to this part.
            const bool gone = peer == kNone || (ghost_[i] && ghost_[peer]);
            port.peer = gone ? topo::kNoNode : topo::NodeIndex{peer};
        }
    }
}

PlantConfig Part::config(const PlantConfig& of_whole) const {
    PlantConfig config = of_whole;
    if (config.lid_max == 0) {
        config.lid_max = static_cast<std::uint16_t>(whole_nodes_);
    }
    return config;
}

void Part::prepare(Engine& engine) {
    for (std::uint32_t node = 0; node < fabric_.nodes.size(); ++node) {
        const bool is_switch = engine.plant().is_switch(node);
        const auto ports = static_cast<std::uint8_t>(fabric_.nodes[node].ports.size());
        for (std::uint8_t number = is_switch ? 0 : 1; number < ports; ++number) {
            const std::uint32_t link = engine.plant().port_of(node, number);
            const std::uint32_t name = first_link_[node] + number;
            engine.plant().name_link(link, name);
            link_here_[name] = link;
            if (!engine.plant().connected(link) || number == 0) {
                continue;
            }
            const std::uint32_t other = engine.plant().node_of(engine.plant().peer(link));
            if (!ghost_[node] && ghost_[other]) {
                engine.cut(link, part_[other]);
                lookahead_ = std::min(lookahead_, engine.plant().cable(link));
            }
        }
    }
}

void Part::fail(Engine& engine, const Hop& what) const {
    const std::uint32_t node = here_[what.node];
    if (node == kNone) {
        return;
    }
    if (what.port == 0) {
        engine.ports().set_node(node, false);
    } else if (const std::uint32_t port = engine.plant().port_of(node, what.port);
               engine.plant().connected(port)) {
        engine.ports().set_link(port, false);
    }
}

void Part::write_routes(Plant& plant, const routing::Graph& graph,
                        const routing::Tables& tables) const {
    for (std::uint32_t node = 0; node < fabric_.nodes.size(); ++node) {
        if (!plant.is_switch(node) && !tables.sl_to_vl.empty()) {
            plant.set_lanes(node, 0, 1, tables.sl_to_vl.host_row());
        }
    }
    for (std::uint32_t sw = 0; sw < switches_.size(); ++sw) {
        if (switches_[sw] != kNone) {
            write_switch(plant, switches_[sw], graph, tables, sw);
        }
    }
}

void Part::write_adaptive_routes(Plant& plant, const routing::Graph& graph,
                                 const routing::Tables& tables) const {
    for (std::uint32_t sw = 0; sw < switches_.size(); ++sw) {
        if (switches_[sw] != kNone) {
            write_adaptive_switch(plant, switches_[sw], graph, tables, sw);
        }
    }
}

}  // namespace softib::net
