// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/mad/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/wire/sm/node_description.h"

namespace softib::telemetry {

namespace {

using sm::NodeIndex;
using sm::Purpose;
using wire::PortInfo;
using wire::SmAttribute;

topo::Width widest(std::uint8_t bits) {
    for (const topo::Width width :
         {topo::Width::k12x, topo::Width::k8x, topo::Width::k4x, topo::Width::k2x}) {
        if ((bits & static_cast<std::uint8_t>(width)) != 0) {
            return width;
        }
    }
    return topo::Width::k1x;
}

void set_speed(const PortInfo& info, Port& port) {
    const topo::Width width = widest(info.link_width_active);
    const topo::LinkSpeed active =
        topo::link_speed(topo::fastest_of(info.link_speed_active, info.link_speed_ext_active,
                                          info.link_speed_ext_active2),
                         width);
    const topo::LinkSpeed best =
        topo::link_speed(topo::fastest_of(info.link_speed_supported, info.link_speed_ext_supported,
                                          info.link_speed_ext_supported2),
                         widest(info.link_width_supported));
    port.lanes = static_cast<std::uint8_t>(topo::lanes(width));
    port.active_mbps = active.mbps;
    port.nominal_mbps = std::max(active.mbps, best.mbps);
    port.speed = active.name;
}

}  // namespace

Discovery::Discovery(const sm::SmpClient::Limits& limits) : client_(limits) {
    ask({Purpose::kNodeInfo, 0, sm::kNoNode, 0}, SmAttribute::kNodeInfo, 0, {});
}

void Discovery::ask(Purpose purpose, SmAttribute attribute, std::uint32_t modifier,
                    const sm::DirectedPath& path) {
    sm::SmpRequest request;
    request.purpose = purpose;
    request.path = path;
    request.attribute = attribute;
    request.modifier = modifier;
    queue_.push_back(request);
}

std::optional<wire::MadBytes> Discovery::poll_transmit(std::uint64_t now_ns) {
    if (auto again = client_.poll_resend()) {
        return again;
    }
    if (queue_.empty() || !client_.has_room()) {
        return std::nullopt;
    }
    const sm::SmpRequest request = queue_.front();
    queue_.pop_front();
    return client_.start(request, 0, now_ns);
}

void Discovery::handle(const wire::MadBytes& mad) {
    if (const auto answer = client_.handle(mad)) {
        take(*answer);
    }
}

void Discovery::handle_timeout(std::uint64_t now_ns) {
    client_.handle_timeout(now_ns);
    while (const auto lost = client_.poll_lost()) {
        const Purpose& about = lost->purpose;
        const bool probe = about.kind == Purpose::kNodeInfo;
        if (about.node < nodes_.size()) {
            const FoundNode& node = nodes_[about.node];
            silent_.push_back(
                probe ? fmt::format("what is behind {}:{}", node.description, about.port)
                      : node.description);
        }
    }
}

void Discovery::take(const sm::SmpAnswer& answer) {
    if (answer.status != 0) {
        return;
    }
    switch (answer.purpose.kind) {
        case Purpose::kNodeInfo:
            take_node(answer);
            break;
        case Purpose::kNodeDescription: {
            const auto text = wire::parse<wire::NodeDescription>(answer.data);
            nodes_[answer.purpose.node].description = std::string(text.node_string.view());
            break;
        }
        case Purpose::kPortInfo:
            take_port(answer);
            break;
        default:
            break;
    }
}

void Discovery::take_node(const sm::SmpAnswer& answer) {
    const auto info = wire::parse<wire::NodeInfo>(answer.data);
    const std::uint8_t arrival = info.local_port_num.value;
    const Purpose& from = answer.purpose;
    const bool is_root = from.node == sm::kNoNode;
    const auto [known, is_new] =
        by_guid_.try_emplace(info.node_guid.value, static_cast<NodeIndex>(nodes_.size()));
    const NodeIndex index = known->second;
    if (is_new) {
        FoundNode node{
            .info = info, .description = to_string(info.node_guid), .path = {}, .ports = {}};
        if (!is_root) {
            node.path = nodes_[from.node].path;
            node.path.ports[++node.path.hops] = from.port;
        }
        nodes_.push_back(std::move(node));
        ask({Purpose::kNodeDescription, 0, index, 0}, SmAttribute::kNodeDescription, 0,
            nodes_[index].path);
    }
    FoundNode& node = nodes_[index];
    if (is_new || !node.ports.contains(arrival)) {
        read_node(index, arrival);
    }
    if (!is_root) {
        node.ports[arrival].peer = from.node;
        node.ports[arrival].peer_port = from.port;
        FoundPort& other = nodes_[from.node].ports[from.port];
        other.peer = index;
        other.peer_port = arrival;
    }
}

void Discovery::read_node(NodeIndex index, std::uint8_t arrival) {
    FoundNode& node = nodes_[index];
    if (!node.is_switch()) {
        node.ports[arrival];
        ask({Purpose::kPortInfo, arrival, index, 0}, SmAttribute::kPortInfo, arrival, node.path);
        return;
    }
    for (unsigned port = 0; port <= node.info.num_ports; ++port) {
        const auto number = static_cast<std::uint8_t>(port);
        node.ports[number];
        ask({Purpose::kPortInfo, number, index, 0}, SmAttribute::kPortInfo, number, node.path);
    }
}

void Discovery::take_port(const sm::SmpAnswer& answer) {
    const Purpose& about = answer.purpose;
    FoundNode& node = nodes_[about.node];
    FoundPort& port = node.ports[about.port];
    port.info = wire::parse<PortInfo>(answer.data);
    const bool leads_on = about.node == 0 || (node.is_switch() && about.port != 0);
    if (leads_on && about.port != 0 && port.peer == sm::kNoNode &&
        port.info.port_state >= PortState::kInit && node.path.hops < sm::kHopsMax) {
        sm::DirectedPath path = node.path;
        path.ports[++path.hops] = about.port;
        ask({Purpose::kNodeInfo, about.port, about.node, 0}, SmAttribute::kNodeInfo, 0, path);
    }
}

Inventory Discovery::inventory() const {
    Inventory inventory;
    inventory.fabric = "subnet";
    std::map<std::pair<NodeIndex, std::uint8_t>, std::uint32_t> index;
    for (NodeIndex i = 0; i < nodes_.size(); ++i) {
        const FoundNode& found = nodes_[i];
        Node node{.guid = found.info.node_guid,
                  .system_guid = found.info.system_image_guid,
                  .name = found.description,
                  .kind = static_cast<topo::NodeKind>(found.info.node_type),
                  .lid = {},
                  .tier = 0,
                  .port_first = static_cast<std::uint32_t>(inventory.ports.size()),
                  .port_count = 0};
        for (const auto& [number, port] : found.ports) {
            if (port.info.lid != kLidUnassigned && (number == 0 || !found.is_switch())) {
                node.lid = port.info.lid;
            }
            if (number == 0 || port.peer == sm::kNoNode) {
                continue;
            }
            index[{i, number}] = static_cast<std::uint32_t>(inventory.ports.size());
            Port row{.node = i,
                     .number = number,
                     .lanes = 4,
                     .guid = found.info.port_guid,
                     .peer = kNoIndex,
                     .nominal_mbps = 0,
                     .active_mbps = 0,
                     .speed = ""};
            set_speed(port.info, row);
            inventory.ports.push_back(std::move(row));
            ++node.port_count;
        }
        inventory.nodes.push_back(std::move(node));
    }
    for (Port& port : inventory.ports) {
        const FoundPort& found = nodes_[port.node].ports.at(port.number);
        if (const auto peer = index.find({found.peer, found.peer_port}); peer != index.end()) {
            port.peer = peer->second;
        }
    }
    assign_tiers(inventory);
    return inventory;
}

std::vector<PortState> Discovery::states() const {
    std::vector<PortState> states;
    for (const FoundNode& node : nodes_) {
        for (const auto& [number, port] : node.ports) {
            if (number != 0 && port.peer != sm::kNoNode) {
                states.push_back(port.info.port_state);
            }
        }
    }
    return states;
}

}  // namespace softib::telemetry
