// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/subnet.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::sm {

NodeIndex Subnet::find(Guid node_guid) const {
    const auto found = by_guid_.find(node_guid.value);
    return found == by_guid_.end() ? kNoNode : found->second;
}

NodeIndex Subnet::add(const wire::NodeInfo& info) {
    const auto index = static_cast<NodeIndex>(nodes_.size());
    SubnetNode& node = nodes_.emplace_back();
    node.info = info;
    node.ports.resize(info.num_ports + std::size_t{1});
    by_guid_[info.node_guid.value] = index;
    return index;
}

void Subnet::connect(EndPort a, EndPort b) {
    disconnect(a);
    disconnect(b);
    port(a).peer = b.node;
    port(a).peer_port = b.port;
    port(b).peer = a.node;
    port(b).peer_port = a.port;
}

void Subnet::disconnect(EndPort end) {
    SubnetPort& near = port(end);
    if (near.peer == kNoNode) {
        return;
    }
    SubnetPort& far = port({near.peer, near.peer_port});
    far.peer = kNoNode;
    near.peer = kNoNode;
}

void Subnet::recompute_paths(NodeIndex root) {
    for (SubnetNode& node : nodes_) {
        node.present = false;
    }
    if (root >= nodes_.size()) {
        return;
    }
    std::vector<NodeIndex> queue{root};
    queue.reserve(nodes_.size());
    nodes_[root].present = true;
    nodes_[root].path = {};
    nodes_[root].entry_port = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const NodeIndex at = queue[head];
        const SubnetNode& node = nodes_[at];
        // An HCA does not forward SMPs.
        if ((!node.is_switch() && at != root) || node.path.hops == kHopsMax) {
            continue;
        }
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            const NodeIndex next = node.ports[p].peer;
            if (next == kNoNode || nodes_[next].present) {
                continue;
            }
            SubnetNode& other = nodes_[next];
            other.present = true;
            other.path = node.path;
            other.path.ports[++other.path.hops] = static_cast<std::uint8_t>(p);
            other.entry_port = node.ports[p].peer_port;
            queue.push_back(next);
        }
    }
}

std::optional<EndPort> Subnet::by_lid(Lid lid) const {
    if (lid.value >= lid_owner_.size() || lid_owner_[lid.value].node == kNoNode) {
        return std::nullopt;
    }
    return lid_owner_[lid.value];
}

std::optional<EndPort> Subnet::by_port_guid(Guid guid) const {
    const auto found = by_port_guid_.find(guid.value);
    return found == by_port_guid_.end() ? std::nullopt : std::optional(found->second);
}

void Subnet::set_lid_owner(Lid base, std::uint8_t lmc, EndPort end) {
    const std::size_t last = base.value + (std::size_t{1} << lmc);
    SOFTIB_CHECK(base != kLidUnassigned && last <= kLidMulticastMin.value);
    if (lid_owner_.size() < last) {
        lid_owner_.resize(last);
    }
    std::fill(lid_owner_.begin() + base.value,
              lid_owner_.begin() + static_cast<std::ptrdiff_t>(last), end);
    by_port_guid_[port(end).guid.value] = end;
}

void Subnet::clear_lid_owner(Lid base, std::uint8_t lmc) {
    for (std::size_t lid = base.value; lid < base.value + (std::size_t{1} << lmc); ++lid) {
        if (lid < lid_owner_.size() && lid != 0) {
            by_port_guid_.erase(lid_owner_[lid].node == kNoNode ? 0
                                                                : port(lid_owner_[lid]).guid.value);
            lid_owner_[lid] = {};
        }
    }
}

Lid Subnet::lid_max() const {
    for (std::size_t lid = lid_owner_.size(); lid-- > 1;) {
        if (lid_owner_[lid].node != kNoNode) {
            return Lid{static_cast<std::uint16_t>(lid)};
        }
    }
    return kLidUnassigned;
}

std::vector<EndPort> Subnet::trace(EndPort from, Lid dlid) const {
    const std::optional<EndPort> end = by_lid(dlid);
    if (!end) {
        return {};
    }
    std::vector<EndPort> hops;
    EndPort at = from;
    if (from.node == end->node) {
        return {from};
    }
    for (std::size_t i = 0; i <= kHopsMax; ++i) {
        if (at.node == end->node) {
            return hops;
        }
        const SubnetNode& node = nodes_[at.node];
        const std::uint8_t out = node.is_switch() ? forward(at.node, dlid) : at.port;
        if (out == kLftNoPath || out == 0 || out >= node.ports.size() ||
            node.ports[out].peer == kNoNode || (!node.is_switch() && i != 0)) {
            return {};
        }
        hops.push_back({at.node, out});
        at = {node.ports[out].peer, node.ports[out].peer_port};
    }
    return {};
}

}  // namespace softib::sm
