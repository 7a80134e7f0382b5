// SPDX-License-Identifier: BSD-2-Clause
// The table of attributes and planes: what a manager writes into a node reaches packets in virtual
// time and live packets alike. Each row sends one Set to the same node of two fabrics. In one the
// management plane of virtual time follows it; in the other it passes the mesh of the daemon, the
// arena and the carrier's tables. Then both networks must do the same thing, and not what they did
// before.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "core/agent/from_fabric.h"
#include "core/topo/spec.h"
#include "core/wire/cc/cc.h"
#include "core/wire/sm/adaptive_routing.h"
#include "core/wire/sm/linear_forwarding_table.h"
#include "core/wire/sm/multicast_forwarding_table.h"
#include "core/wire/sm/p_key_table.h"
#include "core/wire/sm/sl_to_vl_mapping_table.h"
#include "core/wire/sm/vl_arbitration_table.h"
#include "net/engine/network.h"
#include "net/hosts/transport_hosts.h"
#include "net/manage/management.h"
#include "net/tests/test_scale_hosts.h"
#include "runtime/carrier/tables.h"
#include "runtime/daemon/arena_writer.h"
#include "runtime/daemon/builder.h"
#include "runtime/shm/test_arena.h"

namespace softib {
namespace {

using mad::Packet;
using wire::SmAttribute;

constexpr std::uint8_t kPort = 2;  ///< The port of the switch to which a host is cabled.
constexpr net::PlantConfig kPlant{
    .data_vls = carrier::kDataVls, .multicast_lids = 64, .lid_max = 63};

/// Returns a SubnSet that the node sends to itself.
template <wire::Attribute T>
Packet set(SmAttribute attribute, std::uint32_t modifier, const T& value) {
    Packet packet;
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kSubnDirectedRoute;
    header.class_version = 1;
    header.method = wire::Method::kSet;
    header.attribute_id = static_cast<std::uint16_t>(attribute);
    header.attribute_modifier = modifier;
    header.emit(wire::Mad<std::uint8_t>(packet.mad));
    wire::Smp<std::uint8_t> smp(packet.mad);
    smp.set_dr_slid(kLidPermissive);
    smp.set_dr_dlid(kLidPermissive);
    wire::emit(value, smp.data());
    packet.slid = packet.dlid = kLidPermissive;
    return packet;
}

/// Returns a Set of the congestion control class, to the node's own LID.
template <wire::Attribute T>
Packet set(wire::CcAttribute attribute, const T& value, Lid lid) {
    Packet packet;
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kCongestion;
    header.class_version = wire::kCcClassVersion;
    header.method = wire::Method::kSet;
    header.attribute_id = static_cast<std::uint16_t>(attribute);
    header.emit(wire::Mad<std::uint8_t>(packet.mad));
    wire::emit(value, wire::Cc<std::uint8_t>(packet.mad).data());
    packet.slid = packet.dlid = lid;
    packet.source = packet.destination = mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
    return packet;
}

topo::Fabric three_hosts() {
    return *topo::generate({.shape = topo::Shape::kSingleSwitch, .hosts = 3});
}

std::uint32_t the_switch(const topo::Fabric& fabric) {
    std::uint32_t node = 0;
    while (fabric.nodes[node].kind != topo::NodeKind::kSwitch) {
        ++node;
    }
    return node;
}

/// The fabric in virtual time, which a subnet manager has brought up.
struct Virtual {
    Virtual()
        : sw(the_switch(fabric)),
          ends(fabric, sm::ManagerConfig{}, net::ScaleConfig{}),
          net(fabric, kPlant, ends) {
        ends.start(net.engine());
        while (!ends.management.service().manager().settled() ||
               ends.management.service().manager().stats().sweeps_full == 0 ||
               net.engine().queues().packets().live() != 0) {
            net.run(net.engine().now() + 1'000'000'000);
        }
        while (ends.management.poll_injection()) {
        }
    }
    const agent::Node& node(std::uint32_t id) { return ends.management.nodes().node(id); }
    void send(std::uint32_t id, const Packet& packet) {
        ends.management.send(
            net.engine(), {id, node(id).is_switch() ? std::uint8_t{0} : std::uint8_t{1}}, packet);
    }
    std::optional<link::InjectionControl> injection() {
        const auto written = ends.management.poll_injection();
        return written ? std::optional(written->control) : std::nullopt;
    }

    topo::Fabric fabric = three_hosts();
    std::uint32_t sw;
    net::Managed<net::ScaleHosts> ends;
    net::Network<net::Managed<net::ScaleHosts>> net;
};

/// The live fabric by packets: what the daemon and the carrier have of it.
struct Live : agent::CounterSource {
    Live()
        : sw(the_switch(fabric)),
          arena(daemon::build_arena(
              fabric, {.arena_bytes = shm::kTestArenaBytes, .data_path = DataPath::kPacket})),
          mesh(agent::make_mesh(fabric, *this)),
          writer(arena, events, daemon::place_nodes(fabric)),
          tables(arena, fabric, 1.0),
          net(fabric, kPlant, hosts) {
        events.init("", &arena);
        for (std::uint32_t id = 0; id < fabric.nodes.size(); ++id) {
            wire::PortInfo info = mesh.node(id).port(id == sw ? 0 : 1);
            info.port_state = wire::PortState::kNoChange;
            info.port_physical_state = wire::PortPhysicalState::kNoChange;
            info.lid = Lid{static_cast<std::uint16_t>(id + 1)};
            send(id, set(SmAttribute::kPortInfo, id == sw ? 0 : 1, info));
        }
    }
    ~Live() override { shm::arena_unmap(arena); }
    const agent::Node& node(std::uint32_t id) { return mesh.node(id); }
    void send(std::uint32_t id, const Packet& packet) {
        mesh.send({id, node(id).is_switch() ? std::uint8_t{0} : std::uint8_t{1}}, packet, 0);
        writer.apply(mesh);
        tables.read(net.engine(), hosts);
    }
    std::optional<link::InjectionControl> injection() {
        const auto* const control = hosts.injection(net.engine().plant().port_of(0, 1));
        return control != nullptr ? std::optional(*control) : std::nullopt;
    }
    counters::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
    counters::LaneCounts read_lanes(std::uint32_t, std::uint8_t) override { return {}; }

    topo::Fabric fabric = three_hosts();
    std::uint32_t sw;
    shm::Arena arena;
    shm::ChannelWriter events;
    agent::Mesh mesh;
    daemon::ArenaWriter writer;
    carrier::Tables tables;
    net::TransportHosts hosts;
    net::Network<net::TransportHosts> net;
};

/// Returns what a network does at the switch's port, as a text that can be compared.
template <typename Plane>
std::string at_port(Plane& plane,
                    const std::function<std::string(net::Engine&, std::uint32_t)>& look) {
    return look(plane.net.engine(), plane.net.engine().plant().port_of(plane.sw, kPort));
}

std::string text(std::initializer_list<std::uint64_t> values) {
    std::string all;
    for (const std::uint64_t value : values) {
        all += std::to_string(value) + " ";
    }
    return all;
}

struct Row {
    const char* attribute;
    /// Makes the Set for a node with its present tables.
    std::function<Packet(const agent::Node&)> write;
    std::function<std::string(net::Engine&, std::uint32_t port)> look;
};

template <typename Change>
Packet changed_port(const agent::Node& node, Change&& change) {
    wire::PortInfo info = node.port(kPort);
    info.port_state = wire::PortState::kNoChange;
    info.port_physical_state = wire::PortPhysicalState::kNoChange;
    change(info);
    return set(SmAttribute::kPortInfo, kPort, info);
}

std::string limits(net::Engine& net, std::uint32_t port) {
    const sw::WaitingLimits& limits = net.waits().of(port);
    return text({limits.lifetime, limits.hoq_life, limits.vl_stall_count});
}

/// Returns the marking rules of the port and of the port after it, which has others.
std::string marking(net::Engine& net, std::uint32_t port) {
    std::string all;
    for (const sw::MarkingRule& rule : {net.plant().marking(port), net.plant().marking(port + 1)}) {
        all += text({rule.threshold, rule.packet_blocks, rule.marking_rate, rule.victims_mark});
    }
    return all;
}

/// Returns the first block of ARGroupTable, whose group 1 has these ports.
wire::ArGroupTable group_of_ports(std::initializer_list<std::uint8_t> ports) {
    wire::ArGroupTable table;
    for (const std::uint8_t port : ports) {
        table.add(1, port);
    }
    return table;
}

/// Returns the block of ARLinearForwardingTable in which packets to LID 40 may choose among group
/// 1.
wire::ArLinearForwardingTable free_choice() {
    wire::ArLinearForwardingTable table;
    for (wire::ArForwardingEntry& entry : table.entry) {
        entry.group_number = sw::kNoPath;
    }
    table.entry[8] = {.lid_state = wire::ArLidState::kFree, .default_port = 1, .group_number = 1};
    return table;
}

std::string adaptive_ports(net::Engine& net, std::uint32_t port) {
    const sw::AdaptiveTable table = net.plant().adaptive(net.plant().node_of(port));
    std::string all;
    for (const std::uint8_t number : table.ports(40)) {
        all += text({number});
    }
    return all;
}

/// Returns the rows of PortInfo, SwitchInfo and partitions; the fourth turns the enforcement of
/// P_Keys on.
std::vector<Row> rows_of_ports() {
    return {
        {"PortInfo.HOQLife",
         [](const agent::Node& node) {
             return changed_port(node, [](wire::PortInfo& info) { info.hoq_life = 5; });
         },
         limits},
        {"PortInfo.VLStallCount",
         [](const agent::Node& node) {
             return changed_port(node, [](wire::PortInfo& info) { info.vl_stall_count = 3; });
         },
         limits},
        {"SwitchInfo.LifeTimeValue",
         [](const agent::Node& node) {
             wire::SwitchInfo info = node.switch_info();
             info.life_time_value = 7;
             return set(SmAttribute::kSwitchInfo, 0, info);
         },
         limits},
        {"PortInfo.PartitionEnforcement",
         [](const agent::Node& node) {
             return changed_port(node, [](wire::PortInfo& info) {
                 info.partition_enforcement_inbound = true;
                 info.partition_enforcement_outbound = true;
             });
         },
         [](net::Engine& net, std::uint32_t port) {
             return text({net.guards().at(port).in, net.guards().at(port).out});
         }},
        {"P_KeyTable",
         [](const agent::Node&) {
             wire::PKeyTable table;
             table.pkey[1] = PKey{0x8123};
             return set(SmAttribute::kPKeyTable, kPort << 16, table);
         },
         [](net::Engine& net, std::uint32_t port) {
             std::string all;
             for (const PKey key : net.guards().at(port).pkeys) {
                 all += key.value == 0 ? "" : text({key.value});
             }
             return all;
         }},
    };
}

std::vector<Row> rows_of_tables() {
    return {
        {"LinearForwardingTable",
         [](const agent::Node& node) {
             wire::LinearForwardingTable table;
             for (std::uint16_t i = 0; i < table.port.size(); ++i) {
                 table.port[i] = node.forward(Lid{i});
             }
             table.port[40] = kPort;
             return set(SmAttribute::kLinearForwardingTable, 0, table);
         },
         [](net::Engine& net, std::uint32_t port) {
             return text({net.plant().route(net.plant().node_of(port), Lid{40})});
         }},
        {"MulticastForwardingTable",
         [](const agent::Node&) {
             wire::MulticastForwardingTable table;
             table.port_mask[3] = 1U << kPort | 1U << 1;
             return set(SmAttribute::kMulticastForwardingTable, 0, table);
         },
         [](net::Engine& net, std::uint32_t port) {
             return text({net.plant().multicast(net.plant().node_of(port), Lid{0xC003})[0]});
         }},
        {"SLtoVLMappingTable",
         [](const agent::Node&) {
             wire::SlToVlMappingTable table;
             table.vl.fill(1);
             return set(SmAttribute::kSlToVlMappingTable, 1U << 8 | kPort, table);
         },
         [](net::Engine& net, std::uint32_t port) {
             return text({net.plant().mapped_lane(net.plant().node_of(port), 1, kPort, 6)});
         }},
        {"VLArbitrationTable",
         [](const agent::Node&) {
             wire::VlArbitrationTable table;
             table.entry[0].vl = 2;
             table.entry[0].weight = 9;
             return set(SmAttribute::kVlArbitrationTable, 1U << 16 | kPort, table);
         },
         [](net::Engine& net, std::uint32_t port) {
             return net.plant().arbitration(port) ==
                            link::ArbitrationTable::equal(carrier::kDataVls)
                        ? std::string("as at power-up")
                        : std::string("written");
         }},
    };
}

std::vector<Row> rows_of_congestion_and_choice() {
    return {
        {"SwitchCongestionSetting",
         [](const agent::Node& node) {
             wire::SwitchCongestionSetting setting;
             setting.control_map = 0xFFFFFFFF;
             setting.threshold = 9;
             setting.packet_size = 4;
             setting.marking_rate = 2;
             return set(wire::CcAttribute::kSwitchCongestionSetting, setting, node.port(0).lid);
         },
         marking},
        {"SwitchCongestionSetting.Victim_Mask",
         [](const agent::Node& node) {
             wire::SwitchCongestionSetting setting;
             setting.control_map = wire::switch_control_map::kVictimMask;
             setting.victim_mask[31] = 1U << kPort;
             return set(wire::CcAttribute::kSwitchCongestionSetting, setting, node.port(0).lid);
         },
         marking},
        {"SwitchPortCongestionSetting",
         [](const agent::Node& node) {
             wire::SwitchPortCongestionSetting setting;
             setting.entry[kPort] = {
                 .valid = true, .threshold = 6, .packet_size = 5, .cong_parm_marking_rate = 4};
             return set(wire::CcAttribute::kSwitchPortCongestionSetting, setting, node.port(0).lid);
         },
         marking},
        {"AdaptiveRoutingInfo",
         [](const agent::Node&) {
             wire::AdaptiveRoutingInfo info;
             info.enabled = true;
             info.group_top = 1;
             return set(SmAttribute::kAdaptiveRoutingInfo, 0, info);
         },
         adaptive_ports},
        {"ARGroupTable",
         [](const agent::Node&) {
             return set(SmAttribute::kArGroupTable, 0, group_of_ports({1, kPort}));
         },
         adaptive_ports},
        {"ARLinearForwardingTable",
         [](const agent::Node&) {
             return set(SmAttribute::kArLinearForwardingTable, 2, free_choice());
         },
         adaptive_ports},
    };
}

std::vector<Row> rows() {
    std::vector<Row> all = rows_of_ports();
    for (const auto& more : {rows_of_tables(), rows_of_congestion_and_choice()}) {
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

/// Writes all attributes of adaptive routing except the one that the row writes.
template <typename Plane>
void prepare_adaptive(Plane& plane, const std::string& attribute) {
    if (attribute != "AdaptiveRoutingInfo") {
        wire::AdaptiveRoutingInfo info;
        info.enabled = true;
        info.group_top = 1;
        plane.send(plane.sw, set(SmAttribute::kAdaptiveRoutingInfo, 0, info));
    }
    if (attribute != "ARGroupTable") {
        plane.send(plane.sw, set(SmAttribute::kArGroupTable, 0, group_of_ports({1, 2, 3})));
    }
    if (attribute != "ARLinearForwardingTable") {
        plane.send(plane.sw, set(SmAttribute::kArLinearForwardingTable, 2, free_choice()));
    }
}

/// Prepares a plane for a row: P_Keys count only where they are enforced, and routes only up to the
/// switch's LinearFDBTop and multicast top.
template <typename Plane>
void prepare(Plane& plane, const Row& row) {
    if (std::string(row.attribute) == "P_KeyTable") {
        plane.send(plane.sw, rows_of_ports()[3].write(plane.node(plane.sw)));
    }
    wire::SwitchInfo info = plane.node(plane.sw).switch_info();
    info.linear_fdb_top = 48;
    info.multicast_fdb_top = 0xC03F;
    plane.send(plane.sw, set(SmAttribute::kSwitchInfo, 0, info));
    prepare_adaptive(plane, row.attribute);
}

TEST(Planes, WhatAManagerWritesIntoASwitchActsInVirtualTimeAndLive) {
    for (const Row& row : rows()) {
        SCOPED_TRACE(row.attribute);
        Virtual in_virtual_time;
        Live live;
        prepare(in_virtual_time, row);
        prepare(live, row);
        const std::string before = at_port(in_virtual_time, row.look);
        const std::string live_before = at_port(live, row.look);
        in_virtual_time.send(in_virtual_time.sw,
                             row.write(in_virtual_time.node(in_virtual_time.sw)));
        live.send(live.sw, row.write(live.node(live.sw)));
        EXPECT_NE(at_port(in_virtual_time, row.look), before);
        EXPECT_NE(at_port(live, row.look), live_before);
        if (row.look.target_type() != typeid(&limits)) {
            EXPECT_EQ(at_port(in_virtual_time, row.look), at_port(live, row.look));
        }
    }
}

/// Returns whether a node takes a Set of an attribute with some modifier and some data.
bool takes(agent::Node& node, std::uint16_t attribute) {
    for (const std::uint32_t modifier : {0U, 1U, kPort + 0U, 1U << 8 | kPort, 1U << 16 | kPort}) {
        for (const auto data : {std::uint8_t{0}, std::uint8_t{0xFF}}) {
            Packet packet;
            wire::MadRepr header;
            header.mgmt_class = wire::MgmtClass::kSubnDirectedRoute;
            header.class_version = 1;
            header.method = wire::Method::kSet;
            header.attribute_id = attribute;
            header.attribute_modifier = modifier;
            header.emit(wire::Mad<std::uint8_t>(packet.mad));
            std::ranges::fill(wire::Smp<std::uint8_t>(packet.mad).data(), data);
            const auto answer = node.receive_smp(packet.mad, node.is_switch() ? 0 : 1, 0);
            if (answer && (wire::Smp<const std::uint8_t>(*answer).status() &
                           ~wire::mad_status::kDirection) == wire::mad_status::kOk) {
                return true;
            }
        }
    }
    return false;
}

// Other tests say what an attribute changes that no packet sees.
TEST(Planes, EveryAttributeThatANodeTakesIsOneOfThese) {
    std::map<SmAttribute, std::string> known{
        {SmAttribute::kNodeDescription, "what the node is called"},
        {SmAttribute::kGuidInfo, "aliases_test"},
        {SmAttribute::kLedInfo, "whether the port's LED is on"},
        {SmAttribute::kPortSlToPrivateLftMap, "adaptive_test"}};
    Live live;
    for (const Row& row : rows()) {
        const Packet packet = row.write(live.node(live.sw));
        const wire::Mad<const std::uint8_t> header(packet.mad);
        if (header.mgmt_class() != wire::MgmtClass::kCongestion) {
            known.emplace(static_cast<SmAttribute>(header.attribute_id()), row.attribute);
        }
    }
    std::size_t taken = 0;
    for (const std::uint32_t id : {0U, live.sw}) {
        for (std::uint32_t attribute = 0; attribute <= UINT16_MAX; ++attribute) {
            agent::Node node = live.node(id);
            if (takes(node, static_cast<std::uint16_t>(attribute))) {
                ++taken;
                EXPECT_TRUE(known.contains(static_cast<SmAttribute>(attribute)))
                    << "a node takes attribute " << attribute << ", and no row says what it does";
            }
        }
    }
    std::cout << "covers " << taken << " pairs of a node and an attribute that it takes\n";
    EXPECT_GE(taken, 15U);
}

TEST(Planes, HowAnHcaSlowsDownActsInVirtualTimeAndLive) {
    Virtual in_virtual_time;
    Live live;
    wire::CaCongestionSetting setting;
    setting.control_map = 0xFFFF;
    setting.entry[4].ccti_timer = 17;
    setting.entry[4].ccti_increase = 3;
    wire::CongestionControlTable table;
    table.ccti_limit = 1;
    table.entry[1].cct_shift = 2;
    table.entry[1].cct_multiplier = 77;
    const auto write = [&](auto& plane) {
        const Lid lid = plane.node(0).port(1).lid;
        plane.send(0, set(wire::CcAttribute::kCongestionControlTable, table, lid));
        plane.injection();
        plane.send(0, set(wire::CcAttribute::kCaCongestionSetting, setting, lid));
        return plane.injection();
    };
    for (const auto& control : {write(in_virtual_time), write(live)}) {
        ASSERT_TRUE(control);
        EXPECT_EQ(control->rules[4].timer, 17);
        EXPECT_EQ(control->rules[4].increase, 3);
        EXPECT_EQ(control->table.limit, 1);
        EXPECT_EQ(control->table.entry[1], (link::DelayTable::Entry{2, 77}));
    }
}

}  // namespace
}  // namespace softib
