// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/subnet_records.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace softib::sharp {

namespace {

bool is_switch(const wire::NodeRecord& node) {
    return node.node_info.node_type == wire::NodeType::kSwitch;
}

/// Makes a graph of nodes and cables.
class RecordJoiner {
  public:
    explicit RecordJoiner(const SubnetRecords& records) {
        std::vector<const wire::NodeRecord*> switches;
        for (const wire::NodeRecord& node : records.nodes) {
            if (node.lid == kLidUnassigned) {
                continue;
            }
            if (is_switch(node)) {
                switches.push_back(&node);
            } else {
                ends_.try_emplace(node.lid, &node);
            }
        }
        std::ranges::sort(switches, {},
                          [](const wire::NodeRecord* node) { return node->node_info.node_guid; });
        for (const wire::NodeRecord* const node : switches) {
            const Guid guid = node->node_info.node_guid;
            if (switch_of_.contains(node->lid)) {
                continue;
            }
            const std::uint32_t number = builder_.add_switch(guid);
            switch_of_[node->lid] = number;
            builder_.add_target({.guid = guid, .lid = node->lid, .at = number});
        }
    }

    void add_link(const wire::LinkRecord& link) {
        const auto from = switch_of_.find(link.from_lid);
        if (from == switch_of_.end()) {
            return;
        }
        if (const auto to = switch_of_.find(link.to_lid); to != switch_of_.end()) {
            add_cable(from->second, link.from_port.value, to->second, link.to_port.value);
            return;
        }
        const auto end = ends_.find(link.to_lid);
        if (end != ends_.end() && placed_.insert(link.to_lid).second) {
            builder_.add_target({.guid = end->second->node_info.port_guid,
                                 .lid = link.to_lid,
                                 .port = link.from_port.value,
                                 .at = from->second,
                                 .order = link.to_lid.value});
        }
    }

    std::expected<RoutedSubnet, std::string> build() {
        auto graph = builder_.build();
        if (!graph) {
            return std::unexpected(graph.error().message);
        }
        RoutedSubnet subnet{std::move(*graph), {}};
        subnet.lfts = routing::Lfts(subnet.graph.switch_count(), subnet.graph.lid_max());
        return subnet;
    }

    const std::map<Lid, std::uint32_t>& switches() const { return switch_of_; }

  private:
    /// Adds a cable once, although the SA reports it from both ends. Leaves out a cable between two
    /// ports of one switch, since no route uses it.
    void add_cable(std::uint32_t a, std::uint8_t port_a, std::uint32_t b, std::uint8_t port_b) {
        if (a > b) {
            std::swap(a, b);
            std::swap(port_a, port_b);
        }
        if (a != b && cables_.insert({a, port_a, b, port_b}).second) {
            builder_.add_cable(a, port_a, b, port_b);
        }
    }

    routing::GraphBuilder builder_;
    std::map<Lid, std::uint32_t> switch_of_;
    std::map<Lid, const wire::NodeRecord*> ends_;
    std::set<Lid> placed_;
    std::set<std::tuple<std::uint32_t, std::uint8_t, std::uint32_t, std::uint8_t>> cables_;
};

}  // namespace

std::vector<std::uint16_t> blocks_of_switches(std::span<const wire::NodeRecord> nodes) {
    std::set<std::uint16_t> blocks;
    for (const wire::NodeRecord& node : nodes) {
        if (is_switch(node) && node.lid != kLidUnassigned) {
            blocks.insert(static_cast<std::uint16_t>(node.lid.value / wire::kLftBlockLids));
        }
    }
    return {blocks.begin(), blocks.end()};
}

std::expected<RoutedSubnet, std::string> join_records(const SubnetRecords& records) {
    RecordJoiner joiner(records);
    for (const wire::LinkRecord& link : records.links) {
        joiner.add_link(link);
    }
    auto subnet = joiner.build();
    if (!subnet) {
        return subnet;
    }
    for (const wire::LinearForwardingTableRecord& table : records.tables) {
        const auto at = joiner.switches().find(table.lid);
        const std::size_t first = std::size_t{table.block_num} * wire::kLftBlockLids;
        if (at == joiner.switches().end() || first >= subnet->lfts.row(at->second).size()) {
            continue;
        }
        std::ranges::copy(table.linear_forwarding_table.port,
                          subnet->lfts.row(at->second).subspan(first).begin());
    }
    return subnet;
}

}  // namespace softib::sharp
