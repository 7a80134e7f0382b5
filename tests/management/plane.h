// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A whole management plane: agents of all nodes, our manager with its administration on the first
// switch, and a program's end of the multi-packet protocol on the first host. Joined as the daemon
// joins them.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/agent/from_fabric.h"
#include "core/agent/rmpp_endpoint.h"
#include "core/sm/manager.h"
#include "core/sm/sa/subnet_admin.h"
#include "rig.h"

namespace softib::sm {

class Plane {
  public:
    Plane(const topo::Spec& spec, ManagerConfig config)
        : fabric_(*topo::generate(spec)),
          mesh(agent::make_mesh(fabric_, counters_)),
          root(first_switch()),
          manager(at_root(config)),
          admin(manager.subnet(), admin_config(config, mesh.node(root).spec().ports[0].guid)) {
        mesh.set_capability({root, 0}, wire::port_capability::kIsSM, true);
        manager.start(now_ns);
        drive();
    }

    /// One packet of the manager, and what comes of it.
    void step() {
        if (const auto out = manager.poll_transmit(now_ns)) {
            send_from_manager(*out);
        }
        take_deliveries();
    }
    /// Until nobody has anything to say any more.
    void drive() {
        for (bool busy = true; busy;) {
            mesh.advance(now_ns);
            busy = take_deliveries();
            while (const auto out = manager.poll_transmit(now_ns)) {
                busy = true;
                send_from_manager(*out);
                take_deliveries();
            }
            while (const auto event = manager.poll_event()) {
                follow(*event);
            }
            busy = answer_admin() || busy;
            busy = pump(rmpp, {root, 0}) || busy;
            busy = pump(program, {0, 1}) || busy;
        }
        while (mesh.poll_change()) {
        }
    }
    void wait(std::uint64_t ns) {
        const std::uint64_t end = now_ns + ns;
        while (now_ns < end) {
            now_ns = std::min(end, now_ns + 50'000'000);
            manager.handle_timeout(now_ns);
            admin.handle_timeout(now_ns);
            rmpp.handle_timeout(now_ns);
            program.handle_timeout(now_ns);
            drive();
        }
    }
    Lid lid(std::uint32_t node) const {
        return mesh.node(node).port(mesh.node(node).is_switch() ? 0 : 1).lid;
    }

  private:
    std::uint32_t first_switch() const {
        std::uint32_t i = 0;
        while (!mesh.node(i).is_switch()) {
            ++i;
        }
        return i;
    }
    ManagerConfig at_root(ManagerConfig config) const {
        config.port = 0;
        config.port_guid = mesh.node(root).spec().ports[0].guid;
        return config;
    }
    static SaConfig admin_config(const ManagerConfig& manager, Guid port_guid) {
        SaConfig config;
        config.sm_key = manager.sm_key;
        config.port_guid = port_guid;
        return config;
    }
    void send_from_manager(const Manager::Transmit& out) {
        agent::Packet packet;
        packet.mad = out.mad;
        packet.dlid = out.dlid;
        mesh.send({root, 0}, packet, now_ns);
    }
    bool take_deliveries() {
        bool any = false;
        while (const auto delivery = mesh.poll_delivery()) {
            any = true;
            const agent::Packet& packet = delivery->packet;
            const auto mgmt_class = wire::Mad<const std::uint8_t>(packet.mad).mgmt_class();
            const agent::RmppPeer peer{packet.slid, packet.source, packet.pkey, packet.sl};
            if (delivery->at.node == root && (mgmt_class == wire::MgmtClass::kSubnLidRouted ||
                                              mgmt_class == wire::MgmtClass::kSubnDirectedRoute)) {
                manager.handle(packet.mad, packet.slid, now_ns);
            } else if (delivery->at.node == root && mgmt_class == wire::MgmtClass::kSubnAdm) {
                rmpp.handle_mad(peer, packet.mad, now_ns);
            } else if (delivery->at.node == 0) {
                program.handle_mad(peer, packet.mad, now_ns);
            }
        }
        return any;
    }
    void follow(const ManagerEvent& event) {
        if (event.kind == ManagerEvent::kTrap) {
            admin.report_trap(event.notice, now_ns);
        }
    }
    bool answer_admin() {
        bool any = false;
        while (auto event = rmpp.poll_event()) {
            any = true;
            if (event->kind == agent::RmppEvent::kReceived) {
                const agent::RmppPeer& peer = event->peer;
                admin.submit(std::move(event->message), {peer.lid, peer.qp, peer.pkey, peer.sl});
            }
        }
        const auto send = [&](const SaPeer& to, std::vector<std::uint8_t> message) {
            any = true;
            static_cast<void>(
                rmpp.send({to.lid, to.qp, to.pkey, to.sl}, std::move(message), 0, now_ns));
        };
        while (auto answer = admin.poll_answer(now_ns)) {
            send(answer->to, std::move(answer->message));
        }
        while (auto report = admin.poll_report()) {
            send(report->to, std::move(report->message));
        }
        while (const auto mlid = admin.poll_changed_mlid()) {
            mlids_changed = true;
        }
        return any;
    }
    bool pump(agent::RmppEndpoint& endpoint, agent::End from) {
        bool any = false;
        while (const auto out = endpoint.poll_transmit()) {
            any = true;
            agent::Packet packet;
            packet.mad = out->mad;
            packet.dlid = out->peer.lid;
            packet.source = agent::kQpnServices;
            packet.destination = out->peer.qp;
            packet.qkey = agent::kQKeyServices;
            packet.pkey = out->peer.pkey;
            packet.sl = out->peer.sl;
            mesh.send(from, packet, now_ns);
            take_deliveries();
        }
        while (&endpoint == &program && endpoint.poll_event()) {
            any = true;
        }
        return any;
    }

    topo::Fabric fabric_;
    NoCounters counters_;

  public:
    agent::Mesh mesh;
    std::uint32_t root;
    Manager manager;
    SubnetAdmin admin;
    agent::RmppEndpoint rmpp;     ///< The administration's.
    agent::RmppEndpoint program;  ///< Of a program on the first host.
    bool mlids_changed = false;
    std::uint64_t now_ns = 1'000'000'000;
};

}  // namespace softib::sm
