// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/management.h"

#include <algorithm>

#include "core/agent/from_fabric.h"
#include "runtime/live/builder.h"
#include "runtime/live/counters.h"
#include "runtime/live/log.h"
#include "runtime/live/shm_lock.h"

namespace softib::live {

Management::Management(const Arena& arena, ChannelWriter& events, const topo::Fabric& fabric,
                       const ManagementOptions& options)
    : arena_(arena),
      mesh_(agent::make_mesh(fabric, *this)),
      writer_(arena, events, place_nodes(fabric)),
      hca_nodes_(arena.header->hcas, agent::kNoNode),
      switch_nodes_(arena.header->switches, agent::kNoNode) {
    for (agent::NodeId i = 0; i < mesh_.size(); ++i) {
        const NodeRef& place = writer_.place(i);
        if (place.kind == NodeRef::kHca) {
            hca_nodes_[place.index] = i;
        } else if (place.kind == NodeRef::kSwitch) {
            switch_nodes_[place.index] = i;
        }
    }
    if (options.own_manager) {
        // On the first switch; a fabric without one is managed by its first adapter.
        manager_at_ = switch_nodes_.empty() ? agent::End{hca_nodes_[0], 1}
                                            : agent::End{switch_nodes_[0], 0};
        sm::ManagerConfig config = options.manager;
        config.port = manager_at_.port;
        config.port_guid = mesh_.node(manager_at_.node).spec().ports[manager_at_.port].guid;
        // A dumped fabric keeps the LIDs it was dumped with.
        for (const topo::Node& node : fabric.nodes) {
            if (node.lid != kLidUnassigned) {
                const bool is_switch = node.kind == topo::NodeKind::kSwitch;
                const PortNum port{static_cast<std::uint8_t>(is_switch ? 0 : 1)};
                config.lids.try_emplace(topo::port_guid(node, port).value, node.lid);
            }
        }
        manager_.emplace(config);
        sm::SaConfig admin;
        if (config.sm_key != 0) {
            admin.sm_key = config.sm_key;
        }
        admin.port_guid = config.port_guid;
        admin.paths.sl = [this](Lid from, Lid to) { return manager_->sl(from, to); };
        admin_.emplace(manager_->subnet(), std::move(admin));
        static_cast<void>(admin_->add_group(sm::ipoib_broadcast_group(kPKeyDefaultFull), 0));
    }
}

void Management::start(std::uint64_t now_ns) {
    if (manager_) {
        mesh_.set_capability(manager_at_, wire::port_capability::kIsSM, true);
        manager_->start(now_ns);
    }
    run(now_ns);
}

std::uint64_t Management::run(std::uint64_t now_ns) {
    std::uint64_t next = mesh_.advance(now_ns);
    if (manager_ && manager_->next_timeout_ns() <= now_ns) {
        manager_->handle_timeout(now_ns);
    }
    drive(now_ns);
    next = std::min(next, mesh_.advance(now_ns));
    if (manager_) {
        next = std::min({next, manager_->next_timeout_ns(), admin_rmpp_.next_timeout_ns(),
                         admin_->next_timeout_ns()});
    }
    return next;
}

/// Carries what the manager and the programs have to say until all is said.
void Management::drive(std::uint64_t now_ns) {
    for (bool busy = true; busy;) {
        busy = false;
        while (const auto arrived = mesh_.poll_delivery()) {
            busy = true;
            deliver(*arrived, now_ns);
        }
        if (manager_) {
            if (const auto out = manager_->poll_transmit(now_ns)) {
                busy = true;
                agent::Packet packet;
                packet.mad = out->mad;
                packet.dlid = out->dlid;
                mesh_.send(manager_at_, packet, now_ns);
                continue;
            }
            busy = follow_manager(now_ns) || busy;
            busy = answer_admin(now_ns) || busy;
            busy = follow_groups(now_ns) || busy;
        }
        if (!busy) {
            mesh_.advance(now_ns);  // A sweep may have raised traps.
            busy = writer_.apply(mesh_);
        }
    }
}

void Management::deliver(const agent::Delivery& delivery, std::uint64_t now_ns) {
    const wire::Mad<const std::uint8_t> header(delivery.packet.mad);
    const bool at_manager = manager_ && delivery.at.node == manager_at_.node;
    const bool is_subnet = header.mgmt_class() == wire::MgmtClass::kSubnLidRouted ||
                           header.mgmt_class() == wire::MgmtClass::kSubnDirectedRoute;
    // A program's transactions have a number in the upper half, the manager's have none.
    const bool is_response =
        (static_cast<unsigned>(header.method()) & wire::kMethodResponseBit) != 0;
    if (at_manager && is_subnet && (!is_response || header.transaction_id() >> 32 == 0)) {
        manager_->handle(delivery.packet.mad, delivery.packet.slid, now_ns);
        return;
    }
    if (at_manager && header.mgmt_class() == wire::MgmtClass::kSubnAdm &&
        (!is_response || header.transaction_id() >> 32 == 0)) {
        const agent::Packet& packet = delivery.packet;
        admin_rmpp_.handle_mad({packet.slid, packet.source, packet.pkey, packet.sl}, packet.mad, now_ns);
        return;
    }
    const NodeRef& place = writer_.place(delivery.at.node);
    if (place.kind == NodeRef::kHca) {
        deliveries_.push_back({place.index, delivery.packet});
        return;
    }
    // A switch has no programs: a request that its agents do not know gets a polite no.
    if (!is_subnet && (header.method() == wire::Method::kGet || header.method() == wire::Method::kSet)) {
        agent::Packet answer = delivery.packet;
        answer.mad = wire::respond_with_status(answer.mad, wire::mad_status::kUnsupportedClass);
        std::swap(answer.slid, answer.dlid);
        std::swap(answer.source, answer.destination);
        mesh_.send(delivery.at, answer, now_ns);
    }
}

bool Management::follow_manager(std::uint64_t now_ns) {
    bool any = false;
    while (const auto event = manager_->poll_event()) {
        any = true;
        switch (event->kind) {
            case sm::ManagerEvent::kRoutingFailed:
                log_warning("subnet manager: {}", event->text);
                break;
            case sm::ManagerEvent::kPortAppeared: {
                const sm::EndPort port{event->node, event->port};
                admin_->report_port(sm::gid_of(manager_->subnet(), port), true,
                                    manager_->subnet().port(port).pkeys, now_ns);
                break;
            }
            case sm::ManagerEvent::kPortVanished: {
                const Gid gid = Gid::from(manager_->config().gid_prefix, event->guid);
                const auto port = manager_->subnet().by_port_guid(event->guid);
                admin_->report_port(
                    gid, false,
                    port ? manager_->subnet().port(*port).pkeys : std::vector<PKey>{}, now_ns);
                admin_->forget_port(gid, now_ns);
                break;
            }
            case sm::ManagerEvent::kTrap:
                admin_->report_trap(event->notice, now_ns);
                break;
            case sm::ManagerEvent::kSubnetUp: {
                log_info("subnet manager: subnet is up, {} SMPs sent so far",
                         manager_->stats().smps_sent);
                std::vector<wire::SmInfoRecord> managers;
                managers.push_back({.lid = manager_->own_lid(), .sm_info = manager_->own_info()});
                for (const auto& [guid, other] : manager_->others()) {
                    managers.push_back({.lid = manager_->subnet().port(other.at).info.lid,
                                        .sm_info = other.info});
                }
                admin_->set_managers(std::move(managers));
                break;
            }
            default:
                break;
        }
    }
    return any;
}

/// Requests to the administration, put together, and its answers, cut into MADs.
bool Management::answer_admin(std::uint64_t now_ns) {
    bool any = false;
    const auto send_out = [&](const sm::SaPeer& to, std::vector<std::uint8_t> message) {
        any = true;
        return admin_rmpp_.send({to.lid, to.qp, to.pkey, to.sl}, std::move(message), 0, now_ns);
    };
    admin_rmpp_.handle_timeout(now_ns);
    while (auto event = admin_rmpp_.poll_event()) {
        any = true;
        if (event->kind != agent::RmppEvent::kReceived ||
            manager_->state() != wire::SmState::kMaster) {
            continue;
        }
        const agent::RmppPeer& peer = event->peer;
        admin_->submit(std::move(event->message), {peer.lid, peer.qp, peer.pkey, peer.sl});
    }
    while (auto answer = admin_->poll_answer(now_ns)) {
        std::vector<std::uint8_t> busy = sm::SubnetAdmin::busy_instead(answer->message);
        const auto sent = send_out(answer->to, std::move(answer->message));
        // Who has too many answers on their way to him may ask again later.
        if (!sent && sent.error() == agent::RmppRefusal::kBusy) {
            static_cast<void>(send_out(answer->to, std::move(busy)));
        }
    }
    admin_->handle_timeout(now_ns);
    while (auto report = admin_->poll_report()) {
        static_cast<void>(send_out(report->to, std::move(report->message)));
    }
    while (const auto out = admin_rmpp_.poll_transmit()) {
        any = true;
        agent::Packet packet;
        packet.mad = out->mad;
        packet.dlid = out->peer.lid;
        packet.source = agent::kQpnServices;
        packet.destination = out->peer.qp;
        packet.qkey = agent::kQKeyServices;
        packet.pkey = out->peer.pkey;
        packet.sl = out->peer.sl;
        mesh_.send(manager_at_, packet, now_ns);
    }
    return any;
}

/// Who joins or leaves a group changes its tree.
bool Management::follow_groups(std::uint64_t now_ns) {
    bool any = false;
    while (const std::optional<Lid> mlid = admin_->poll_changed_mlid()) {
        any = true;
        std::erase_if(trees_, [&](const sm::McastTree& tree) { return tree.mlid == *mlid; });
        sm::McastTree tree{*mlid, {}};
        for (const auto& member : admin_->members_of(*mlid)) {
            tree.members.push_back(member.port);
        }
        if (!tree.members.empty()) {
            trees_.push_back(std::move(tree));
        }
    }
    if (any) {
        manager_->set_groups(trees_, now_ns);
    }
    return any;
}

void Management::send(std::uint32_t hca, const agent::Packet& packet, std::uint64_t now_ns) {
    mesh_.send({hca_nodes_[hca], 1}, packet, now_ns);
    drive(now_ns);
}

std::optional<Management::Delivery> Management::poll_delivery() {
    if (deliveries_.empty()) {
        return std::nullopt;
    }
    Delivery delivery = std::move(deliveries_.front());
    deliveries_.pop_front();
    return delivery;
}

agent::NodeId Management::node_of(const NodeRef& place) const {
    if (place.kind == NodeRef::kHca && place.index < hca_nodes_.size()) {
        return hca_nodes_[place.index];
    }
    if (place.kind == NodeRef::kSwitch && place.index < switch_nodes_.size()) {
        return switch_nodes_[place.index];
    }
    return agent::kNoNode;
}

bool Management::set_plugged(const NodeRef& place, std::uint8_t port, bool plugged,
                             std::uint64_t now_ns) {
    const agent::NodeId node = node_of(place);
    if (node == agent::kNoNode || port == 0 || port > mesh_.node(node).port_count() ||
        mesh_.peer({node, port}).node == agent::kNoNode) {
        return false;
    }
    mesh_.set_plugged({node, port}, plugged);
    drive(now_ns);
    return true;
}

bool Management::set_powered(std::uint32_t sw, bool powered, std::uint64_t now_ns) {
    if (sw >= switch_nodes_.size()) {
        return false;
    }
    mesh_.set_powered(switch_nodes_[sw], powered);
    drive(now_ns);
    return true;
}

bool Management::set_route(std::uint32_t sw, Lid lid, std::uint8_t port, std::uint64_t now_ns) {
    if (sw >= switch_nodes_.size() || lid > kLidUnicastMax) {
        return false;
    }
    mesh_.set_route(switch_nodes_[sw], lid, port);
    drive(now_ns);
    return true;
}

bool Management::set_pkey(std::uint32_t hca, std::uint16_t index, PKey pkey, std::uint64_t now_ns) {
    if (hca >= hca_nodes_.size()) {
        return false;
    }
    mesh_.set_pkey({hca_nodes_[hca], 1}, index, pkey);
    if (manager_) {
        manager_->resweep(now_ns);  // It is to know.
    }
    drive(now_ns);
    return true;
}

void Management::set_is_manager(std::uint32_t hca, bool is_manager, std::uint64_t now_ns) {
    mesh_.set_capability({hca_nodes_[hca], 1}, wire::port_capability::kIsSM, is_manager);
    drive(now_ns);
}

/// Everything that programs did until now is in the totals, then they are whole.
void Management::refresh() {
    settle_all(arena_, kDaemonOwner);
}

agent::PortCounts Management::read(std::uint32_t node, std::uint8_t port) {
    const NodeRef& place = writer_.place(node);
    PortCounters seen;
    if (place.kind == NodeRef::kHca) {
        seen = read_totals(arena_.hcas[place.index].totals);
    } else if (place.kind == NodeRef::kSwitch && port < arena_.switches[place.index].port_count) {
        seen = read_totals(
            arena_.switch_ports[arena_.switches[place.index].port_first + port].totals);
    }
    agent::PortCounts counts;
    counts.xmit_packets = seen.xmit_packets;
    counts.xmit_words = seen.xmit_words;
    counts.rcv_packets = seen.rcv_packets;
    counts.rcv_words = seen.rcv_words;
    counts.multicast_xmit_packets = seen.multicast_xmit_packets;
    counts.multicast_rcv_packets = seen.multicast_rcv_packets;
    counts.xmit_discards = seen.xmit_discards;
    counts.rcv_switch_relay_errors = seen.relay_errors;
    counts.rcv_constraint_errors = seen.pkey_violations;
    return counts;
}

}  // namespace softib::live
