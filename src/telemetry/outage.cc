// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/outage.h"

#include <fmt/format.h>

#include <algorithm>

namespace softib::telemetry {

namespace {

std::string counted(std::size_t count, const char* one, const char* many) {
    return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", count, many);
}

class OutageFinder {
  public:
    OutageFinder(const Inventory& inventory, const std::vector<bool>& is_up,
                 const std::vector<bool>& is_down)
        : inventory_(inventory), is_down_(is_down) {
        std::vector<bool> has_port(inventory.nodes.size());
        for (std::uint32_t i = 0; i < inventory.ports.size(); ++i) {
            has_port[inventory.ports[i].node] = has_port[inventory.ports[i].node] || is_up[i];
        }
        is_lost_.resize(inventory.nodes.size());
        outage_.nodes = inventory.nodes.size();
        for (std::size_t i = 0; i < inventory.nodes.size(); ++i) {
            const Node& node = inventory.nodes[i];
            is_lost_[i] = node.port_count != 0 && !has_port[i] && is_down_[node.port_first];
            if (is_lost_[i]) {
                outage_.lost.push_back(node.name);
            }
        }
    }

    Outage find() {
        find_cables();
        for (std::uint32_t i = 0; i < inventory_.nodes.size(); ++i) {
            if (is_lost_[i] && is_cause(i)) {
                tell_node(i);
            }
        }
        for (const Cable& cable : cables_) {
            tell_cable(cable);
        }
        return std::move(outage_);
    }

  private:
    /// A cable that is down: its end that is nearer to a host, and the other.
    struct Cable {
        std::uint32_t near;
        std::uint32_t far;
    };

    bool is_switch(std::uint32_t node) const {
        return inventory_.nodes[node].kind != topo::NodeKind::kHca;
    }
    /// Returns whether a lost node is a cause: a switch, or an HCA that several cables have left
    /// although their other ends work. One cable alone is told as that cable.
    bool is_cause(std::uint32_t index) const {
        const Node& node = inventory_.nodes[index];
        return is_switch(index) || (node.port_count > 1 && switch_lost_with(index) == kNoIndex);
    }
    /// Returns the lost switch at a node's cables, or kNoIndex.
    std::uint32_t switch_lost_with(std::uint32_t index) const {
        const Node& node = inventory_.nodes[index];
        for (std::uint32_t i = 0; i < node.port_count; ++i) {
            const std::uint32_t peer = inventory_.ports[node.port_first + i].peer;
            if (peer != kNoIndex && is_lost_[inventory_.ports[peer].node] &&
                is_switch(inventory_.ports[peer].node)) {
                return inventory_.ports[peer].node;
            }
        }
        return kNoIndex;
    }

    void find_cables() {
        for (std::uint32_t i = 0; i < inventory_.ports.size(); ++i) {
            const std::uint32_t peer = inventory_.ports[i].peer;
            const bool is_alone = peer == kNoIndex;
            if (!is_alone && peer < i) {
                continue;  // Its other end has been here.
            }
            ++outage_.cables;
            if (!is_down_[i] && (is_alone || !is_down_[peer])) {
                continue;
            }
            const bool far_first =
                !is_alone && inventory_.node_of(peer).tier < inventory_.node_of(i).tier;
            cables_.push_back(far_first ? Cable{peer, i} : Cable{i, peer});
            outage_.broken.push_back(fmt::format("{} - {}",
                                                 inventory_.port_name(cables_.back().near),
                                                 inventory_.peer_name(cables_.back().near)));
        }
    }

    void tell_node(std::uint32_t index) {
        const Node& node = inventory_.nodes[index];
        std::size_t hosts = 0;
        for (std::uint32_t i = 0; i < node.port_count; ++i) {
            const std::uint32_t peer = inventory_.ports[node.port_first + i].peer;
            const std::uint32_t other = peer == kNoIndex ? index : inventory_.ports[peer].node;
            hosts += !is_switch(other) && is_lost_[other] && other != index ? 1U : 0U;
        }
        std::string text = node.port_count == 1
                               ? std::string("its only cable is down")
                               : fmt::format("none of its {} cables is up", node.port_count);
        if (hosts != 0) {
            text += fmt::format("; {} lost with it", counted(hosts, "host is", "hosts are"));
        }
        outage_.causes.push_back({true, node.name, std::move(text)});
    }

    void tell_cable(const Cable& cable) {
        const std::string object = inventory_.port_name(cable.near);
        for (const std::uint32_t end : {cable.near, cable.far}) {
            const std::uint32_t node = end == kNoIndex ? kNoIndex : inventory_.ports[end].node;
            if (node != kNoIndex && is_lost_[node] && is_cause(node)) {
                outage_.with.emplace(object, inventory_.nodes[node].name);
                return;
            }
        }
        std::string text = fmt::format("the cable to {} is down", inventory_.peer_name(cable.near));
        const std::uint32_t near = inventory_.ports[cable.near].node;
        if (is_lost_[near]) {
            text += fmt::format("; {} has no other", inventory_.nodes[near].name);
        }
        outage_.causes.push_back(
            {false, object, std::move(text),
             cable.far == kNoIndex ? std::string() : inventory_.port_name(cable.far)});
    }

    const Inventory& inventory_;
    const std::vector<bool>& is_down_;
    std::vector<bool> is_lost_;
    std::vector<Cable> cables_;
    Outage outage_;
};

}  // namespace

Outage find_outage(const Inventory& inventory, const std::vector<bool>& is_up,
                   const std::vector<bool>& is_down) {
    return OutageFinder(inventory, is_up, is_down).find();
}

}  // namespace softib::telemetry
