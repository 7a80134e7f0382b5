// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric of agents with subnet managers on some of its nodes. Time passes only when a test says
// so.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/agent/from_fabric.h"
#include "core/sm/service/subnet_service.h"
#include "core/topo/spec.h"
#include "core/wire/sa/sa.h"

namespace softib::sm {

/// Five switches in a circle, each with a host.
inline topo::Spec ring() {
    return {.shape = topo::Shape::kTorus, .hosts = 5, .dimensions = {5}, .hosts_per_switch = 1};
}

inline topo::Spec fat_tree(std::uint32_t hosts, std::uint32_t radix) {
    return {.shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix};
}

class NoCounters : public agent::CounterSource {
  public:
    counters::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
};

class Rig {
  public:
    explicit Rig(const topo::Spec& spec, bool private_tables = false)
        : fabric_(*topo::generate(spec)),
          mesh(agent::make_mesh(fabric_, counters_, private_tables)) {}

    std::uint32_t first_switch() const {
        for (std::uint32_t i = 0; i < fabric_.nodes.size(); ++i) {
            if (fabric_.nodes[i].kind == topo::NodeKind::kSwitch) {
                return i;
            }
        }
        return UINT32_MAX;
    }
    Manager& add_manager(std::uint32_t node, ManagerConfig config = {}) {
        const bool is_switch = mesh.node(node).is_switch();
        config.port = is_switch ? 0 : 1;
        config.port_guid = mesh.node(node).spec().ports[config.port].guid;
        managers_.push_back({{node, config.port}, std::make_unique<SubnetService>(config)});
        mesh.set_capability({node, config.port}, wire::port_capability::kIsSM, true);
        return managers_.back().service->manager();
    }
    SubnetService& service(std::size_t index) { return *managers_[index].service; }
    /// Removes a manager, which sends nothing more.
    void kill_manager(std::size_t index) {
        mesh.set_capability(managers_[index].at, wire::port_capability::kIsSM, false);
        managers_.erase(managers_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    /// Sends a program's request from a node. Returns the answer.
    std::optional<mad::Packet> ask(agent::End from, mad::Packet packet) {
        asker_ = from;
        answer_.reset();
        mesh.send(from, packet, now_ns);
        run();
        asker_.reset();
        return answer_;
    }
    /// Sends a request to the SA that the host's port names. Returns std::nullopt if the SA refuses
    /// it.
    template <wire::Attribute T>
    std::optional<T> ask_sa(std::uint32_t host, wire::Method method, wire::SaAttribute attribute,
                            std::uint64_t components, const T& record) {
        mad::Packet packet;
        wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                      .class_version = wire::kSaClassVersion,
                      .method = method,
                      .transaction_id = 7,
                      .attribute_id = static_cast<std::uint16_t>(attribute)}
            .emit(wire::Mad<std::uint8_t>(packet.mad));
        const wire::Sa<std::uint8_t> sa(packet.mad);
        sa.set_header({.component_mask = components});
        wire::emit(record, sa.data().template first<T::kBytes>());
        packet.dlid = mesh.node(host).port(1).master_sm_lid;
        packet.source = packet.destination = mad::kQpnServices;
        packet.qkey = mad::kQKeyServices;
        const auto answer = ask({host, 1}, packet);
        if (!answer || wire::Mad<const std::uint8_t>(answer->mad).status() != 0) {
            return std::nullopt;
        }
        return wire::parse<T>(
            wire::Sa<const std::uint8_t>(answer->mad).data().template first<T::kBytes>());
    }
    /// Handles at most `packets` packets of each manager, and stops in the middle.
    void run_some(std::uint32_t packets) {
        mesh.advance(now_ns);
        for (Entry& entry : managers_) {
            for (std::uint32_t i = 0; i < packets; ++i) {
                const auto out = entry.service->poll_transmit(now_ns);
                if (!out) {
                    break;
                }
                mesh.send(entry.at, *out, now_ns);
                deliver();
            }
        }
    }
    /// Runs until this manager has nothing more to send; the other managers get its packets and do
    /// not answer yet.
    void run_only(std::size_t index) {
        Entry& entry = managers_[index];
        while (const auto out = entry.service->poll_transmit(now_ns)) {
            mesh.send(entry.at, *out, now_ns);
            deliver();
        }
    }
    /// Runs until no node has anything more to send.
    void run() {
        for (bool busy = true; busy;) {
            busy = false;
            mesh.advance(now_ns);
            for (Entry& entry : managers_) {
                while (const auto out = entry.service->poll_transmit(now_ns)) {
                    busy = true;
                    mesh.send(entry.at, *out, now_ns);
                    deliver();
                }
            }
            busy = deliver() || busy;
        }
        while (mesh.poll_update()) {
        }
    }
    /// Lets time pass in steps.
    void wait(std::uint64_t ns) {
        const std::uint64_t end = now_ns + ns;
        while (now_ns < end) {
            now_ns = std::min(end, now_ns + 50'000'000);
            // A manager's deadlines must not repeat for ever at one moment, or its driver would
            // never sleep.
            for (int rounds = 0; rounds == 0 || is_due(); ++rounds) {
                ASSERT_LT(rounds, 10);
                for (Entry& entry : managers_) {
                    entry.service->handle_timeout(now_ns);
                }
                run();
            }
        }
    }
    /// Checks that the tables connect every pair of present HCAs that cables connect.
    void expect_all_pairs() const {
        for (std::uint32_t a = 0; a < mesh.size(); ++a) {
            for (std::uint32_t b = 0; b < mesh.size(); ++b) {
                if (mesh.node(a).is_switch() || mesh.node(b).is_switch()) {
                    continue;
                }
                const Lid lid = mesh.node(b).port(1).lid;
                ASSERT_NE(lid, kLidUnassigned) << b;
                const auto end = mesh.route({a, 1}, lid, false);
                ASSERT_TRUE(end) << a << " to " << b;
                EXPECT_EQ(end->node, b);
            }
        }
    }

  private:
    struct Entry {
        agent::End at;
        std::unique_ptr<SubnetService> service;
    };
    bool is_due() const {
        return std::ranges::any_of(managers_, [&](const Entry& entry) {
            return entry.service->next_timeout_ns() <= now_ns;
        });
    }
    bool deliver() {
        bool any = false;
        while (const auto delivery = mesh.poll_delivery()) {
            any = true;
            if (asker_ && asker_->node == delivery->at.node) {
                answer_ = delivery->packet;
                continue;
            }
            for (Entry& entry : managers_) {
                if (entry.at.node == delivery->at.node) {
                    entry.service->handle(delivery->packet, now_ns);
                }
            }
        }
        return any;
    }

    topo::Fabric fabric_;
    NoCounters counters_;
    std::vector<Entry> managers_;
    std::optional<agent::End> asker_;
    std::optional<mad::Packet> answer_;

  public:
    agent::Mesh mesh;
    std::uint64_t now_ns = 1'000'000'000;
};

}  // namespace softib::sm
