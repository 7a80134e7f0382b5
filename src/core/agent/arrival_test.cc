// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/arrival.h"

#include <gtest/gtest.h>

#include "core/wire/pm/pm.h"
#include "core/wire/sm/smp.h"

namespace softib::agent {
namespace {

using wire::Method;
using wire::MgmtClass;

constexpr Lid kOwn{5};
constexpr Lid kManager{1};
constexpr Lid kAsker{9};
constexpr std::uint16_t kPortCounters =
    static_cast<std::uint16_t>(wire::PmAttribute::kPortCounters);
constexpr std::uint16_t kNodeInfo = static_cast<std::uint16_t>(wire::SmAttribute::kNodeInfo);

class Nothing final : public CounterSource {
  public:
    counters::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
};

/// An HCA and a switch, each with a LID and with the LID of a manager that gets its traps.
class Arrivals : public testing::Test {
  protected:
    static Node make(wire::NodeType type) {
        NodeSpec spec;
        spec.type = type;
        spec.ports = {PortSpec{Guid{1}}, PortSpec{Guid{1}}};
        Node node(spec);
        const std::uint8_t port = node.base_port(1);
        wire::PortInfo info = node.port(port);
        info.port_state = wire::PortState::kNoChange;
        info.port_physical_state = wire::PortPhysicalState::kNoChange;
        info.lid = kOwn;
        info.master_sm_lid = kManager;
        mad::Packet set = request(MgmtClass::kSubnLidRouted, Method::kSet,
                                  static_cast<std::uint16_t>(wire::SmAttribute::kPortInfo));
        wire::Mad<std::uint8_t>(set.mad).set_attribute_modifier(port);
        wire::emit(info, wire::Smp<std::uint8_t>(set.mad).data());
        EXPECT_TRUE(node.receive_smp(set.mad, port, 0));
        EXPECT_TRUE(node.owns_lid(port, kOwn));
        return node;
    }
    static mad::Packet request(MgmtClass mgmt_class, Method method, std::uint16_t attribute) {
        mad::Packet packet;
        wire::MadRepr{.mgmt_class = mgmt_class, .method = method, .attribute_id = attribute}.emit(
            wire::Mad<std::uint8_t>(packet.mad));
        packet.slid = kAsker;
        packet.dlid = kOwn;
        if (!is_subnet(packet)) {
            packet.source = packet.destination = mad::kQpnServices;
            packet.qkey = mad::kQKeyServices;
        }
        return packet;
    }
    static mad::Packet directed(std::uint8_t hops) {
        mad::Packet packet = request(MgmtClass::kSubnDirectedRoute, Method::kGet, kNodeInfo);
        packet.slid = packet.dlid = kLidPermissive;
        const wire::Smp<std::uint8_t> smp(packet.mad);
        smp.set_dr_slid(kLidPermissive);
        smp.set_dr_dlid(kLidPermissive);
        smp.set_hop_count(hops);
        smp.initial_path()[1] = 1;
        return packet;
    }
    Onward arrive(Node& node, mad::Packet& packet) {
        return arrival_.arrive(node, {0, node.base_port(1)}, packet, 1);
    }
    static Method method_of(const mad::Packet& packet) {
        return wire::Mad<const std::uint8_t>(packet.mad).method();
    }

    Nothing counters_;
    Arrival arrival_{counters_};
    Node host_ = make(wire::NodeType::kChannelAdapter);
    Node switch_ = make(wire::NodeType::kSwitch);
};

TEST_F(Arrivals, AnAgentsAnswerGoesBackByLid) {
    for (mad::Packet packet : {request(MgmtClass::kSubnLidRouted, Method::kGet, kNodeInfo),
                               request(MgmtClass::kPerf, Method::kGet, kPortCounters)}) {
        const Onward onward = arrive(host_, packet);
        EXPECT_EQ(onward.kind, Onward::kByLid);
        EXPECT_EQ(onward.port, 1);
        EXPECT_EQ(method_of(packet), Method::kGetResp);
        EXPECT_EQ(packet.slid, kOwn);
        EXPECT_EQ(packet.dlid, kAsker);
    }
}

TEST_F(Arrivals, TheAnswerHasThePortsOwnKey) {
    host_.set_pkey(1, 0, PKey{0x8005});
    mad::Packet packet = request(MgmtClass::kPerf, Method::kGet, kPortCounters);
    packet.pkey = PKey{0x0005};
    EXPECT_EQ(arrive(host_, packet).kind, Onward::kByLid);
    EXPECT_EQ(packet.pkey, PKey{0x8005});
}

TEST_F(Arrivals, AKeyThatIsNotThePortsIsCountedAndRaisesATrap) {
    mad::Packet packet = request(MgmtClass::kPerf, Method::kGet, kPortCounters);
    packet.pkey = PKey{0x8005};
    EXPECT_EQ(arrive(host_, packet).kind, Onward::kNowhere);
    EXPECT_EQ(host_.port(1).pkey_violations, 1);
    EXPECT_NE(host_.next_trap_ns(), UINT64_MAX);

    packet = request(MgmtClass::kSubnAdm, Method::kGet, 0);
    packet.qkey = QKey{1};
    EXPECT_EQ(arrive(switch_, packet).kind, Onward::kNowhere);
    EXPECT_EQ(switch_.port(0).qkey_violations, 1);
    EXPECT_NE(switch_.next_trap_ns(), UINT64_MAX);
}

TEST_F(Arrivals, WhatNoAgentAnswersIsForServices) {
    for (mad::Packet packet : {request(MgmtClass::kSubnLidRouted, Method::kGetResp, kNodeInfo),
                               request(MgmtClass::kSubnLidRouted, Method::kTrap, 2),
                               request(MgmtClass::kSubnAdm, Method::kGet, 0x35),
                               request(MgmtClass::kPerf, Method::kGetResp, kPortCounters)}) {
        const Onward at_host = arrive(host_, packet);
        EXPECT_EQ(at_host.kind, Onward::kToService);
        EXPECT_EQ(at_host.port, 1);
        const Onward at_switch = arrive(switch_, packet);
        EXPECT_EQ(at_switch.kind, Onward::kToService);
        EXPECT_EQ(at_switch.port, 0);
    }
}

TEST_F(Arrivals, OnlyQp1TakesGeneralServices) {
    mad::Packet packet = request(MgmtClass::kSubnAdm, Method::kGet, 0x35);
    packet.destination = Qpn{7};
    EXPECT_EQ(arrive(host_, packet).kind, Onward::kNowhere);
}

TEST_F(Arrivals, ADirectedRequestLeavesByThePortThatItNames) {
    mad::Packet packet = directed(1);
    const Onward onward = arrival_.depart(switch_, {0, 0}, packet, 1);
    EXPECT_EQ(onward.kind, Onward::kOutOfPort);
    EXPECT_EQ(onward.port, 1);
    // At its end the agent answers, and the answer leaves by the port by which the request came.
    const Onward back = arrival_.arrive(host_, {1, 1}, packet, 1);
    EXPECT_EQ(back.kind, Onward::kOutOfPort);
    EXPECT_EQ(back.port, 1);
    EXPECT_EQ(method_of(packet), Method::kGetResp);
    EXPECT_EQ(arrival_.arrive(switch_, {0, 1}, packet, 1).kind, Onward::kToService);
}

TEST_F(Arrivals, WhatANodeAsksItselfLeavesByNoPort) {
    mad::Packet packet = directed(0);
    EXPECT_EQ(arrival_.depart(host_, {0, 1}, packet, 1).kind, Onward::kToService);
    EXPECT_EQ(method_of(packet), Method::kGetResp);
    packet = request(MgmtClass::kPerf, Method::kGet, kPortCounters);
    packet.slid = kLidUnassigned;
    const Onward onward = arrival_.depart(host_, {0, 1}, packet, 1);
    EXPECT_EQ(onward.kind, Onward::kToService);
    EXPECT_EQ(packet.slid, kOwn);
    EXPECT_EQ(method_of(packet), Method::kGetResp);
}

TEST_F(Arrivals, WhatASwitchSendsByLidStartsAtItsPortZero) {
    mad::Packet packet = request(MgmtClass::kSubnAdm, Method::kGet, 0x35);
    packet.dlid = kManager;
    const Onward onward = arrival_.depart(switch_, {0, 0}, packet, 1);
    EXPECT_EQ(onward.kind, Onward::kByLid);
    EXPECT_EQ(onward.port, 0);
}

}  // namespace
}  // namespace softib::agent
