// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/trunk.h"

#include <fmt/format.h>

#include "core/base/check.h"

namespace softib::topo {

namespace {

constexpr std::uint64_t kTrunkGuids = 0x0250F71B30000000;
constexpr std::size_t kPortsMax = 254;

}  // namespace

void set_site(Fabric& fabric, std::uint32_t site) {
    SOFTIB_CHECK(site < kSitesMax);
    const auto move = [&](Guid& guid) {
        if (guid != Guid{0}) {
            guid = Guid{guid.value + (std::uint64_t{site} << kSiteShift)};
        }
    };
    for (Node& node : fabric.nodes) {
        move(node.node_guid);
        move(node.system_image_guid);
        move(node.port_guid);
        move(node.adapter.guid);
    }
}

std::expected<void, Error> add_trunk(Fabric& fabric, const std::string& at_switch) {
    const auto found = fabric.find_node(at_switch);
    if (!found || fabric.node(*found).kind != NodeKind::kSwitch) {
        return std::unexpected(Error{fmt::format(
            "there is no switch '{}' for a trunk; softib topo shows their names", at_switch)});
    }
    Node& at = fabric.nodes[found->value];
    std::size_t port = 1;
    while (port < at.ports.size() && at.ports[port].peer != kNoNode) {
        ++port;
    }
    if (port > kPortsMax) {
        return std::unexpected(
            Error{fmt::format("{} has no free port for a trunk: take another switch", at_switch)});
    }
    const PortLink like = at.ports.size() > 1 ? at.ports[1] : PortLink{};
    if (port == at.ports.size()) {
        at.ports.emplace_back();
    }
    const std::size_t trunks = trunk_nodes(fabric).size();
    PortLink& link = at.ports[port];
    link.generation = like.generation;
    link.width = like.width;
    link.peer = NodeIndex{static_cast<std::uint32_t>(fabric.nodes.size())};
    link.peer_port = PortNum{1};

    Node end;
    end.kind = NodeKind::kRouter;
    end.outside = true;
    end.name = fmt::format("trunk{}", trunks);
    end.node_guid = Guid{kTrunkGuids + (trunks << 8)};
    end.system_image_guid = end.node_guid;
    end.ports.resize(2);
    end.ports[1] = {*found, PortNum{static_cast<std::uint8_t>(port)}, like.generation, like.width};
    fabric.nodes.push_back(std::move(end));
    return {};
}

std::vector<NodeIndex> trunk_nodes(const Fabric& fabric) {
    std::vector<NodeIndex> nodes;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].outside) {
            nodes.push_back(NodeIndex{i});
        }
    }
    return nodes;
}

}  // namespace softib::topo
