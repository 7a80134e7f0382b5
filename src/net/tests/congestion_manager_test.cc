// SPDX-License-Identifier: BSD-2-Clause
// A victim of an incast, before and after a congestion manager has written its settings by MADs
// that are packets of the same fabric.
#include "net/manage/congestion_manager.h"

#include <gtest/gtest.h>

#include "core/agent/congestion_rules.h"
#include "core/topo/spec.h"
#include "core/wire/cc/cc.h"
#include "net/hosts/message_hosts.h"
#include "net/manage/management.h"
#include "net/tests/test_incast.h"

namespace softib::net {
namespace {

/// The tree of test_incast.h, which our subnet manager brings up.
class ManagedIncast : public MessageListener {
  public:
    ManagedIncast()
        : topology_(*topo::generate(tree(128, 16))),
          ends_(topology_, subnet_manager(), MessageConfig{}),
          net_(topology_, {.data_vls = 1, .multicast_lids = 32}, ends_) {
        ends_.data.set_listener(this);
        ends_.start(net_.engine());
    }
    bool bring_up() {
        const sm::Manager& manager = ends_.management.service().manager();
        for (int i = 0; i < 10'000; ++i) {
            net_.run(net_.engine().now() + 1'000'000'000);
            if (manager.settled() && manager.stats().sweeps_full > 0 &&
                net_.engine().queues().packets().live() == 0) {
                return true;
            }
        }
        return false;
    }
    void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t tag) {
        ends_.data.post(net_.engine(),
                        {.port = port(from),
                         .to_port = port(to),
                         .source = lid(from),
                         .destination = lid(to),
                         .bytes = bytes,
                         .tag = tag},
                        net_.engine().now());
    }
    /// Returns what the victim gets after a time of settling, as a part of its link's rate.
    double victim_share() {
        net_.run(net_.engine().now() + kBegin);
        const std::uint64_t before = victim_messages_;
        constexpr TimePs kFor = 1'500'000'000;
        net_.run(net_.engine().now() + kFor);
        const double messages = static_cast<double>(victim_messages_ - before);
        return messages * (kMessageBytes / 4096) *
               static_cast<double>(net_.engine().plant().transmit_time(port(0), 4096)) /
               static_cast<double>(kFor);
    }
    /// Sends requests to a port's agent from the last host. Returns false unless all are answered.
    bool configure(Lid to, const std::vector<wire::MadBytes>& requests) {
        for (const wire::MadBytes& request : requests) {
            mad::Packet packet;
            packet.mad = request;
            packet.dlid = to;
            packet.source = packet.destination = mad::kQpnServices;
            packet.qkey = mad::kQKeyServices;
            ends_.management.send(net_.engine(), {node(127), 1}, packet);
            std::optional<agent::Delivery> answer;
            for (int i = 0; i < 1000 && !answer; ++i) {
                net_.run(net_.engine().now() + 1'000'000);
                answer = ends_.management.poll_delivery();
            }
            if (!answer) {
                return false;
            }
        }
        return true;
    }
    void handle_message(std::uint64_t tag, MessageEvent event, TimePs) override {
        if (tag == kVictimTag && event == MessageEvent::kAcknowledged) {
            ++victim_messages_;
            send(kVictim, kVictimTo, kMessageBytes, kVictimTag);
        }
    }
    std::uint32_t node(std::uint32_t host) const { return topology_.hosts[host].hcas[0].value; }
    std::uint32_t port(std::uint32_t host) const {
        return net_.engine().plant().port_of(node(host), 1);
    }
    Lid lid(std::uint32_t host) const { return ends_.management.lid(node(host)); }
    Network<Managed<MessageHosts>>& net() { return net_; }
    Engine& engine() { return net_.engine(); }
    Management& management() { return ends_.management; }

    static constexpr std::uint64_t kVictimTag = 1;
    static constexpr std::uint64_t kMessageBytes = 64 * 4096;

  private:
    static sm::ManagerConfig subnet_manager() {
        sm::ManagerConfig config;
        config.engine = "ftree";
        return config;
    }

    topo::Fabric topology_;
    Managed<MessageHosts> ends_;
    Network<Managed<MessageHosts>> net_;
    std::uint64_t victim_messages_ = 0;
};

TEST(CongestionManager, AVictimGetsItsShareBackByMads) {
    ManagedIncast fabric;
    ASSERT_TRUE(fabric.bring_up());
    fabric.send(kVictim, kVictimTo, ManagedIncast::kMessageBytes, ManagedIncast::kVictimTag);
    for (std::uint32_t from = 17; from <= 48; ++from) {
        fabric.send(from, kTarget, std::uint64_t{1} << 40, 0);
    }
    EXPECT_LT(fabric.victim_share(), 0.25 * kFairShare);

    const CongestionControl control;
    for (std::uint32_t node = 0; node < fabric.engine().plant().node_count(); ++node) {
        if (fabric.engine().plant().is_switch(node)) {
            ASSERT_TRUE(fabric.configure(fabric.management().lid(node), switch_requests(control)));
            EXPECT_EQ(fabric.engine().plant().marking(fabric.engine().plant().port_of(node, 1)),
                      control.marking);
        }
    }
    for (std::uint32_t host = 16; host <= 48; ++host) {
        ASSERT_TRUE(fabric.configure(fabric.lid(host), adapter_requests(control)));
    }
    EXPECT_GT(fabric.victim_share(), 0.75 * kFairShare);
}

TEST(CongestionManager, WritesWhatItWasTold) {
    CongestionControl control;
    control.marking = {.threshold = 7, .packet_blocks = 3, .marking_rate = 9, .victims_mark = true};
    control.injection = {.timer = 11, .increase = 2, .minimum = 1, .trigger = 5};
    const topo::Fabric fabric = *topo::generate(star(3));
    Plant plant(fabric, {});
    std::vector<std::uint32_t> told;
    manage_congestion(
        plant, fabric, control, [](std::uint32_t node) { return node; },
        [&](std::uint32_t port, const link::InjectionControl& written) {
            told.push_back(port);
            for (const link::InjectionRule& rule : written.rules) {
                EXPECT_EQ(rule, control.injection);
            }
            EXPECT_EQ(written.table, control.table);
        });
    EXPECT_EQ(told.size(), 3U);
    for (std::uint32_t port = 0; port < plant.port_count(); ++port) {
        if (plant.connected(port) && plant.is_switch(plant.node_of(port))) {
            EXPECT_EQ(plant.marking(port), control.marking);
        }
    }
}

}  // namespace
}  // namespace softib::net
