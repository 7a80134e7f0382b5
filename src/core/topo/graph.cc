// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/topo/topology.h"

namespace softib::topo {

namespace {

std::string lower(const std::string& text) {
    std::string result = text;
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') {
            c = static_cast<char>(c - 'A' + 'a');
        }
    }
    return result;
}

std::unexpected<Error> broken(std::string message) {
    return std::unexpected(Error{std::move(message)});
}

std::expected<void, Error> validate_cables(const Fabric& fabric, const Node& node,
                                           NodeIndex index) {
    for (std::size_t port = 0; port < node.ports.size(); ++port) {
        const PortLink& link = node.ports[port];
        if (link.peer == kNoNode) {
            continue;
        }
        if (port == 0) {
            return broken(fmt::format("{}: port 0 has a cable; cable ports 1 and up", node.name));
        }
        if (link.peer.value >= fabric.nodes.size()) {
            return broken(fmt::format("{}: port {} leads to node {}, which does not exist",
                                      node.name, port, link.peer.value));
        }
        const Node& peer = fabric.node(link.peer);
        if (link.peer_port.value == 0 || link.peer_port.value >= peer.ports.size()) {
            return broken(fmt::format("{}: port {} leads to port {} of {}, which does not exist",
                                      node.name, port, link.peer_port.value, peer.name));
        }
        if (peer.subnet != node.subnet) {
            return broken(fmt::format(
                "{}: port {} leads to {}, which is in another subnet; only routers join subnets",
                node.name, port, peer.name));
        }
        const PortLink& back = peer.ports[link.peer_port.value];
        if (back.peer != index || back.peer_port.value != port ||
            back.generation != link.generation || back.width != link.width) {
            return broken(fmt::format(
                "{}: the cable at port {} is not recorded the same way at port {} of {}", node.name,
                port, link.peer_port.value, peer.name));
        }
    }
    return {};
}

std::expected<void, Error> validate_node(const Fabric& fabric, NodeIndex index) {
    const Node& node = fabric.node(index);
    if (node.ports.size() < 2) {
        return broken(fmt::format("{}: has no port that takes a cable", node.name));
    }
    // Port 255 would mean "no path" in a forwarding table (IBA vol. 1, 14.2.5.10).
    if (node.ports.size() > 255) {
        return broken(fmt::format("{}: has {} ports, a node has at most 254", node.name,
                                  node.ports.size() - 1));
    }
    if (node.kind != NodeKind::kSwitch && node.ports.size() != 2) {
        return broken(fmt::format("{}: an HCA has one port, this one has {}", node.name,
                                  node.ports.size() - 1));
    }
    if (node.kind == NodeKind::kHca) {
        if (node.host >= fabric.hosts.size()) {
            return broken(fmt::format("{}: belongs to no host", node.name));
        }
    }
    return validate_cables(fabric, node, index);
}

std::expected<void, Error> validate_hosts(const Fabric& fabric) {
    std::vector<std::string_view> names;
    std::vector<std::uint32_t> listed(fabric.nodes.size());
    names.reserve(fabric.hosts.size());
    for (std::size_t h = 0; h < fabric.hosts.size(); ++h) {
        const Host& host = fabric.hosts[h];
        names.emplace_back(host.name);
        if (host.hcas.size() != host.device_names.size()) {
            return broken(fmt::format("{}: has {} HCAs but {} device names", host.name,
                                      host.hcas.size(), host.device_names.size()));
        }
        for (const NodeIndex hca : host.hcas) {
            if (hca.value >= fabric.nodes.size() || fabric.node(hca).kind != NodeKind::kHca ||
                fabric.node(hca).host != h) {
                return broken(fmt::format("{}: lists node {}, which is no HCA of this host",
                                          host.name, hca.value));
            }
            ++listed[hca.value];
        }
    }
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (node.kind == NodeKind::kHca && listed[i] != 1) {
            return broken(fmt::format("{}: is not listed once at its host {}", node.name,
                                      fabric.hosts[node.host].name));
        }
    }
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
        return broken(fmt::format("{}: two hosts have this name; host names are unique", *twice));
    }
    return {};
}

/// Checks the nodes that are ports of one adapter. The netlist writers join them to one adapter.
std::expected<void, Error> validate_adapters(const Fabric& fabric) {
    std::vector<std::pair<std::pair<Guid, PortNum>, std::size_t>> ports;
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        const AdapterPort& adapter = fabric.nodes[i].adapter;
        if (adapter.port.value == 0 || adapter.port.value > adapter.ports) {
            return broken(fmt::format("{}: is port {} of an adapter that has {}",
                                      fabric.nodes[i].name, adapter.port.value, adapter.ports));
        }
        if (adapter.guid != Guid{0}) {
            ports.emplace_back(std::pair(adapter.guid, adapter.port), i);
        }
    }
    std::ranges::sort(ports);
    for (std::size_t i = 1; i < ports.size(); ++i) {
        if (ports[i - 1].first == ports[i].first) {
            return broken(fmt::format("{}: is the same port of the same adapter as {}",
                                      fabric.nodes[ports[i].second].name,
                                      fabric.nodes[ports[i - 1].second].name));
        }
    }
    return {};
}

std::expected<void, Error> validate_unique(const Fabric& fabric) {
    std::vector<std::string_view> names;
    std::vector<std::pair<Guid, std::size_t>> guids;
    names.reserve(fabric.nodes.size());
    guids.reserve(fabric.nodes.size() * 2);
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        const Node& node = fabric.nodes[i];
        names.emplace_back(node.name);
        guids.emplace_back(node.node_guid, i);
        // A port may have the GUID of its node, but not that of another one.
        if (const Guid port = port_guid(node, PortNum{1}); port != node.node_guid) {
            guids.emplace_back(port, i);
        }
    }
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
        return broken(fmt::format("{}: two nodes have this name; node names are unique", *twice));
    }
    std::ranges::sort(guids);
    for (std::size_t i = 0; i < guids.size(); ++i) {
        const Node& node = fabric.nodes[guids[i].second];
        if (guids[i].first == Guid{0}) {
            return broken(fmt::format("{}: GUID 0 is not valid", node.name));
        }
        if (i > 0 && guids[i - 1].first == guids[i].first) {
            return broken(fmt::format("{}: has the same GUID {} as {}", node.name,
                                      softib::to_string(guids[i].first),
                                      fabric.nodes[guids[i - 1].second].name));
        }
    }
    return {};
}

}  // namespace

std::optional<Generation> parse_generation(const std::string& text) {
    for (const Generation generation : kGenerations) {
        if (lower(text) == lower(link_speed(generation).name)) {
            return generation;
        }
    }
    return std::nullopt;
}

std::optional<Shape> parse_shape(const std::string& text) {
    const std::string name = lower(text);
    if (name == "rail-optimised") {
        return Shape::kRailOptimized;
    }
    const auto found = std::ranges::find_if(
        topologies(), [&](const Topology* topology) { return name == topology->name; });
    return found == topologies().end() ? std::nullopt : std::optional((*found)->shape);
}

const char* to_string(Shape shape) {
    return topology_of(shape).name;
}

Guid port_guid(const Node& node, PortNum) {
    return node.port_guid == Guid{0} ? node.node_guid : node.port_guid;
}

std::vector<NodeIndex> hcas_in_order(const Fabric& fabric) {
    std::vector<NodeIndex> result;
    for (const Host& host : fabric.hosts) {
        result.insert(result.end(), host.hcas.begin(), host.hcas.end());
    }
    return result;
}

std::string description_of(const Fabric& fabric, const Node& node) {
    if (!node.description.empty() || node.kind != NodeKind::kHca ||
        node.host >= fabric.hosts.size()) {
        return node.description.empty() ? node.name : node.description;
    }
    // The part of the name after "host/" is the device.
    const std::string& host = fabric.hosts[node.host].name;
    return node.name.size() > host.size() + 1 && node.name.starts_with(host + "/")
               ? fmt::format("{} {}", host, node.name.substr(host.size() + 1))
               : node.name;
}

std::optional<std::uint32_t> Fabric::find_host(const std::string& wanted) const {
    const auto found = std::ranges::find(hosts, wanted, &Host::name);
    if (found == hosts.end()) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(found - hosts.begin());
}

std::optional<NodeIndex> Fabric::find_node(const std::string& wanted) const {
    const auto found = std::ranges::find(nodes, wanted, &Node::name);
    if (found == nodes.end()) {
        return std::nullopt;
    }
    return NodeIndex{static_cast<std::uint32_t>(found - nodes.begin())};
}

std::size_t Fabric::count(NodeKind kind) const {
    return static_cast<std::size_t>(std::ranges::count(nodes, kind, &Node::kind));
}

std::expected<void, Error> validate(const Fabric& fabric) {
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (auto result = validate_node(fabric, NodeIndex{i}); !result) {
            return result;
        }
    }
    if (auto result = validate_hosts(fabric); !result) {
        return result;
    }
    if (auto result = validate_adapters(fabric); !result) {
        return result;
    }
    return validate_unique(fabric);
}

}  // namespace softib::topo
