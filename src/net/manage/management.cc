// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/management.h"

#include <algorithm>
#include <utility>

#include "core/agent/congestion_rules.h"
#include "core/agent/from_fabric.h"
#include "core/base/check.h"
#include "core/sm/host_order.h"
#include "net/manage/congestion_manager.h"
#include "net/manage/lane_manager.h"

namespace softib::net {

namespace {

using agent::End;
using agent::NodeId;

NodeId first_switch(const agent::Mesh& nodes) {
    for (NodeId id = 0; id < nodes.size(); ++id) {
        if (nodes.node(id).is_switch()) {
            return id;
        }
    }
    return 0;
}

sm::ManagerConfig on_port(sm::ManagerConfig config, const agent::Node& node,
                          const topo::Fabric& fabric) {
    config.host_order = sm::host_order_of(fabric);
    config.port = node.is_switch() ? 0 : 1;
    config.port_guid = node.spec().ports[config.port].guid;
    return config;
}

std::vector<NodeId> adapters(const agent::Mesh& nodes) {
    std::vector<NodeId> found;
    for (NodeId id = 0; id < nodes.size(); ++id) {
        if (!nodes.node(id).is_switch()) {
            found.push_back(id);
        }
    }
    return found;
}

}  // namespace

Management::Management(const topo::Fabric& fabric, sm::ManagerConfig config)
    : nodes_(agent::make_mesh(fabric, *this, true)),
      arrival_(*this),
      root_(first_switch(nodes_)),
      service_(on_port(std::move(config), nodes_.node(root_), fabric)),
      manager_(dispatcher_.add(
          {.interests = agent::interests_in(sm::SubnetService::kClasses), .nodes = {root_}})),
      programs_(dispatcher_.add({.interests = {}, .nodes = adapters(nodes_)})) {
    nodes_.set_capability({root_, service_.manager().config().port}, wire::port_capability::kIsSM,
                          true);
    while (nodes_.poll_update()) {
        // Nothing to apply: a plant begins as nodes do at power-up.
    }
}

std::uint64_t Management::now_ns(const Engine& engine) {
    return engine.now() / link::kPsPerNs;
}

Lid Management::lid(std::uint32_t node) const {
    const agent::Node& of = nodes_.node(node);
    return of.port(of.is_switch() ? 0 : 1).lid;
}

counters::PortCounts Management::read(std::uint32_t node, std::uint8_t port) {
    counters::PortCounts counts;
    if (counted_ != nullptr && (port != 0 || nodes_.node(node).is_switch())) {
        counts = counted_->counts(counted_->plant().port_of(node, port));
        counts.link_downed = nodes_.node(node).link_downed(port);
    }
    return counts;
}

counters::LaneCounts Management::read_lanes(std::uint32_t node, std::uint8_t port) {
    return counted_ != nullptr && (port != 0 || nodes_.node(node).is_switch())
               ? counted_->lane_counts(counted_->plant().port_of(node, port))
               : counters::LaneCounts{};
}

void Management::start(Engine& engine) {
    counted_ = &engine;
    engine.count_lanes();
    engine.ports().manage_all();
    service_.start(now_ns(engine));
    pump(engine);
}

void Management::timer(Engine& engine) {
    if (now_ns(engine) >= due_ns_) {
        due_ns_ = UINT64_MAX;
        service_.handle_timeout(now_ns(engine));
        pump(engine);
    }
}

void Management::pump(Engine& engine) {
    while (auto out = service_.poll_transmit(now_ns(engine))) {
        dispatcher_.stamp(manager_, out->mad);
        send(engine, {root_, service_.manager().config().port}, *std::move(out));
    }
    while (service_.poll_event()) {
    }
    for (const agent::Departure& trap : nodes_.take_traps(now_ns(engine))) {
        send(engine, trap.from, trap.packet);
    }
    std::uint64_t next = std::min(service_.next_timeout_ns(), nodes_.next_trap_ns());
    next = std::max(next, now_ns(engine) + 1);
    if (next < due_ns_) {
        due_ns_ = next;
        engine.set_timer(engine.plant().port_of(root_, service_.manager().config().port),
                         next * link::kPsPerNs, kTimer);
    }
}

std::optional<agent::Delivery> Management::poll_delivery() {
    return dispatcher_.poll(programs_);
}

void Management::send(Engine& engine, End from, mad::Packet packet) {
    const agent::Onward onward =
        arrival_.depart(nodes_.node(from.node), from, packet, now_ns(engine));
    go_on(engine, from.node, onward, packet);
}

/// Puts a MAD on the cable behind a port; from port 0 of a switch it goes by the switch's tables.
void Management::put(Engine& engine, std::uint32_t port, const mad::Packet& packet, Lid dlid) {
    if (!engine.plant().connected(port)) {
        return;
    }
    std::uint32_t body = static_cast<std::uint32_t>(bodies_.size());
    if (free_bodies_.empty()) {
        bodies_.push_back(packet);
    } else {
        body = free_bodies_.back();
        free_bodies_.pop_back();
        bodies_[body] = packet;
    }
    ++mads_;
    engine.inject(port, {.body = body,
                         .dlid = dlid.value,
                         .slid = packet.slid.value,
                         .bytes = kPacketBytes,
                         .sl = packet.sl,
                         .vl = agent::is_subnet(packet) ? link::kVl15 : std::uint8_t{0},
                         .tag = kTag});
}

void Management::deliver(Engine& engine, std::uint32_t port, const Packet& carried) {
    mad::Packet packet = bodies_[carried.body];
    free_bodies_.push_back(carried.body);
    const NodeId id = engine.plant().node_of(port);
    agent::Node& node = nodes_.node(id);
    const std::uint8_t in_port = node.is_switch() ? carried.in_port_or_hop_lmt : std::uint8_t{1};
    const bool directed = Lid{carried.dlid} == kLidPermissive;
    if (!directed && !node.owns_lid(in_port, packet.dlid)) {
        return;  // The MAD is not for this port.
    }
    const End at{id, directed ? in_port : node.base_port(in_port)};
    const agent::Onward onward = arrival_.arrive(node, at, packet, now_ns(engine));
    go_on(engine, id, onward, packet);
    pump(engine);
}

void Management::go_on(Engine& engine, NodeId id, agent::Onward onward, const mad::Packet& packet) {
    switch (onward.kind) {
        case agent::Onward::kOutOfPort:
            put(engine, engine.plant().port_of(id, onward.port), packet, kLidPermissive);
            break;
        case agent::Onward::kByLid:
            put(engine, engine.plant().port_of(id, onward.port), packet, packet.dlid);
            break;
        case agent::Onward::kToService:
            serve(engine, {{id, onward.port}, packet});
            break;
        case agent::Onward::kNowhere:
            break;
    }
    follow(engine, id);
}

void Management::serve(Engine& engine, const agent::Delivery& delivery) {
    if (!dispatcher_.deliver(delivery)) {
        if (const auto answer = agent::decline(delivery.packet)) {
            send(engine, delivery.at, *answer);
        }
    }
    while (const auto arrived = dispatcher_.poll(manager_)) {
        service_.handle(arrived->packet, now_ns(engine));
    }
}

// Applying to the plant what was written into a node.

void Management::follow(Engine& engine, NodeId id) {
    nodes_.settle(id);
    while (const auto update = nodes_.poll_update()) {
        follow(engine, update->node, update->update);
    }
}

/// Applies a plane update of one node to the plant: a function for each kind of update.
struct Management::Follower {
    Management& self;
    Engine& engine;
    NodeId id;

    agent::Node& node() const { return self.nodes_.node(id); }
    bool is_connected(std::uint8_t port) const {
        return port != 0 && engine.plant().connected(engine.plant().port_of(id, port));
    }

    void operator()(const agent::PortUpdate& update) const {
        if (!is_connected(update.port)) {
            return;
        }
        engine.ports().follow_state(engine.plant().port_of(id, update.port),
                                    node().port(update.port).port_state);
        if (node().port(update.port).port_physical_state != wire::PortPhysicalState::kLinkUp &&
            self.nodes_.plugged({id, update.port})) {
            self.nodes_.set_plugged({id, update.port}, true);  // Both ends train anew.
        }
    }
    void operator()(const agent::PartitionUpdate& update) const {
        const wire::PortInfo& info = node().port(update.port);
        if (!node().is_switch() || !is_connected(update.port)) {
            return;  // An HCA checks P_Keys itself.
        }
        const std::uint32_t port = engine.plant().port_of(id, update.port);
        Guard guard{.in = info.partition_enforcement_inbound,
                    .out = info.partition_enforcement_outbound,
                    .pkeys = {}};
        const Guard before = engine.guards().at(port);
        if (!guard.in && !guard.out && !before.in && !before.out) {
            return;
        }
        for (std::uint16_t i = 0; i < node().spec().pkeys; ++i) {
            guard.pkeys.push_back(node().pkey(update.port, i));
        }
        engine.ports().set_guard(port, guard);
    }
    void operator()(const agent::AliasUpdate&) const {}  // The plant does not use GUIDs.
    void operator()(const agent::RouteUpdate& update) const {
        for (std::uint32_t i = 0; i < agent::kLftBlock; ++i) {
            const Lid lid{static_cast<std::uint16_t>(update.block * agent::kLftBlock + i)};
            if (lid.value != 0 && lid.value < engine.plant().lid_count()) {
                engine.plant().set_route(id, lid, node().forward(lid));
            }
        }
    }
    void operator()(const agent::GroupUpdate& update) const {
        const auto mft = node().mft();
        const std::size_t first = std::size_t{update.block} * agent::kMftBlock;
        const std::size_t groups =
            std::min<std::size_t>(mft.size(), engine.plant().config().multicast_lids);
        for (std::size_t group = first; group < std::min(first + agent::kMftBlock, groups);
             ++group) {
            std::array<std::uint64_t, 4> ports{};
            for (std::size_t word = 0; word < mft[group].size(); ++word) {
                ports[word / 4] |= std::uint64_t{mft[group][word]} << word % 4 * 16;
            }
            engine.plant().set_multicast(
                id, Lid{static_cast<std::uint16_t>(kLidMulticastMin.value + group)}, ports);
        }
    }
    void operator()(const agent::LaneUpdate& update) const {
        write_lanes(engine, id, node(), update.port);
    }
    void operator()(const agent::ArbitrationUpdate& update) const {
        write_arbitration(engine, id, node(), update.port);
    }
    void operator()(const agent::ErrorLimitUpdate& update) const {
        if (is_connected(update.port)) {
            engine.ports().set_error_limit(engine.plant().port_of(id, update.port),
                                           node().port(update.port).local_phy_errors);
        }
    }
    void operator()(const agent::LifetimeUpdate& update) const {
        if (!node().is_switch() || !is_connected(update.port)) {
            return;
        }
        engine.ports().set_limits(engine.plant().port_of(id, update.port),
                                  node().waiting_limits(update.port));
    }
    void operator()(const agent::MarkingUpdate&) const {
        write_marking(engine.plant(), id, node().congestion(0));
    }
    void operator()(const agent::InjectionUpdate& update) const {
        self.written_.push_back({engine.plant().port_of(id, update.port),
                                 agent::injection_control(node().congestion(update.port))});
    }
    void operator()(const agent::AdaptiveUpdate&) const {
        engine.plant().set_adaptive(id, node().adaptive_table());
    }
    void operator()(const agent::ReregisterUpdate&) const {}  // No program is here to do so.
};

void Management::follow(Engine& engine, NodeId id, const agent::PlaneUpdate& update) {
    std::visit(Follower{*this, engine, id}, update);
}

std::optional<Management::Written> Management::poll_injection() {
    if (written_.empty()) {
        return std::nullopt;
    }
    Written first = written_.front();
    written_.erase(written_.begin());
    return first;
}

void Management::set_link(Engine& engine, std::uint32_t port, bool up) {
    engine.ports().set_link(port, up);
    const std::uint32_t peer = engine.plant().peer(port);
    const End end{engine.plant().node_of(port), engine.plant().number_of(port)};
    nodes_.set_plugged(end, up);
    follow(engine, end.node);
    follow(engine, engine.plant().node_of(peer));
    pump(engine);
}

}  // namespace softib::net
