// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>

namespace softib::telemetry {

namespace {

std::optional<std::uint32_t> port_of(const Inventory& inventory, const Node& node,
                                     std::string_view number) {
    std::uint32_t wanted = 0;
    const char* const end = number.data() + number.size();
    const auto [rest, error] = std::from_chars(number.data(), end, wanted);
    if (error != std::errc{} || rest != end) {
        return std::nullopt;
    }
    for (std::uint32_t i = 0; i < node.port_count; ++i) {
        if (inventory.ports[node.port_first + i].number == wanted) {
            return node.port_first + i;
        }
    }
    return std::nullopt;
}

std::map<Place, std::uint32_t> by_place(const Inventory& inventory) {
    std::map<Place, std::uint32_t> places;
    for (std::uint32_t i = 0; i < inventory.ports.size(); ++i) {
        places.emplace(place_of(inventory, i), i);
    }
    return places;
}

void compare_nodes(const Inventory& expected, const Inventory& found,
                   std::vector<Difference>& differences) {
    const auto missing = [](const Inventory& of, const Inventory& in, Difference::Kind kind,
                            const char* text, std::vector<Difference>& out) {
        std::map<std::uint64_t, bool> known;
        for (const Node& node : in.nodes) {
            known[node.guid.value] = true;
        }
        for (const Node& node : of.nodes) {
            if (!known.contains(node.guid.value)) {
                out.push_back({kind, node.name,
                               fmt::format("{} ({}) {}", node.name, to_string(node.guid), text)});
            }
        }
    };
    missing(expected, found, Difference::kNodeGone, "is missing", differences);
    missing(found, expected, Difference::kNodeNew, "was not there before", differences);
}

void compare_cables(const Inventory& expected, const Inventory& found,
                    std::vector<Difference>& differences) {
    const auto now = by_place(found);
    const auto before = by_place(expected);
    for (const auto& [place, old_port] : before) {
        const std::uint32_t old_peer = expected.ports[old_port].peer;
        if (old_peer == kNoIndex || place_of(expected, old_peer) < place) {
            continue;  // Each cable is compared once.
        }
        const auto here = now.find(place);
        const bool cabled = here != now.end() && found.ports[here->second].peer != kNoIndex;
        const std::string name = expected.port_name(old_port);
        if (!cabled) {
            differences.push_back(
                {Difference::kCableGone, name,
                 fmt::format("no cable from {} to {}", name, expected.port_name(old_peer))});
        } else if (const std::uint32_t peer = found.ports[here->second].peer;
                   place_of(found, peer) != place_of(expected, old_peer)) {
            differences.push_back(
                {Difference::kCableMoved, name,
                 fmt::format("{} leads to {} instead of {}", name, found.port_name(peer),
                             expected.port_name(old_peer))});
        }
    }
    for (const auto& [place, port] : now) {
        const std::uint32_t peer = found.ports[port].peer;
        if (peer == kNoIndex || place_of(found, peer) < place) {
            continue;
        }
        const auto cabled = [&](const Place& at) {
            const auto old = before.find(at);
            return old != before.end() && expected.ports[old->second].peer != kNoIndex;
        };
        if (!cabled(place) && !cabled(place_of(found, peer))) {
            differences.push_back({Difference::kCableNew, found.port_name(port),
                                   fmt::format("a new cable from {} to {}", found.port_name(port),
                                               found.port_name(peer))});
        }
    }
}

}  // namespace

Place place_of(const Inventory& inventory, std::uint32_t port) {
    return {inventory.node_of(port).guid.value, inventory.ports[port].number};
}

std::string Inventory::port_name(std::uint32_t port) const {
    return fmt::format("{}:{}", node_of(port).name, ports[port].number);
}

std::string Inventory::peer_name(std::uint32_t port) const {
    return ports[port].peer == kNoIndex ? "-" : port_name(ports[port].peer);
}

std::optional<std::uint32_t> Inventory::find_port(std::string_view name) const {
    if (const std::size_t underline = name.rfind('_');
        underline == 16 && name.find_first_not_of("0123456789abcdef") == underline) {
        std::uint64_t guid = 0;
        std::from_chars(name.data(), name.data() + underline, guid, 16);
        for (const Node& node : nodes) {
            const bool own = node.guid.value == guid ||
                             (node.port_count != 0 && ports[node.port_first].guid.value == guid);
            if (own) {
                return port_of(*this, node, name.substr(underline + 1));
            }
        }
        return std::nullopt;
    }
    const std::size_t colon = name.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto node = std::ranges::find(nodes, name.substr(0, colon), &Node::name);
    return node == nodes.end() ? std::nullopt : port_of(*this, *node, name.substr(colon + 1));
}

std::optional<std::uint32_t> Inventory::find_node(Guid guid) const {
    const auto node = std::ranges::find(nodes, guid, &Node::guid);
    return node == nodes.end() ? std::nullopt
                               : std::optional(static_cast<std::uint32_t>(node - nodes.begin()));
}

std::string description_of(const Node& node) {
    std::string text = node.name;
    const bool is_ours = node.kind == topo::NodeKind::kHca && text.find(' ') == std::string::npos;
    if (const std::size_t slash = text.find('/'); is_ours && slash != std::string::npos) {
        text[slash] = ' ';
    }
    return text;
}

void assign_tiers(Inventory& inventory) {
    std::deque<std::uint32_t> next;
    for (std::uint32_t i = 0; i < inventory.nodes.size(); ++i) {
        const bool is_switch = inventory.nodes[i].kind == topo::NodeKind::kSwitch;
        inventory.nodes[i].tier = is_switch ? kNoIndex : 0;
        if (!is_switch) {
            next.push_back(i);
        }
    }
    while (!next.empty()) {
        const Node& node = inventory.nodes[next.front()];
        next.pop_front();
        for (std::uint32_t i = 0; i < node.port_count; ++i) {
            const std::uint32_t peer = inventory.ports[node.port_first + i].peer;
            if (peer == kNoIndex) {
                continue;
            }
            Node& other = inventory.nodes[inventory.ports[peer].node];
            if (other.tier == kNoIndex) {
                other.tier = node.tier + 1;
                next.push_back(inventory.ports[peer].node);
            }
        }
    }
    for (Node& node : inventory.nodes) {
        node.tier = node.tier == kNoIndex ? 1 : node.tier;  // No HCA can be reached from it.
    }
}

std::vector<Difference> compare(const Inventory& expected, const Inventory& found) {
    std::vector<Difference> differences;
    compare_nodes(expected, found, differences);
    compare_cables(expected, found, differences);
    return differences;
}

Inventory from_graph(const topo::Fabric& fabric) {
    Inventory inventory;
    inventory.fabric = fabric.name;
    std::vector<std::map<std::uint8_t, std::uint32_t>> index(fabric.nodes.size());
    for (const topo::Node& node : fabric.nodes) {
        const auto number = static_cast<std::uint32_t>(inventory.nodes.size());
        inventory.nodes.push_back({.guid = node.node_guid,
                                   .system_guid = node.system_image_guid,
                                   .name = node.name,
                                   .kind = node.kind,
                                   .lid = node.lid,
                                   .tier = 0,
                                   .port_first = static_cast<std::uint32_t>(inventory.ports.size()),
                                   .port_count = 0});
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            const topo::PortLink& link = node.ports[port];
            if (link.peer == topo::kNoNode) {
                continue;
            }
            const topo::LinkSpeed speed = topo::link_speed(link.generation, link.width);
            const auto at = static_cast<std::uint8_t>(port);
            index[number][at] = static_cast<std::uint32_t>(inventory.ports.size());
            inventory.ports.push_back({.node = number,
                                       .number = at,
                                       .lanes = static_cast<std::uint8_t>(topo::lanes(link.width)),
                                       .guid = topo::port_guid(node, PortNum{at}),
                                       .peer = kNoIndex,
                                       .nominal_mbps = speed.mbps,
                                       .active_mbps = speed.mbps,
                                       .speed = speed.name});
            ++inventory.nodes.back().port_count;
        }
    }
    for (Port& port : inventory.ports) {
        const topo::PortLink& link = fabric.nodes[port.node].ports[port.number];
        const auto& others = index[link.peer.value];
        if (const auto peer = others.find(link.peer_port.value); peer != others.end()) {
            port.peer = peer->second;
        }
    }
    assign_tiers(inventory);
    return inventory;
}

topo::Fabric to_graph(const Inventory& inventory) {
    topo::Fabric fabric;
    fabric.name = inventory.fabric;
    for (const Node& node : inventory.nodes) {
        topo::Node out;
        out.kind = node.kind;
        out.name = node.name;
        out.node_guid = node.guid;
        out.system_image_guid = node.system_guid;
        out.description = description_of(node);
        out.lid = node.lid;
        std::size_t last = 1;
        for (std::uint32_t i = node.port_first; i < node.port_first + node.port_count; ++i) {
            last = std::max<std::size_t>(last, inventory.ports[i].number);
        }
        out.ports.resize(last + 1);
        for (std::uint32_t i = node.port_first; i < node.port_first + node.port_count; ++i) {
            const Port& port = inventory.ports[i];
            if (node.kind != topo::NodeKind::kSwitch) {
                out.port_guid = port.guid;
            }
            if (port.peer == kNoIndex) {
                continue;
            }
            const auto width = std::ranges::find(topo::kWidths, port.lanes, topo::lanes);
            out.ports[port.number] = {
                .peer = topo::NodeIndex{inventory.ports[port.peer].node},
                .peer_port = PortNum{inventory.ports[port.peer].number},
                .generation = topo::parse_generation(port.speed).value_or(topo::Generation::kNdr),
                .width = width == topo::kWidths.end() ? topo::Width::k4x : *width};
        }
        fabric.nodes.push_back(std::move(out));
    }
    return fabric;
}

}  // namespace softib::telemetry
