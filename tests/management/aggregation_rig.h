// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric of agents with a subnet manager on its first switch, an aggregation manager on the port
// of its first host, and a client that asks it for jobs on the port of the second. Time passes only
// when a test says so.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/agent/from_fabric.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/sharp/manager/job_client.h"
#include "core/sharp/manager/job_desk.h"
#include "core/sharp/manager/manager_service.h"
#include "core/sm/service/subnet_service.h"
#include "core/topo/spec.h"

namespace softib::sharp {

class ZeroCounters : public agent::CounterSource {
  public:
    counters::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
};

class AggregationRig {
  public:
    explicit AggregationRig(const topo::Spec& spec, const ManagerConfig& config = {})
        : fabric_(*topo::generate(spec)),
          mesh(agent::make_mesh(fabric_, counters_)),
          service(config) {
        for (std::uint32_t i = 0; i < fabric_.nodes.size(); ++i) {
            if (fabric_.nodes[i].kind == topo::NodeKind::kSwitch) {
                switches_.push_back(i);
            } else {
                hosts_.push_back(i);
            }
        }
        sm::ManagerConfig manager;
        manager.port = 0;
        manager.port_guid = mesh.node(switches_[0]).spec().ports[0].guid;
        subnet.emplace(manager);
        mesh.set_capability({switches_[0], 0}, wire::port_capability::kIsSM, true);
        subnet->start(now_ns);
        run();
    }

    /// Delivers MADs until no node has one to send.
    void run() {
        for (bool busy = true; busy;) {
            mesh.advance(now_ns);
            busy = deliver();
            if (const auto packet = subnet ? subnet->poll_transmit(now_ns) : std::nullopt) {
                mesh.send({switches_[0], 0}, *packet, now_ns);
                busy = true;
                continue;
            }
            know_subnet_manager();
            std::optional<mad::Packet> packet;
            if (const auto reply = rmpp_.poll_transmit()) {
                packet = mad::to_packet(*reply);
            } else {
                packet = service.poll_transmit(now_ns);
            }
            if (!packet) {
                packet = desk.poll_transmit();
            }
            if (packet) {
                mesh.send({hosts_[0], 1}, *packet, now_ns);
                busy = true;
            }
            if (const auto question = client.poll_transmit(now_ns)) {
                mesh.send({hosts_[1], 1}, *question, now_ns);
                busy = true;
            }
        }
        while (mesh.poll_update()) {
        }
    }
    void wait(std::uint64_t ns) {
        const std::uint64_t end = now_ns + ns;
        while (now_ns < end) {
            now_ns = std::min(end, now_ns + 50'000'000);
            if (subnet) {
                subnet->handle_timeout(now_ns);
            }
            rmpp_.handle_timeout(now_ns);
            service.handle_timeout(now_ns);
            desk.handle_timeout(now_ns);
            client.handle_timeout(now_ns);
            run();
        }
    }

    /// Replaces the manager by another one on the same port, which knows nothing of the first.
    void replace_manager() {
        service = ManagerService(ManagerConfig{});
        rmpp_ = mad::RmppEndpoint();
    }
    JobId make_job(const std::vector<std::uint32_t>& members) {
        const auto job =
            service.manager().create_job({.size = static_cast<std::uint32_t>(members.size())});
        EXPECT_TRUE(job);
        for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
            EXPECT_EQ(service.manager().join(*job, rank, lid(members[rank]), Qpn{0x800000 + rank}),
                      Error::kNone);
        }
        know_subnet_manager();
        service.freshen(now_ns);
        EXPECT_EQ(service.manager().start(*job), Error::kNone);
        run();
        return *job;
    }
    /// Asks the manager by MADs until it has decided. Returns its answer.
    wire::SharpJob ask(wire::SharpJob request) {
        while (true) {
            client.ask(1, lid(0), request);
            run();
            const auto answer = client.take(1);
            if (!answer) {
                ADD_FAILURE() << "no answer";
                return {};
            }
            if (!answer->pending) {
                return *answer;
            }
            request.pending = true;
        }
    }
    /// Returns the number of trees that the switches have, of all jobs.
    std::size_t trees() const {
        std::size_t count = 0;
        for (const std::uint32_t sw : switches_) {
            count += mesh.node(sw).aggregation()->trees().size();
        }
        return count;
    }
    Lid lid(std::uint32_t host) const { return mesh.node(hosts_[host]).port(1).lid; }
    std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
    const std::vector<std::uint32_t>& switches() const { return switches_; }
    /// Returns the aggregation node of a switch, by its GUID.
    std::uint32_t node_of(Guid guid) const {
        return *std::ranges::find_if(
            switches_, [&](std::uint32_t sw) { return mesh.node(sw).spec().node_guid == guid; });
    }

  private:
    void know_subnet_manager() {
        service.manager().set_lid(lid(0));
        service.set_subnet_manager(mesh.node(hosts_[0]).port(1).master_sm_lid);
    }
    bool deliver() {
        bool any = false;
        while (const auto arrived = mesh.poll_delivery()) {
            any = true;
            const mad::Packet& packet = arrived->packet;
            if (arrived->at.node == hosts_[0]) {
                rmpp_.handle_mad({packet.slid, packet.source, packet.pkey, packet.sl}, packet.mad,
                                 now_ns);
            } else if (arrived->at.node == hosts_[1]) {
                client.handle(packet);
            } else if (subnet && arrived->at.node == switches_[0]) {
                subnet->handle(packet, now_ns);
            }
        }
        while (const auto event = rmpp_.poll_event()) {
            if (event->kind == mad::RmppEvent::kReceived) {
                wire::MadBytes first{};
                std::copy_n(event->message.begin(), std::min(event->message.size(), first.size()),
                            first.begin());
                if (JobDesk::takes(first)) {
                    desk.handle(event->peer, first, now_ns);
                } else {
                    service.handle(event->peer, event->message, now_ns);
                }
            }
        }
        return any;
    }

    topo::Fabric fabric_;
    ZeroCounters counters_;
    std::vector<std::uint32_t> switches_;
    std::vector<std::uint32_t> hosts_;
    mad::RmppEndpoint rmpp_;

  public:
    agent::Mesh mesh;
    ManagerService service;
    JobDesk desk{service};
    JobClient client;
    std::optional<sm::SubnetService> subnet;
    std::uint64_t now_ns = 1'000'000'000;
};

}  // namespace softib::sharp
