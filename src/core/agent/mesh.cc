// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/mesh.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "core/switch/forward.h"
#include "core/wire/packet/link.h"

namespace softib::agent {

namespace {

using wire::PortState;

bool link_up(const Node& node, std::uint8_t port, bool on_vl15) {
    const PortState state = node.port(port).port_state;
    return on_vl15 ? state >= PortState::kInit : state == PortState::kActive;
}

std::uint8_t best(std::uint8_t a, std::uint8_t b) {
    return std::bit_floor(static_cast<std::uint8_t>(a & b));
}

/// Returns the width and speed that two ports agree on when their link trains: the best that both
/// are enabled for.
PortSpec agree(const wire::PortInfo& a, const wire::PortInfo& b) {
    PortSpec agreed;
    const std::uint8_t width = best(a.link_width_enabled, b.link_width_enabled);
    const std::uint8_t speed = best(a.link_speed_enabled, b.link_speed_enabled);
    agreed.width = width != 0 ? width : wire::link_width::k1x;
    agreed.speed = speed != 0 ? speed : wire::link_speed::kSdr;
    agreed.speed_ext = best(a.link_speed_ext_enabled, b.link_speed_ext_enabled);
    agreed.speed_ext2 = best(a.link_speed_ext_enabled2, b.link_speed_ext_enabled2);
    return agreed;
}

}  // namespace

NodeId Mesh::add(NodeSpec spec) {
    const std::size_t ports = spec.ports.size();
    nodes_.push_back({Node(std::move(spec)), std::vector<End>(ports), std::vector<bool>(ports)});
    return static_cast<NodeId>(nodes_.size() - 1);
}

void Mesh::connect(End a, End b) {
    nodes_[a.node].peers[a.port] = b;
    nodes_[b.node].peers[b.port] = a;
    nodes_[a.node].plugged[a.port] = true;
    nodes_[b.node].plugged[b.port] = true;
    train(a);
}

void Mesh::set_outside(NodeId id) {
    nodes_[id].outside = true;
    set_plugged({id, 1}, false);
}

void Mesh::arrive(const Outbound& inbound, std::uint64_t now_ns) {
    if (!nodes_[inbound.node].outside) {
        return;
    }
    const End at = peer({inbound.node, 1});
    const bool on_vl15 = is_subnet(inbound.packet);
    const bool directed = wire::Mad<const std::uint8_t>(inbound.packet.mad).mgmt_class() ==
                          wire::MgmtClass::kSubnDirectedRoute;
    if (at.node == kNoNode || !nodes_[at.node].powered || (!directed && !inbound.by_lid) ||
        !link_up(nodes_[at.node].node, at.port, on_vl15) ||
        !pass_cable({inbound.node, 1}, 0, &inbound.packet, on_vl15, !inbound.by_lid)) {
        return;
    }
    mad::Packet packet = inbound.packet;
    const std::optional<End> end = inbound.by_lid ? go_by_lid(at, packet) : std::optional(at);
    if (end) {
        const Onward onward = arrival_.arrive(nodes_[end->node].node, *end, packet, now_ns);
        carry(end->node, onward, packet, now_ns);
    }
}

void Mesh::set_plugged(End end, bool plugged) {
    const End other = peer(end);
    if (other.node == kNoNode) {
        return;
    }
    nodes_[end.node].plugged[end.port] = plugged;
    nodes_[other.node].plugged[other.port] = plugged;
    train(end);
}

void Mesh::set_powered(NodeId id, bool powered) {
    Entry& entry = nodes_[id];
    if (entry.powered == powered) {
        return;
    }
    entry.powered = powered;
    if (powered) {
        // The node comes back as it was built, and the planes hear of every table.
        entry.node = Node(entry.node.spec());
        entry.node.announce_all();
    }
    for (std::size_t port = 1; port < entry.peers.size(); ++port) {
        if (entry.peers[port].node != kNoNode) {
            train({id, static_cast<std::uint8_t>(port)});
        }
    }
    settle(id);
}

void Mesh::set_route(NodeId id, Lid lid, std::uint8_t port) {
    nodes_[id].node.set_route(lid, port);
    settle(id);
}

void Mesh::set_pkey(End end, std::uint16_t index, PKey pkey) {
    nodes_[end.node].node.set_pkey(end.port, index, pkey);
    settle(end.node);
}

void Mesh::link_fault(End end, std::uint16_t trap) {
    nodes_[end.node].node.link_fault(end.port, trap);
    settle(end.node);
}

void Mesh::set_system_image_guid(NodeId id, Guid guid) {
    nodes_[id].node.set_system_image_guid(guid);
    settle(id);
}

void Mesh::refuse_passage(End at, bool inbound, const wire::BadSwitchPKeyTrap& seen,
                          std::uint64_t packets) {
    nodes_[at.node].node.refuse_passage(at.port, inbound, seen, packets);
    settle(at.node);
}

void Mesh::bad_key(End at, const wire::BadKeyTrap& seen, bool is_qkey, std::uint16_t packets) {
    nodes_[at.node].node.bad_key(at.port, seen, is_qkey, packets);
    settle(at.node);
}

void Mesh::add_violations(End at, std::uint64_t pkeys, std::uint64_t qkeys) {
    nodes_[at.node].node.add_violations(at.port, pkeys, qkeys);
}

void Mesh::set_capability(End end, std::uint32_t bit, bool on) {
    nodes_[end.node].node.set_capability(end.port, bit, on);
    settle(end.node);
}

/// Brings the link of a cable up or down, as its two ends want. If a manager has taken one port
/// down, the other end goes down too, and both train again.
void Mesh::train(End end) {
    const End other = peer(end);
    if (other.node == kNoNode) {
        return;
    }
    Entry& a = nodes_[end.node];
    Entry& b = nodes_[other.node];
    const auto is_up = [](const Node& node, std::uint8_t port) {
        return node.port(port).port_physical_state == wire::PortPhysicalState::kLinkUp;
    };
    const bool wanted = a.powered && b.powered && a.plugged[end.port] &&
                        a.node.link_enabled(end.port) && b.node.link_enabled(other.port);
    if (!wanted || !is_up(a.node, end.port) || !is_up(b.node, other.port)) {
        a.node.set_link(end.port, false);
        b.node.set_link(other.port, false);
    }
    if (wanted && !is_up(a.node, end.port)) {
        const PortSpec agreed = agree(a.node.port(end.port), b.node.port(other.port));
        a.node.set_active_speed(end.port, agreed);
        b.node.set_active_speed(other.port, agreed);
        a.node.set_link(end.port, true);
        b.node.set_link(other.port, true);
    }
    settle(end.node);
    settle(other.node);
}

std::vector<std::uint8_t> Mesh::hand_on_updates(NodeId id) {
    std::vector<std::uint8_t> moved;
    while (const std::optional<PlaneUpdate> update = nodes_[id].node.poll_update()) {
        updates_.push_back({id, *update});
        if (const auto* const port = std::get_if<PortUpdate>(&*update);
            port != nullptr && port->port != 0) {
            moved.push_back(port->port);
        }
    }
    return moved;
}

void Mesh::settle(NodeId id) {
    hand_on_updates(id);
    const Entry& entry = nodes_[id];
    if (entry.powered && !entry.outside && entry.node.next_trap_ns() != UINT64_MAX) {
        trapping_.insert(id);
    } else {
        trapping_.erase(id);
    }
}

bool Mesh::can_send(End from, bool on_vl15) const {
    const Entry& entry = nodes_[from.node];
    return entry.powered && from.port != 0 && from.port < entry.peers.size() &&
           entry.peers[from.port].node != kNoNode && link_up(entry.node, from.port, on_vl15);
}

std::optional<End> Mesh::route(End from, Lid dlid, bool on_vl15) const {
    std::optional<Refusal> refused;
    return walk(from, dlid, on_vl15, nullptr, refused);
}

std::optional<End> Mesh::pass_cable(End from, std::uint8_t in, const mad::Packet* packet,
                                    bool on_vl15, bool directed) const {
    const End to = peer(from);
    if (cables_ != nullptr && packet != nullptr) {
        const std::uint8_t vl =
            on_vl15 ? wire::kVlManagement : nodes_[from.node].node.vl(in, from.port, packet->sl);
        if (!cables_->passes({from, to, vl, directed, *packet})) {
            return std::nullopt;
        }
    }
    return to;
}

/// The mesh as sw::follow_unicast() sees it for one packet that is forwarded by LID.
class Mesh::Way {
  public:
    using Place = End;

    /// `packet` is nullptr if the caller only asks where a packet would go.
    Way(const Mesh& mesh, bool on_vl15, const mad::Packet* packet)
        : mesh_(mesh), packet_(packet), on_vl15_(on_vl15) {}

    class Switch {
      public:
        Switch(const Way& way, NodeId id)
            : way_(&way), node_(&way.mesh_.nodes_[id].node), id_(id) {}

        NodeId id() const { return id_; }
        bool is_active(std::uint8_t port) const {
            return port == 0 ? link_up(*node_, 0, way_->on_vl15_)
                             : way_->mesh_.can_send({id_, port}, way_->on_vl15_);
        }
        bool lets_in(std::uint8_t port, PKey pkey) const {
            return node_->lets_pass(port, true, pkey);
        }
        bool lets_out(std::uint8_t port, PKey pkey) const {
            return node_->lets_pass(port, false, pkey);
        }
        std::uint8_t out_port(Lid dlid) const { return node_->forward(dlid); }
        std::optional<End> cross(std::uint8_t in, std::uint8_t out) const {
            return way_->mesh_.pass_cable({id_, out}, in, way_->packet_, way_->on_vl15_, false);
        }

      private:
        const Way* way_;
        const Node* node_;
        NodeId id_;
    };

    std::optional<Switch> switch_at(End at) const {
        const Entry& entry = mesh_.nodes_[at.node];
        return entry.outside || !entry.node.is_switch() ? std::nullopt
                                                        : std::optional(Switch(*this, at.node));
    }
    /// Returns whether a packet that has come to an end port is for this port.
    bool ends_at(End at, Lid dlid) const {
        const Entry& entry = mesh_.nodes_[at.node];
        return entry.outside ||
               (link_up(entry.node, at.port, on_vl15_) && entry.node.owns_lid(at.port, dlid));
    }

  private:
    const Mesh& mesh_;
    const mad::Packet* packet_;
    bool on_vl15_;
};

/// Returns the port that a packet to `dlid` gets to. Without `packet` this only answers a question.
/// With it, the cables on the way see the packet, and switches that enforce partitions check its
/// P_Key unless it is on VL15.
std::optional<End> Mesh::walk(End from, Lid dlid, bool on_vl15, const mad::Packet* packet,
                              std::optional<Refusal>& refused) const {
    if (dlid == kLidUnassigned || dlid > kLidUnicastMax || !nodes_[from.node].powered) {
        return std::nullopt;
    }
    if (nodes_[from.node].node.owns_lid(from.port, dlid)) {
        return from;
    }
    std::optional<End> at = from;
    if (!nodes_[from.node].node.is_switch()) {
        at = can_send(from, on_vl15) ? pass_cable(from, 0, packet, on_vl15, false) : std::nullopt;
    }
    if (!at) {
        return std::nullopt;
    }
    const Way way(*this, on_vl15, packet);
    const std::optional<PKey> pkey =
        packet != nullptr && !on_vl15 ? std::optional(packet->pkey) : std::nullopt;
    const std::optional<End> end = sw::follow_unicast(
        way, *at, dlid, pkey, [&](const Way::Switch& sw, std::uint8_t port, sw::Step step) {
            if (step == sw::Step::kRefusedIn || step == sw::Step::kRefusedOut) {
                refused = {{sw.id(), port}, step == sw::Step::kRefusedIn};
            }
        });
    return end && way.ends_at(*end, dlid) ? end : std::nullopt;
}

void Mesh::send(End from, const mad::Packet& packet, std::uint64_t now_ns) {
    if (!nodes_[from.node].powered) {
        return;
    }
    mad::Packet sent = packet;
    const Onward onward = arrival_.depart(nodes_[from.node].node, from, sent, now_ns);
    carry(from.node, onward, sent, now_ns);
}

/// The recursion is at most as deep as a directed route has hops, there and back.
void Mesh::carry(NodeId id, Onward onward, mad::Packet& packet, std::uint64_t now_ns) {
    const std::vector<std::uint8_t> moved = hand_on_updates(id);
    if (const std::optional<End> at = go_on(id, onward, packet)) {
        const Onward next = arrival_.arrive(nodes_[at->node].node, *at, packet, now_ns);
        carry(at->node, next, packet, now_ns);
    }
    // The answer has arrived by now, so a port that its manager disables still confirms it.
    for (const std::uint8_t port : moved) {
        train({id, port});
    }
    settle(id);
}

std::optional<End> Mesh::go_on(NodeId id, Onward onward, const mad::Packet& packet) {
    const End at{id, onward.port};
    switch (onward.kind) {
        case Onward::kOutOfPort:
            return go_out(at, packet);
        case Onward::kByLid:
            return go_by_lid(at, packet);
        case Onward::kToService:
            deliveries_.push_back({at, packet});
            break;
        case Onward::kNowhere:
            break;
    }
    return std::nullopt;
}

std::optional<End> Mesh::go_out(End from, const mad::Packet& packet) {
    if (!can_send(from, true)) {
        return std::nullopt;
    }
    const std::optional<End> next = pass_cable(from, 0, &packet, true, true);
    if (next && nodes_[next->node].outside) {
        outbound_.push_back({next->node, false, packet});
        return std::nullopt;
    }
    return next;
}

std::optional<End> Mesh::go_by_lid(End from, const mad::Packet& packet) {
    std::optional<Refusal> refused;
    const std::optional<End> end = walk(from, packet.dlid, is_subnet(packet), &packet, refused);
    if (refused) {
        wire::BadSwitchPKeyTrap seen;
        seen.lid1 = packet.slid;
        seen.lid2 = packet.dlid;
        seen.pkey = packet.pkey;
        seen.sl = packet.sl;
        seen.qp1 = packet.source;
        seen.qp2 = packet.destination;
        refuse_passage(refused->at, refused->inbound, seen, 1);
    }
    if (end && nodes_[end->node].outside) {
        outbound_.push_back({end->node, true, packet});
        return std::nullopt;
    }
    return end;
}

std::uint64_t Mesh::advance(std::uint64_t now_ns) {
    for (const Departure& trap : take_traps(now_ns)) {
        send(trap.from, trap.packet, now_ns);
    }
    return next_trap_ns();
}

std::vector<Departure> Mesh::take_traps(std::uint64_t now_ns) {
    std::vector<Departure> due;
    const std::vector<NodeId> pending(trapping_.begin(), trapping_.end());
    for (const NodeId id : pending) {
        Entry& entry = nodes_[id];
        const std::uint8_t port = entry.node.is_switch() ? 0 : 1;
        while (const std::optional<mad::Packet> trap = entry.node.poll_trap(now_ns)) {
            due.push_back({{id, port}, *trap});
        }
        settle(id);
    }
    return due;
}

std::uint64_t Mesh::next_trap_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const NodeId id : trapping_) {
        next = std::min(next, nodes_[id].node.next_trap_ns());
    }
    return next;
}

std::optional<Delivery> Mesh::poll_delivery() {
    if (deliveries_.empty()) {
        return std::nullopt;
    }
    Delivery delivery = std::move(deliveries_.front());
    deliveries_.pop_front();
    return delivery;
}

std::optional<Outbound> Mesh::poll_outbound() {
    if (outbound_.empty()) {
        return std::nullopt;
    }
    const Outbound outbound = outbound_.front();
    outbound_.pop_front();
    return outbound;
}

std::optional<NodeUpdate> Mesh::poll_update() {
    if (updates_.empty()) {
        return std::nullopt;
    }
    const NodeUpdate update = updates_.front();
    updates_.pop_front();
    return update;
}

}  // namespace softib::agent
