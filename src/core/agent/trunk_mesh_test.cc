// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "core/agent/from_fabric.h"
#include "core/agent/outbound.h"
#include "core/topo/spec.h"
#include "core/topo/trunk.h"

namespace softib::agent {
namespace {

class NoCounters final : public CounterSource {
  public:
    void refresh() override {}
    counters::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
};

/// Two fabrics of one switch and one host each, with a trunk between the switches.
struct Two {
    NoCounters counters;
    topo::Fabric fabric = make();
    NodeId trunk = topo::trunk_nodes(fabric).front().value;
    End at_switch{fabric.nodes[trunk].ports[1].peer.value,
                  fabric.nodes[trunk].ports[1].peer_port.value};
    Mesh here = make_mesh(fabric, counters);
    Mesh there = make_mesh(fabric, counters);

    static topo::Fabric make() {
        auto made = topo::generate({.hosts = 1});
        EXPECT_TRUE(made && topo::add_trunk(*made, "sw0"));
        return *made;
    }
    void plug(bool plugged) {
        here.set_plugged({trunk, 1}, plugged);
        there.set_plugged({trunk, 1}, plugged);
    }
    /// Moves all MADs that leave by the trunk, as bytes, until there are none.
    std::size_t exchange() {
        std::size_t carried = 0;
        for (bool busy = true; busy;) {
            busy = false;
            for (auto [from, to] : {std::pair(&here, &there), std::pair(&there, &here)}) {
                while (const auto out = from->poll_outbound()) {
                    busy = true;
                    ++carried;
                    const auto in = parse_outbound(emit_outbound(*out), trunk);
                    EXPECT_TRUE(in);
                    to->arrive(*in, 1);
                }
            }
        }
        return carried;
    }
    /// Sends Get(NodeInfo) from the switch here to the node at the end of a directed route.
    void ask(std::initializer_list<std::uint8_t> route) {
        mad::Packet packet;
        packet.slid = packet.dlid = kLidPermissive;
        const wire::Mad<std::uint8_t> mad(packet.mad);
        mad.set_base_version(1);
        mad.set_class_version(1);
        mad.set_mgmt_class(wire::MgmtClass::kSubnDirectedRoute);
        mad.set_method(wire::Method::kGet);
        mad.set_attribute_id(static_cast<std::uint16_t>(wire::SmAttribute::kNodeInfo));
        const wire::Smp<std::uint8_t> smp(packet.mad);
        smp.set_dr_slid(kLidPermissive);
        smp.set_dr_dlid(kLidPermissive);
        smp.set_hop_count(static_cast<std::uint8_t>(route.size()));
        std::ranges::copy(route, smp.initial_path().begin() + 1);
        here.send({at_switch.node, 0}, packet, 1);
    }
};

TEST(TrunkMesh, DirectedRoutesCrossAndComeBack) {
    Two two;
    two.plug(true);
    two.ask({two.at_switch.port, 1});
    EXPECT_EQ(two.exchange(), 2U);
    const auto answer = two.here.poll_delivery();
    ASSERT_TRUE(answer);
    EXPECT_EQ(wire::Mad<const std::uint8_t>(answer->packet.mad).method(), wire::Method::kGetResp);
}

TEST(TrunkMesh, NothingCrossesWhileTheOtherEndIsAway) {
    Two two;
    two.ask({two.at_switch.port});
    EXPECT_EQ(two.exchange(), 0U);
    two.plug(true);
    two.plug(false);
    two.ask({two.at_switch.port});
    EXPECT_EQ(two.exchange(), 0U);
    EXPECT_FALSE(two.here.poll_delivery());
}

TEST(TrunkMesh, ItsPortIsUpWhileTheOtherEndIsThere) {
    Two two;
    const auto state = [&] {
        return two.here.node(two.at_switch.node).port(two.at_switch.port).port_state;
    };
    EXPECT_EQ(state(), wire::PortState::kDown);
    two.plug(true);
    EXPECT_EQ(state(), wire::PortState::kInit);
    two.plug(false);
    EXPECT_EQ(state(), wire::PortState::kDown);
}

TEST(TrunkMesh, BytesOfNoMadAreRefused) {
    Outbound outbound;
    auto bytes = emit_outbound(outbound);
    EXPECT_TRUE(parse_outbound(bytes, 0));
    EXPECT_FALSE(parse_outbound(std::span(bytes).first(bytes.size() - 1), 0));
    bytes[0] = 2;
    EXPECT_FALSE(parse_outbound(bytes, 0));
    bytes[0] = 1;
    bytes[1] = 16;
    EXPECT_FALSE(parse_outbound(bytes, 0));
}

}  // namespace
}  // namespace softib::agent
