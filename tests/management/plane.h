// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A whole management plane: agents of all nodes, our subnet manager with its SA on the first
// switch, and a program's end of RMPP on the first host.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/agent/from_fabric.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/sm/service/subnet_service.h"
#include "core/topo/spec.h"
#include "rig.h"

namespace softib::sm {

class Plane {
  public:
    Plane(const topo::Spec& spec, const ManagerConfig& config)
        : fabric_(*topo::generate(spec)),
          mesh(agent::make_mesh(fabric_, counters_)),
          root(first_switch()),
          service(at_root(config)),
          manager(service.manager()) {
        mesh.set_capability({root, 0}, wire::port_capability::kIsSM, true);
        service.start(now_ns);
        drive();
    }

    /// Sends one packet of the manager, and delivers what follows from it.
    void step() {
        if (const auto out = service.poll_transmit(now_ns)) {
            mesh.send({root, 0}, *out, now_ns);
        }
        take_deliveries();
    }
    /// Delivers packets until no node has one to send.
    void drive() {
        for (bool busy = true; busy;) {
            mesh.advance(now_ns);
            busy = take_deliveries();
            while (const auto out = service.poll_transmit(now_ns)) {
                busy = true;
                mesh.send({root, 0}, *out, now_ns);
                take_deliveries();
            }
            while (service.poll_event()) {
            }
            busy = run_program() || busy;
        }
        while (mesh.poll_update()) {
        }
    }
    void wait(std::uint64_t ns) {
        const std::uint64_t end = now_ns + ns;
        while (now_ns < end) {
            now_ns = std::min(end, now_ns + 50'000'000);
            service.handle_timeout(now_ns);
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
    static bool is_for_manager(const mad::Packet& packet) {
        const auto mgmt_class = wire::Mad<const std::uint8_t>(packet.mad).mgmt_class();
        return std::ranges::find(SubnetService::kClasses, mgmt_class) !=
               SubnetService::kClasses.end();
    }
    bool take_deliveries() {
        bool any = false;
        while (const auto delivery = mesh.poll_delivery()) {
            any = true;
            const mad::Packet& packet = delivery->packet;
            if (delivery->at.node == root && is_for_manager(packet)) {
                service.handle(packet, now_ns);
            } else if (delivery->at.node == 0) {
                program.handle_mad({packet.slid, packet.source, packet.pkey, packet.sl}, packet.mad,
                                   now_ns);
            }
        }
        return any;
    }
    bool run_program() {
        bool any = false;
        while (const auto out = program.poll_transmit()) {
            any = true;
            mesh.send({0, 1}, mad::to_packet(*out), now_ns);
            take_deliveries();
        }
        while (program.poll_event()) {
            any = true;
        }
        return any;
    }

    topo::Fabric fabric_;
    NoCounters counters_;

  public:
    agent::Mesh mesh;
    std::uint32_t root;
    SubnetService service;
    Manager& manager;
    mad::RmppEndpoint program;  ///< The RMPP endpoint of a program on the first host.
    std::uint64_t now_ns = 1'000'000'000;
};

}  // namespace softib::sm
