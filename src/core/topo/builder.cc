// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/topo/spec.h"

namespace softib::topo {

namespace {

// The prefix of generated GUIDs. 0x02 in the first octet marks a locally administered, individual
// EUI-64, so that no vendor's GUID can be equal. Below the prefix are 4 bits of node kind, 20 bits
// of index, and 8 bits for ibsim, which gives port p of a node the node's GUID plus p.
constexpr std::uint64_t kGuidPrefix = 0x0250F71B00000000;

Guid make_guid(NodeKind kind, std::uint32_t index) {
    SOFTIB_CHECK(index < (1U << 20));
    return Guid{kGuidPrefix | static_cast<std::uint64_t>(kind) << 28 |
                static_cast<std::uint64_t>(index) << 8};
}

}  // namespace

std::string fill_pattern(const std::string& pattern, std::uint32_t index) {
    std::string result = pattern;
    if (const std::size_t hole = result.find("{}"); hole != std::string::npos) {
        result.replace(hole, 2, std::to_string(index));
    }
    return result;
}

Placement::Placement(const Spec& spec, std::uint32_t leaves, std::uint32_t per_leaf_max,
                     std::uint32_t hosts_per_unit)
    : hosts_(spec.hosts),
      hcas_per_host_(spec.hcas_per_host),
      leaves_(leaves),
      hosts_per_unit_(hosts_per_unit) {
    SOFTIB_CHECK(leaves_ > 0);
    const bool together = spec.shape == Shape::kFatTree && spec.hosts_per_switch != 0;
    if (hcas_per_host_ > 1 && !together) {
        const std::uint64_t blocks = leaves_ / hcas_per_host_;
        const bool rails_fit = blocks > 0 && ceil_div(hosts_, blocks) <= per_leaf_max;
        mode_ = rails_fit ? Mode::kRails : Mode::kRoundRobin;
    }
    SOFTIB_CHECK(per_leaf() <= per_leaf_max);
}

std::uint32_t Placement::leaf_of(std::uint32_t host, std::uint32_t hca) const {
    const std::uint64_t index = host * hcas_per_host_ + hca;
    switch (mode_) {
        case Mode::kRails: {
            const std::uint64_t block = hosts_per_unit_ != 0
                                            ? host / hosts_per_unit_
                                            : host * (leaves_ / hcas_per_host_) / hosts_;
            return static_cast<std::uint32_t>(block * hcas_per_host_ + hca);
        }
        case Mode::kRoundRobin:
            return static_cast<std::uint32_t>(index % leaves_);
        case Mode::kInOrder:
            break;
    }
    return static_cast<std::uint32_t>(index * leaves_ / (hosts_ * hcas_per_host_));
}

std::uint32_t Placement::per_leaf() const {
    if (mode_ == Mode::kRails) {
        return static_cast<std::uint32_t>(hosts_per_unit_ != 0
                                              ? std::min(hosts_, hosts_per_unit_)
                                              : ceil_div(hosts_, leaves_ / hcas_per_host_));
    }
    return static_cast<std::uint32_t>(ceil_div(hosts_ * hcas_per_host_, leaves_));
}

FabricBuilder::FabricBuilder(const Spec& spec)
    : generation_(spec.generation), on_paper_(spec.on_paper) {
    fabric_.name = spec.name;
    fabric_.shape = spec.shape;
    fabric_.hosts.reserve(spec.hosts);
    fabric_.nodes.reserve(hca_count(spec));
    for (std::uint32_t h = 0; h < spec.hosts; ++h) {
        Host host;
        host.name = fill_pattern(spec.host_pattern, h);
        for (std::uint32_t j = 0; j < spec.hcas_per_host; ++j) {
            std::string device = fill_pattern(spec.device_pattern, j);
            Node node;
            node.kind = NodeKind::kHca;
            node.name = host.name + "/" + device;
            node.node_guid = make_guid(node.kind, h * spec.hcas_per_host + j);
            node.host = h;
            node.ports.resize(2);
            host.hcas.push_back(add_node(std::move(node)));
            host.device_names.push_back(std::move(device));
        }
        fabric_.hosts.push_back(std::move(host));
    }
}

NodeIndex FabricBuilder::add_node(Node node) {
    node.system_image_guid = node.node_guid;
    for (PortLink& port : node.ports) {
        port.generation = generation_;
    }
    fabric_.nodes.push_back(std::move(node));
    port_next_.push_back(1);
    return NodeIndex{static_cast<std::uint32_t>(fabric_.nodes.size() - 1)};
}

NodeIndex FabricBuilder::add_switch(std::string name, std::uint32_t ports, std::uint32_t level,
                                    std::vector<std::uint32_t> coordinates) {
    SOFTIB_CHECK(ports >= 1 && ports <= (on_paper_ ? kPaperPortsMax : kSwitchPortsMax));
    Node node;
    node.kind = NodeKind::kSwitch;
    node.name = std::move(name);
    node.node_guid = make_guid(node.kind, switches_++);
    node.level = level;
    node.coordinates = std::move(coordinates);
    node.ports.resize(ports + 1);
    return add_node(std::move(node));
}

void FabricBuilder::cable(NodeIndex a, NodeIndex b) {
    SOFTIB_CHECK(a != b);
    const std::uint16_t port_a = port_next_[a.value]++;
    const std::uint16_t port_b = port_next_[b.value]++;
    Node& node_a = fabric_.nodes[a.value];
    Node& node_b = fabric_.nodes[b.value];
    SOFTIB_CHECK(port_a < node_a.ports.size() && port_b < node_b.ports.size());
    const auto number = [this](std::uint16_t port) {
        return PortNum{on_paper_ ? std::uint8_t{0} : static_cast<std::uint8_t>(port)};
    };
    node_a.ports[port_a] = {b, number(port_b), generation_};
    node_b.ports[port_b] = {a, number(port_a), generation_};
}

void FabricBuilder::cable_hcas(std::span<const NodeIndex> leaves, const Placement& placement) {
    for (std::uint32_t h = 0; h < fabric_.hosts.size(); ++h) {
        const Host& host = fabric_.hosts[h];
        for (std::uint32_t j = 0; j < host.hcas.size(); ++j) {
            cable(host.hcas[j], leaves[placement.leaf_of(h, j)]);
        }
    }
}

void FabricBuilder::cable_rail(std::uint32_t rail, std::span<const NodeIndex> leaves,
                               const Placement& placement) {
    for (std::uint32_t h = 0; h < fabric_.hosts.size(); ++h) {
        cable(fabric_.hosts[h].hcas[rail], leaves[placement.leaf_of(h, 0)]);
    }
}

Fabric FabricBuilder::take() {
    return std::move(fabric_);
}

}  // namespace softib::topo
