// SPDX-License-Identifier: BSD-2-Clause
// Computes forwarding tables for the subnet that was discovered, and verifies them.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/sm/manager.h"

namespace softib::sm {

bool Manager::build_graph() {
    routing::GraphBuilder builder;
    switch_of_rank_.clear();
    std::vector<std::uint32_t> rank(subnet_.size(), routing::kNone);
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        const SubnetNode& node = subnet_.node(i);
        if (node.present && node.is_switch()) {
            rank[i] = builder.add_switch(node.guid());
            switch_of_rank_.push_back(i);
        }
    }
    for (const NodeIndex i : switch_of_rank_) {
        const SubnetNode& node = subnet_.node(i);
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            const SubnetPort& port = node.ports[p];
            if (port.peer != kNoNode && rank[port.peer] != routing::kNone &&
                std::pair(port.peer, std::size_t{port.peer_port}) > std::pair(i, p)) {
                builder.add_cable(rank[i], static_cast<std::uint8_t>(p), rank[port.peer],
                                  port.peer_port);
            }
        }
    }
    std::uint32_t order = 0;
    for (const EndPort end : ends_in_order()) {
        const SubnetNode& node = subnet_.node(end.node);
        const SubnetPort& port = subnet_.port(end);
        const auto lid = config_.lids.find(port.guid.value);
        if (lid == config_.lids.end()) {
            continue;
        }
        routing::Target target{.guid = port.guid, .lid = lid->second};
        if (node.is_switch()) {
            target.at = rank[end.node];
        } else if (port.peer != kNoNode && rank[port.peer] != routing::kNone) {
            target.at = rank[port.peer];
            target.port = port.peer_port;
            target.lmc = config_.lmc;
            target.order = order++;
        } else {
            continue;
        }
        builder.add_target(target);
    }
    auto graph = builder.build();
    if (!graph) {
        event({.kind = ManagerEvent::kRoutingFailed, .text = graph.error().message});
        return false;
    }
    graph_ = std::move(*graph);
    return true;
}

/// Returns all end ports, those with a place in the configured order first. The others are by
/// switch, in the order of the switches' lowest hosts, and then by port: that is how racks are
/// cabled and numbered, whereas GUIDs within a rack are in no order.
std::vector<EndPort> Manager::ends_in_order() const {
    struct Place {
        std::uint32_t order;
        Guid first;
        std::uint8_t port;
        Guid guid;
        auto operator<=>(const Place&) const = default;
    };
    const auto switch_of = [&](EndPort end) {
        return subnet_.node(end.node).is_switch() ? end.node : subnet_.port(end).peer;
    };
    std::map<NodeIndex, Guid> first;
    subnet_.for_each_end_port([&](EndPort end) {
        if (!subnet_.node(end.node).is_switch()) {
            const Guid guid = subnet_.port(end).guid;
            const auto [at, fresh] = first.try_emplace(switch_of(end), guid);
            at->second = fresh ? guid : std::min(at->second, guid);
        }
    });
    std::vector<std::pair<Place, EndPort>> ends;
    subnet_.for_each_end_port([&](EndPort end) {
        const auto found = first.find(switch_of(end));
        const SubnetPort& port = subnet_.port(end);
        const auto given = config_.host_order.find(port.guid.value);
        ends.push_back(
            {{.order = given == config_.host_order.end() ? UINT32_MAX : given->second,
              .first = found == first.end() ? port.guid : found->second,
              .port = subnet_.node(end.node).is_switch() ? std::uint8_t{0} : port.peer_port,
              .guid = port.guid},
             end});
    });
    std::ranges::sort(ends, {}, [](const auto& entry) { return entry.first; });
    std::vector<EndPort> result;
    for (const auto& [place, end] : ends) {
        result.push_back(end);
    }
    return result;
}

void Manager::route() {
    routing::Options options = config_.routing;
    options.data_vls = std::min(options.data_vls, common_data_vls());
    options.adaptive = config_.adaptive_routing && has_private_tables();
    for (const std::string& name : {config_.engine, std::string("updn"), std::string("minhop")}) {
        const routing::Engine* engine = routing::find_engine(name);
        if (engine == nullptr) {
            continue;
        }
        auto tables = engine->route(*graph_, options);
        if (tables) {
            tables_ = std::move(*tables);
            verify_due_ = true;
            if (routing_needs_lanes() && config_.qos.on && config_.qos.sl2vl) {
                event({.kind = ManagerEvent::kWarning,
                       .text = name + " needs the lanes for itself: sl2vl is not used"});
            }
            return;
        }
        event({.kind = ManagerEvent::kRoutingFailed, .text = name + ": " + tables.error().message});
    }
}

/// Verifies the tables. The manager does this after they are written, when no node waits for it.
void Manager::verify() {
    verify_due_ = false;
    report_ = routing::verify(*graph_, tables_, routing::kSoundness);
    if (!report_->good()) {
        event({.kind = ManagerEvent::kWarning, .text = "routes by " + summary(tables_, *report_)});
    }
}

}  // namespace softib::sm
