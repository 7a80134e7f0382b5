// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/mesh.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "core/mad/directed_route.h"
#include "core/wire/link.h"

namespace softib::agent {

namespace {

using wire::MgmtClass;
using wire::PortState;

/// No path in a sound subnet is longer; a loop in the tables ends here.
constexpr std::uint32_t kHopsMax = 64;

MgmtClass class_of(const mad::Packet& packet) {
    return wire::Mad<const std::uint8_t>(packet.mad).mgmt_class();
}

bool is_subnet(const mad::Packet& packet) {
    const MgmtClass c = class_of(packet);
    return c == MgmtClass::kSubnLidRouted || c == MgmtClass::kSubnDirectedRoute;
}

bool link_up(const Node& node, std::uint8_t port, bool on_vl15) {
    const PortState state = node.port(port).port_state;
    return on_vl15 ? state >= PortState::kInit : state == PortState::kActive;
}

/// What our agents of general services answer or drop, and nobody else ever sees.
bool is_for_agent(const mad::Packet& packet) {
    const wire::Method method = wire::Mad<const std::uint8_t>(packet.mad).method();
    const MgmtClass c = class_of(packet);
    return (c == MgmtClass::kPerf || c == MgmtClass::kCongestion) &&
           (method == wire::Method::kGet || method == wire::Method::kSet);
}

void turn_round(mad::Packet& packet) {
    std::swap(packet.slid, packet.dlid);
    std::swap(packet.source, packet.destination);
}

std::uint8_t best(std::uint8_t a, std::uint8_t b) {
    return std::bit_floor(static_cast<std::uint8_t>(a & b));
}

/// What two ports agree on when their link trains: the best that both are enabled for.
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
    const bool directed = class_of(inbound.packet) == MgmtClass::kSubnDirectedRoute;
    if (at.node != kNoNode && nodes_[at.node].powered && (directed || inbound.by_lid) &&
        link_up(nodes_[at.node].node, at.port, is_subnet(inbound.packet)) &&
        pass_cable({inbound.node, 1}, 0, &inbound.packet, is_subnet(inbound.packet),
                   !inbound.by_lid)) {
        carry({at, inbound.packet, inbound.by_lid}, now_ns);
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
        // It comes back as it was built, and whoever moves data by it hears of every table.
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

/// Brings both ends of a cable to the state they agree on. A port that its manager took down has
/// left the link: the other end sees it go, and both train anew.
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

/// After anything was done to a node: hands its changes on and notes whether it has traps to send.
void Mesh::settle(NodeId id) {
    Entry& entry = nodes_[id];
    while (const std::optional<PlaneUpdate> update = entry.node.poll_update()) {
        updates_.push_back({id, *update});
    }
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

/// Where there is a packet, not only the question, it is seen on its way, and switches that enforce
/// partitions look at the P_Key of one that is not on VL15.
std::optional<End> Mesh::walk(End from, Lid dlid, bool on_vl15, const mad::Packet* packet,
                              std::optional<Refusal>& refused) const {
    const bool guarded = packet != nullptr && !on_vl15;
    if (dlid == kLidUnassigned || dlid > kLidUnicastMax || !nodes_[from.node].powered) {
        return std::nullopt;
    }
    End at = from;
    if (nodes_[at.node].node.owns_lid(at.port, dlid)) {
        return at;
    }
    if (!nodes_[at.node].node.is_switch()) {
        if (!can_send(at, on_vl15)) {
            return std::nullopt;
        }
        const auto next = pass_cable(at, 0, packet, on_vl15, false);
        if (!next) {
            return std::nullopt;
        }
        at = *next;
    }
    for (std::uint32_t hops = 0; hops < kHopsMax; ++hops) {
        if (nodes_[at.node].outside) {
            return at;
        }
        const Node& node = nodes_[at.node].node;
        if (!link_up(node, at.port, on_vl15)) {
            return std::nullopt;
        }
        if (!node.is_switch()) {
            return node.owns_lid(at.port, dlid) ? std::optional(at) : std::nullopt;
        }
        if (guarded && !node.lets_pass(at.port, true, packet->pkey)) {
            refused = {at, true};
            return std::nullopt;
        }
        const std::uint8_t out = node.forward(dlid);
        if (out == 0) {
            return node.owns_lid(0, dlid) ? std::optional(End{at.node, 0}) : std::nullopt;
        }
        if (out == sw::kNoPath || !can_send({at.node, out}, on_vl15)) {
            return std::nullopt;
        }
        if (guarded && !node.lets_pass(out, false, packet->pkey)) {
            refused = {{at.node, out}, false};
            return std::nullopt;
        }
        const auto next = pass_cable({at.node, out}, at.port, packet, on_vl15, false);
        if (!next) {
            return std::nullopt;
        }
        at = *next;
    }
    return std::nullopt;
}

void Mesh::send(End from, const mad::Packet& packet, std::uint64_t now_ns) {
    if (!nodes_[from.node].powered) {
        return;
    }
    const Lid own = nodes_[from.node].node.port(nodes_[from.node].node.base_port(from.port)).lid;
    Travelling t{from, packet, false};
    if (t.packet.slid == kLidUnassigned) {
        t.packet.slid = own;
    }
    if (class_of(packet) == MgmtClass::kSubnDirectedRoute) {
        const wire::Smp<const std::uint8_t> smp(packet.mad);
        t.by_lid = packet.dlid != kLidPermissive &&
                   !nodes_[from.node].node.owns_lid(from.port, packet.dlid) &&
                   smp.dr_slid() != kLidPermissive && !smp.direction();
        if (!t.by_lid) {
            t.at.port = smp.direction() ? from.port : 0;
        }
    } else {
        t.by_lid = true;
    }
    carry(t, now_ns);
}

void Mesh::carry(Travelling first, std::uint64_t now_ns) {
    std::optional<Travelling> t = std::move(first);
    while (t) {
        if (t->by_lid) {
            t = carry_by_lid(std::move(*t));
            if (!t) {
                return;
            }
        }
        if (class_of(t->packet) == MgmtClass::kSubnDirectedRoute) {
            t = pass_directed(std::move(*t), now_ns);
        } else if (is_subnet(t->packet)) {
            t = arrive_smp(std::move(*t), now_ns);
        } else {
            t = arrive_service(std::move(*t), now_ns);
        }
    }
}

std::optional<Mesh::Travelling> Mesh::carry_by_lid(Travelling t) {
    const bool subnet = is_subnet(t.packet);
    std::optional<Refusal> refused;
    const std::optional<End> end = walk(t.at, t.packet.dlid, subnet, &t.packet, refused);
    if (refused) {
        wire::BadSwitchPKeyTrap seen;
        seen.lid1 = t.packet.slid;
        seen.lid2 = t.packet.dlid;
        seen.pkey = t.packet.pkey;
        seen.sl = t.packet.sl;
        seen.qp1 = t.packet.source;
        seen.qp2 = t.packet.destination;
        refuse_passage(refused->at, refused->inbound, seen, 1);
    }
    if (!end) {
        return std::nullopt;
    }
    if (nodes_[end->node].outside) {
        outbound_.push_back({end->node, true, t.packet});
        return std::nullopt;
    }
    t.at = *end;
    t.by_lid = false;
    return t;
}

std::optional<Mesh::Travelling> Mesh::pass_directed(Travelling t, std::uint64_t now_ns) {
    const Node& node = nodes_[t.at.node].node;
    const mad::RouteStep step =
        mad::step_directed_route(t.packet.mad, t.at.port, node.is_switch(), node.port_count());
    switch (step.kind) {
        case mad::RouteStep::kForward: {
            if (!can_send({t.at.node, step.port}, true)) {
                return std::nullopt;
            }
            const auto next = pass_cable({t.at.node, step.port}, 0, &t.packet, true, true);
            if (!next) {
                return std::nullopt;
            }
            t.at = *next;
            if (nodes_[t.at.node].outside) {
                outbound_.push_back({t.at.node, false, t.packet});
                return std::nullopt;
            }
            return t;
        }
        case mad::RouteStep::kByLid: {
            const wire::Smp<const std::uint8_t> smp(t.packet.mad);
            t.packet.dlid = smp.direction() ? smp.dr_slid() : smp.dr_dlid();
            t.by_lid = true;
            return t;
        }
        case mad::RouteStep::kToAgent:
            return arrive_smp(std::move(t), now_ns);
        case mad::RouteStep::kToManager:
            deliveries_.push_back(
                {{t.at.node,
                  node.is_switch() ? std::uint8_t{0} : std::max<std::uint8_t>(t.at.port, 1)},
                 t.packet});
            return std::nullopt;
        case mad::RouteStep::kDiscard:
            break;
    }
    return std::nullopt;
}

/// A request at its destination: the agent answers, or a manager on this node gets it.
std::optional<Mesh::Travelling> Mesh::arrive_smp(Travelling t, std::uint64_t now_ns) {
    Entry& entry = nodes_[t.at.node];
    const auto method = wire::Mad<const std::uint8_t>(t.packet.mad).method();
    const bool is_response = (static_cast<unsigned>(method) & wire::kMethodResponseBit) != 0;
    if (is_response || Node::is_for_manager(t.packet.mad)) {
        const std::uint8_t port =
            entry.node.is_switch() ? std::uint8_t{0} : std::max<std::uint8_t>(t.at.port, 1);
        deliveries_.push_back({{t.at.node, port}, t.packet});
        return std::nullopt;
    }
    const std::uint8_t in_port =
        entry.node.is_switch() ? t.at.port : std::max<std::uint8_t>(t.at.port, 1);
    std::optional<wire::MadBytes> answer =
        entry.node.receive_smp(t.packet.mad, in_port, now_ns, t.packet.slid);
    // The answer leaves before the port it changed does.
    const bool directed = class_of(t.packet) == MgmtClass::kSubnDirectedRoute;
    std::optional<Travelling> back;
    if (answer) {
        t.packet.mad = *answer;
        turn_round(t.packet);
        if (directed) {
            wire::Smp<std::uint8_t>(t.packet.mad).set_direction(true);
        }
        t.by_lid = !directed;
        back = std::move(t);
    }
    const NodeId id = static_cast<NodeId>(&entry - nodes_.data());
    std::vector<std::uint8_t> moved;
    while (const std::optional<PlaneUpdate> update = entry.node.poll_update()) {
        updates_.push_back({id, *update});
        if (const auto* const port = std::get_if<PortUpdate>(&*update);
            port != nullptr && port->port != 0) {
            moved.push_back(port->port);
        }
    }
    if (back && !moved.empty()) {
        // Carried home first: a port that its manager disables still says that it did.
        carry(std::move(*back), now_ns);
        back.reset();
    }
    for (const std::uint8_t port : moved) {
        train({id, port});
    }
    settle(id);
    return back;
}

/// What the port takes it takes by an entry of its own table, and answers with that: two limited
/// members' keys would not match.
bool Mesh::accepts(End at, mad::Packet& packet) {
    Node& node = nodes_[at.node].node;
    const std::uint8_t port = node.base_port(at.port);
    wire::BadKeyTrap seen;
    seen.lid1 = packet.slid;
    seen.lid2 = packet.dlid;
    seen.sl = packet.sl;
    seen.qp1 = packet.source;
    seen.qp2 = packet.destination;
    seen.gid1 = Gid::from(node.port(port).gid_prefix, Guid{0});
    seen.gid2 = Gid::from(node.port(port).gid_prefix, node.spec().ports[port].guid);
    if (packet.qkey != mad::kQKeyServices) {
        seen.key = packet.qkey.value;
        bad_key({at.node, port}, seen, true, 1);
        return false;
    }
    for (std::uint16_t i = 0; i < node.spec().pkeys; ++i) {
        if (matches(node.pkey(port, i), packet.pkey)) {
            packet.pkey = node.pkey(port, i);
            return true;
        }
    }
    seen.key = packet.pkey.value;
    bad_key({at.node, port}, seen, false, 1);
    return false;
}

std::optional<wire::MadBytes> Mesh::ask_agents(End at, const wire::MadBytes& request,
                                               std::uint64_t now_ns) {
    Node& node = nodes_[at.node].node;
    if (const auto answer = perf_.answer(node, at.node, request, counters_)) {
        return answer;
    }
    auto answer = node.receive_congestion(request, node.base_port(at.port), now_ns);
    settle(at.node);
    return answer;
}

std::optional<Mesh::Travelling> Mesh::arrive_service(Travelling t, std::uint64_t now_ns) {
    if (t.packet.destination != mad::kQpnServices || !accepts(t.at, t.packet)) {
        return std::nullopt;
    }
    const Node& node = nodes_[t.at.node].node;
    if (const auto answer = ask_agents(t.at, t.packet.mad, now_ns)) {
        Travelling back = t;
        back.packet.mad = *answer;
        turn_round(back.packet);
        back.by_lid = true;
        return back;
    }
    if (!is_for_agent(t.packet)) {
        deliveries_.push_back({{t.at.node, node.base_port(t.at.port)}, t.packet});
    }
    return std::nullopt;
}

std::uint64_t Mesh::advance(std::uint64_t now_ns) {
    const std::vector<NodeId> pending(trapping_.begin(), trapping_.end());
    for (const NodeId id : pending) {
        Entry& entry = nodes_[id];
        while (entry.powered) {
            const std::optional<mad::Packet> trap = entry.node.poll_trap(now_ns);
            if (!trap) {
                break;
            }
            send({id, entry.node.is_switch() ? std::uint8_t{0} : std::uint8_t{1}}, *trap, now_ns);
        }
        settle(id);
    }
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
