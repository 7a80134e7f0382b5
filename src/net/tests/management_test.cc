// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/management.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/topo/spec.h"
#include "core/wire/cc/ca_congestion_setting.h"
#include "core/wire/cc/cc.h"
#include "core/wire/cc/congestion_control_table.h"
#include "core/wire/pm/pm.h"
#include "core/wire/pm/port_counters.h"
#include "core/wire/pm/port_data_sl.h"
#include "core/wire/pm/port_rcv_error_details.h"
#include "core/wire/pm/port_sl_rcv_fecn.h"
#include "core/wire/pm/port_vl_xmit_time_cong.h"
#include "core/wire/pm/port_vl_xmit_wait_counters.h"
#include "core/wire/pm/port_xmit_con_ctrl.h"
#include "core/wire/pm/sw_port_vl_congestion.h"
#include "net/engine/inspector.h"
#include "net/tests/test_scale_hosts.h"

namespace softib::net {
namespace {

/// A tree that our manager brings up by packets on its own links.
class ManagedTree {
  public:
    explicit ManagedTree(std::uint32_t hosts = 16, std::uint32_t radix = 8, bool adaptive = false,
                         std::uint64_t mkey = 0)
        : topology_(*topo::generate(
              {.shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix, .levels = 2})),
          ends(topology_, config(adaptive, mkey),
               ScaleConfig{.flags = adaptive ? packet_flag::kAdaptive : std::uint8_t{0}}),
          net(topology_, {.data_vls = 8, .multicast_lids = 32}, ends) {
        for (const topo::Host& host : topology_.hosts) {
            hosts_.push_back(host.hcas[0].value);
        }
    }

    /// Runs until the manager has nothing to do. Returns false if that takes more than ten virtual
    /// seconds.
    bool settle() {
        for (int i = 0; i < 10'000; ++i) {
            net.run(net.engine().now() + 1'000'000'000);
            if (manager().settled() && manager().stats().sweeps_full > 0 &&
                net.engine().queues().packets().live() == 0) {
                return true;
            }
        }
        return false;
    }
    bool bring_up() {
        ends.start(net.engine());
        return settle();
    }
    void send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
        ends.data.start(net.engine(), port(from), lid(from), lid(to), bytes);
    }
    const sm::Manager& manager() { return ends.management.service().manager(); }
    std::uint32_t port(std::uint32_t host) const {
        return net.engine().plant().port_of(hosts_[host], 1);
    }
    std::uint32_t node(std::uint32_t host) const { return hosts_[host]; }
    Lid lid(std::uint32_t host) const { return ends.management.lid(hosts_[host]); }
    std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
    /// Returns a port of a host's leaf that leads upwards.
    std::uint32_t uplink(std::uint32_t host) const {
        const std::uint32_t leaf =
            net.engine().plant().node_of(net.engine().plant().peer(port(host)));
        for (std::uint8_t number = 1; number < net.engine().plant().ports_of(leaf); ++number) {
            const std::uint32_t out = net.engine().plant().port_of(leaf, number);
            if (net.engine().plant().connected(out) &&
                net.engine().plant().is_switch(
                    net.engine().plant().node_of(net.engine().plant().peer(out)))) {
                return out;
            }
        }
        return kNone;
    }

  private:
    static sm::ManagerConfig config(bool adaptive, std::uint64_t mkey) {
        sm::ManagerConfig config;
        config.engine = "ftree";
        config.adaptive_routing = adaptive;
        config.mkey = mkey;
        return config;
    }

    topo::Fabric topology_;
    std::vector<std::uint32_t> hosts_;

  public:
    Managed<ScaleHosts> ends;
    Network<Managed<ScaleHosts>> net;
};

TEST(Management, TheSubnetComesUpOverItsOwnLinks) {
    ManagedTree tree;
    EXPECT_EQ(tree.lid(0), kLidUnassigned);
    ASSERT_TRUE(tree.bring_up());
    EXPECT_EQ(tree.manager().state(), wire::SmState::kMaster);
    for (std::uint32_t i = 0; i < tree.host_count(); ++i) {
        EXPECT_NE(tree.lid(i), kLidUnassigned);
        tree.send(i, (i + 5) % tree.host_count(), 100'000);
    }
    ASSERT_TRUE(tree.settle());
    EXPECT_EQ(tree.ends.data.unfinished(), 0U);
    EXPECT_EQ(tree.net.engine().stats().discarded, 0U);
    EXPECT_TRUE(Inspector(tree.net.engine()).check_credits().empty());
    EXPECT_TRUE(Inspector(tree.net.engine()).check_counters().empty());
}

TEST(Management, NoDataPassesBeforeTheManagerHasBeenThere) {
    ManagedTree tree;
    tree.ends.start(tree.net.engine());
    tree.ends.data.start(tree.net.engine(), tree.port(0), Lid{1}, Lid{2}, 4096);
    EXPECT_EQ(tree.net.engine().counts(tree.port(0)).xmit_discards, 1U);
}

TEST(Management, ATrapOfALostCableLeadsToNewRoutes) {
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    const std::uint64_t sweeps =
        tree.manager().stats().sweeps_full + tree.manager().stats().sweeps_partial;
    tree.ends.management.set_link(tree.net.engine(), tree.uplink(0), false);
    tree.net.run(tree.net.engine().now() + 1'000'000'000);
    ASSERT_TRUE(tree.settle());
    EXPECT_GT(tree.manager().stats().sweeps_full + tree.manager().stats().sweeps_partial, sweeps);
    const std::uint64_t before = tree.net.engine().stats().discarded;
    for (std::uint32_t i = 1; i < tree.host_count(); ++i) {
        tree.send(0, i, 20'000);
        tree.send(i, 0, 20'000);
    }
    ASSERT_TRUE(tree.settle());
    EXPECT_EQ(tree.ends.data.unfinished(), 0U);
    EXPECT_EQ(tree.net.engine().stats().discarded, before);
    // The cable comes back.
    tree.ends.management.set_link(tree.net.engine(), tree.uplink(0), true);
    tree.net.run(tree.net.engine().now() + 1'000'000'000);
    ASSERT_TRUE(tree.settle());
    const auto& node =
        tree.ends.management.nodes().node(tree.net.engine().plant().node_of(tree.uplink(0)));
    EXPECT_EQ(node.port(tree.net.engine().plant().number_of(tree.uplink(0))).port_state,
              wire::PortState::kActive);
}

/// Returns how many packets left the first leaf by each of its uplinks.
std::vector<std::uint64_t> uplink_packets(ManagedTree& tree) {
    std::vector<std::uint64_t> packets;
    const std::uint32_t leaf =
        tree.net.engine().plant().node_of(tree.net.engine().plant().peer(tree.port(0)));
    for (std::uint8_t number = 1; number < tree.net.engine().plant().ports_of(leaf); ++number) {
        const std::uint32_t out = tree.net.engine().plant().port_of(leaf, number);
        if (tree.net.engine().plant().connected(out) &&
            tree.net.engine().plant().is_switch(
                tree.net.engine().plant().node_of(tree.net.engine().plant().peer(out)))) {
            packets.push_back(tree.net.engine().counts(out).xmit_packets);
        }
    }
    return packets;
}

/// Sends one flow over the spines. Returns by how many uplinks of its leaf it went.
std::size_t uplinks_used(bool adaptive) {
    ManagedTree tree(16, 8, adaptive);
    EXPECT_TRUE(tree.bring_up());
    const std::vector<std::uint64_t> before = uplink_packets(tree);
    tree.send(0, 15, 400'000);
    EXPECT_TRUE(tree.settle());
    EXPECT_EQ(tree.ends.data.unfinished(), 0U);
    const std::vector<std::uint64_t> after = uplink_packets(tree);
    std::size_t used = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
        used += after[i] > before[i] + 10 ? 1U : 0U;  // Fewer are MADs of the manager.
    }
    return used;
}

TEST(Management, TheManagerLetsSwitchesChooseByMads) {
    EXPECT_EQ(uplinks_used(false), 1U);
    EXPECT_GT(uplinks_used(true), 1U);
}

TEST(Management, PlainRoutesTurnAdaptiveRoutingOffUntilTheManagerTurnsItOn) {
    ManagedTree tree(16, 8, true);
    ASSERT_TRUE(tree.bring_up());
    const std::uint32_t leaf =
        tree.net.engine().plant().node_of(tree.net.engine().plant().peer(tree.port(0)));
    EXPECT_FALSE(tree.net.engine().plant().adaptive(leaf).empty());
    // Routes over this cable change, and come back.
    tree.ends.management.set_link(tree.net.engine(), tree.uplink(0), false);
    tree.net.run(tree.net.engine().now() + 1'000'000'000);
    ASSERT_TRUE(tree.settle());
    const sw::AdaptiveTable table = tree.net.engine().plant().adaptive(leaf);
    const auto ports = table.ports(tree.lid(15).value);
    EXPECT_GT(ports.size(), 1U);
    EXPECT_EQ(std::ranges::find(ports, tree.net.engine().plant().number_of(tree.uplink(0))),
              ports.end());
}

mad::Packet to_qp1(Lid to, const wire::MadBytes& request) {
    mad::Packet packet;
    packet.mad = request;
    packet.dlid = to;
    packet.source = packet.destination = mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
    return packet;
}

/// Sends a MAD from the first host. Returns the answer, if one comes.
std::optional<mad::Packet> ask(ManagedTree& tree, const mad::Packet& packet) {
    tree.ends.management.send(tree.net.engine(), {tree.node(0), 1}, packet);
    tree.net.run(tree.net.engine().now() + 100'000'000);
    const auto answer = tree.ends.management.poll_delivery();
    return answer ? std::optional(answer->packet) : std::nullopt;
}

std::optional<mad::Packet> ask(ManagedTree& tree, Lid to, const wire::MadBytes& request) {
    return ask(tree, to_qp1(to, request));
}

wire::MadBytes request(wire::MgmtClass mgmt_class, std::uint8_t version, wire::Method method,
                       std::uint16_t attribute) {
    wire::MadBytes bytes{};
    wire::MadRepr{.mgmt_class = mgmt_class,
                  .class_version = version,
                  .method = method,
                  .transaction_id = 7,
                  .attribute_id = attribute}
        .emit(wire::Mad<std::uint8_t>(bytes));
    return bytes;
}

wire::MadBytes get_port_counters() {
    wire::MadBytes get = request(wire::MgmtClass::kPerf, wire::kPmClassVersion, wire::Method::kGet,
                                 static_cast<std::uint16_t>(wire::PmAttribute::kPortCounters));
    wire::emit(wire::PortCounters{.port_select = PortNum{1}}, wire::pm_data(get));
    return get;
}

/// Lets time pass by steps of 10 ns until a condition holds. Returns false if it does not within a
/// millisecond.
template <typename Condition>
bool wait_for(ManagedTree& tree, Condition&& condition) {
    for (int i = 0; i < 100'000 && !condition(); ++i) {
        tree.net.run(tree.net.engine().now() + 10'000);
    }
    return condition();
}

/// Sends a MAD from the first host to another, and expects that the other node reports a violation
/// until its manager has heard of it.
template <typename Violations>
void expect_trap(ManagedTree& tree, std::uint32_t host, const mad::Packet& packet,
                 Violations&& violations) {
    const agent::Node& node = tree.ends.management.nodes().node(tree.node(host));
    ASSERT_EQ(violations(node.port(1)), 0);
    ASSERT_EQ(node.next_trap_ns(), UINT64_MAX);
    tree.ends.management.send(tree.net.engine(), {tree.node(0), 1}, packet);
    EXPECT_TRUE(wait_for(tree, [&] { return violations(node.port(1)) == 1; }));
    EXPECT_NE(node.next_trap_ns(), UINT64_MAX) << "a trap is on its way";
    EXPECT_TRUE(wait_for(tree, [&] { return node.next_trap_ns() == UINT64_MAX; }));
}

TEST(Management, TheManagerIsToldOfKeysThatAreNotThePorts) {
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    mad::Packet packet = to_qp1(tree.lid(3), get_port_counters());
    packet.qkey = QKey{1};
    expect_trap(tree, 3, packet, [](const wire::PortInfo& info) { return info.qkey_violations; });
    packet = to_qp1(tree.lid(4), get_port_counters());
    packet.pkey = PKey{0x8123};
    expect_trap(tree, 4, packet, [](const wire::PortInfo& info) { return info.pkey_violations; });
}

TEST(Management, TheManagerIsToldOfAWrongMKey) {
    ManagedTree tree(16, 8, false, 0x1234);
    ASSERT_TRUE(tree.bring_up());
    mad::Packet packet;
    packet.mad = request(wire::MgmtClass::kSubnLidRouted, 1, wire::Method::kSet,
                         static_cast<std::uint16_t>(wire::SmAttribute::kPortInfo));
    wire::Smp<std::uint8_t>(packet.mad).set_mkey(0x4321);
    packet.dlid = tree.lid(3);
    expect_trap(tree, 3, packet, [](const wire::PortInfo& info) { return info.mkey_violations; });
}

TEST(Management, AFullMemberAnswersALimitedOneWithItsOwnKey) {
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    agent::Mesh& nodes = tree.ends.management.nodes();
    nodes.set_pkey({tree.node(0), 1}, 1, PKey{0x0005});
    nodes.set_pkey({tree.node(3), 1}, 1, PKey{0x8005});
    nodes.set_pkey({tree.node(4), 1}, 1, PKey{0x0005});
    mad::Packet packet = to_qp1(tree.lid(3), get_port_counters());
    packet.pkey = PKey{0x0005};
    EXPECT_TRUE(ask(tree, packet));
    packet.dlid = tree.lid(4);
    EXPECT_FALSE(ask(tree, packet)) << "two limited members do not talk";
}

TEST(Management, ASwitchDeclinesARequestThatNobodyThereServes) {
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    const std::uint32_t leaf = tree.net.engine().plant().node_of(tree.uplink(0));
    const auto answer = ask(tree, tree.ends.management.lid(leaf),
                            request(wire::MgmtClass::kDeviceMgmt, 1, wire::Method::kGet, 1));
    ASSERT_TRUE(answer);
    EXPECT_EQ(wire::Mad<const std::uint8_t>(answer->mad).status(),
              wire::mad_status::kUnsupportedClass);
}

TEST(Management, ThePerformanceAgentSaysWhatTheLinksCounted) {
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    tree.send(3, 9, 1'000'000);
    ASSERT_TRUE(tree.settle());
    const auto answer = ask(tree, tree.lid(9), get_port_counters());
    ASSERT_TRUE(answer);
    const auto counters = wire::parse<wire::PortCounters>(wire::pm_data(answer->mad));
    // 245 packets of data, and what the manager and this question needed.
    EXPECT_GT(counters.port_rcv_pkts, 245U);
    EXPECT_EQ(counters.port_rcv_pkts, tree.net.engine().counts(tree.port(9)).rcv_packets);
    EXPECT_EQ(counters.port_rcv_data, tree.net.engine().counts(tree.port(9)).rcv_words);
}

template <wire::Attribute T>
T ask_counters(ManagedTree& tree, Lid to, wire::PmAttribute attribute, const T& asked,
               wire::Method method = wire::Method::kGet) {
    wire::MadBytes get = request(wire::MgmtClass::kPerf, wire::kPmClassVersion, method,
                                 static_cast<std::uint16_t>(attribute));
    wire::emit(asked, wire::pm_data(get));
    const auto answer = ask(tree, to, get);
    EXPECT_TRUE(answer);
    EXPECT_EQ(wire::Mad<const std::uint8_t>(answer->mad).status(), wire::mad_status::kOk);
    return wire::parse<T>(wire::pm_data(answer->mad));
}

TEST(Management, ThePerformanceAgentTellsLanesApart) {
    using A = wire::PmAttribute;
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    const std::uint32_t out = tree.net.engine().plant().peer(tree.port(0));
    const std::uint32_t leaf = tree.net.engine().plant().node_of(out);
    const Lid switch_lid = tree.ends.management.lid(leaf);
    const PortNum number{tree.net.engine().plant().number_of(out)};
    tree.net.engine().plant().set_marking(leaf, {.threshold = 15});
    for (std::uint32_t i = 1; i < 4; ++i) {
        tree.ends.data.start(tree.net.engine(), tree.port(i), tree.lid(i), tree.lid(0), 1'000'000,
                             3);
    }
    ASSERT_TRUE(tree.settle());
    const counters::LaneCounts counted = tree.net.engine().lane_counts(out);
    const auto vl = static_cast<std::size_t>(
        std::ranges::max_element(counted[counters::PerLane::kTimeCongested]) -
        counted[counters::PerLane::kTimeCongested].begin());

    const auto sent = ask_counters<wire::PortXmitDataSl>(tree, switch_lid, A::kPortXmitDataSl,
                                                         {.port_select = number});
    EXPECT_GT(sent.port_xmit_data_sl[3], 750'000U);
    EXPECT_EQ(sent.port_xmit_data_sl[4], 0U);
    const auto received = ask_counters<wire::PortRcvDataSl>(tree, tree.lid(0), A::kPortRcvDataSl,
                                                            {.port_select = PortNum{1}});
    EXPECT_EQ(received.port_rcv_data_sl[3], sent.port_xmit_data_sl[3]);
    const auto fecn = ask_counters<wire::PortSlRcvFecn>(tree, tree.lid(0), A::kPortSlRcvFecn,
                                                        {.port_select = PortNum{1}});
    EXPECT_EQ(fecn.port_sl_rcv_fecn[3], tree.net.engine().plant().odd_counts(out).marked);
    EXPECT_GT(fecn.port_sl_rcv_fecn[3], 0U);
    const auto all = ask_counters<wire::PortXmitConCtrl>(tree, switch_lid, A::kPortXmitConCtrl,
                                                         {.port_select = number});
    EXPECT_GT(all.port_xmit_time_cong, 100'000U);
    const auto one = ask_counters<wire::PortVlXmitTimeCong>(
        tree, switch_lid, A::kPortVlXmitTimeCong, {.port_select = number});
    EXPECT_EQ(one.port_vl_xmit_time_cong[vl], all.port_xmit_time_cong);
    // 16 bits are soon full; a Set of some of them leaves the others.
    const auto at_host = ask_counters<wire::PortVlXmitWaitCounters>(
        tree, tree.lid(2), A::kPortVlXmitWaitCounters, {.port_select = PortNum{1}});
    EXPECT_EQ(at_host.port_vl_xmit_wait[vl], 0xFFFF);
    const auto zeroed = ask_counters<wire::PortXmitDataSl>(
        tree, switch_lid, A::kPortXmitDataSl, {.port_select = number, .counter_select = 1U << 3},
        wire::Method::kSet);
    EXPECT_EQ(zeroed.port_xmit_data_sl[3], 0U);
    EXPECT_GT(zeroed.port_xmit_data_sl[0], 0U);
    const auto still = ask_counters<wire::PortRcvDataSl>(tree, tree.lid(0), A::kPortRcvDataSl,
                                                         {.port_select = PortNum{1}});
    EXPECT_EQ(still.port_rcv_data_sl[3], received.port_rcv_data_sl[3]);
    const auto discards = ask_counters<wire::SwPortVlCongestion>(
        tree, switch_lid, A::kSwPortVlCongestion, {.port_select = number});
    EXPECT_EQ(discards.sw_port_vl_congestion[vl], 0U);
}

TEST(Management, ThePerformanceAgentSaysWhatWasWrong) {
    using A = wire::PmAttribute;
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    const std::uint32_t in = tree.net.engine().plant().peer(tree.port(1));
    const Lid leaf = tree.ends.management.lid(tree.net.engine().plant().node_of(in));
    const PortNum number{tree.net.engine().plant().number_of(in)};
    tree.ends.data.start(tree.net.engine(), tree.port(1), tree.lid(1), Lid{700},
                         4096);  // No port has this LID.
    tree.net.engine().ports().set_errors(tree.port(1), {.broken_ppm = 1'000'000, .seed = 1});
    tree.ends.data.start(tree.net.engine(), tree.port(1), tree.lid(1), tree.lid(0), 4096);
    tree.net.run(tree.net.engine().now() + 1'000'000);
    tree.net.engine().ports().set_errors(tree.port(1), {});
    const auto details = ask_counters<wire::PortRcvErrorDetails>(
        tree, leaf, A::kPortRcvErrorDetails, {.port_select = number});
    EXPECT_EQ(details.port_dlid_mapping_errors, 1U);
    EXPECT_EQ(details.port_local_physical_errors, 1U);
    EXPECT_EQ(details.port_malformed_packet_errors, 0U);
    const auto zeroed = ask_counters<wire::PortRcvErrorDetails>(
        tree, leaf, A::kPortRcvErrorDetails, {.port_select = number, .counter_select = 1},
        wire::Method::kSet);
    EXPECT_EQ(zeroed.port_local_physical_errors, 0U);
    EXPECT_EQ(zeroed.port_dlid_mapping_errors, 1U);
    const auto total =
        ask_counters<wire::PortCounters>(tree, leaf, A::kPortCounters, {.port_select = number});
    EXPECT_EQ(total.port_rcv_errors, 1U);
}

template <typename Setting>
wire::MadBytes congestion_set(wire::CcAttribute attribute, const Setting& setting) {
    wire::MadBytes set = request(wire::MgmtClass::kCongestion, wire::kCcClassVersion,
                                 wire::Method::kSet, static_cast<std::uint16_t>(attribute));
    wire::emit(setting, wire::Cc<std::uint8_t>(set).data());
    return set;
}

TEST(Management, CongestionIsControlledAsItsManagerSaid) {
    ManagedTree tree;
    ASSERT_TRUE(tree.bring_up());
    const std::uint32_t out = tree.net.engine().plant().peer(tree.port(0));
    const auto incast = [&] {
        const std::uint64_t before = tree.net.engine().counts(tree.port(2)).xmit_wait;
        for (std::uint32_t i = 1; i < 4; ++i) {
            tree.send(i, 0, 2'000'000);
        }
        EXPECT_TRUE(tree.settle());
        return tree.net.engine().counts(tree.port(2)).xmit_wait - before;
    };
    const std::uint64_t waits = incast();
    EXPECT_EQ(tree.net.engine().plant().odd_counts(out).marked, 0U);
    EXPECT_GT(waits, 0U);

    // The switch marks packets; no HCA slows down yet.
    wire::SwitchCongestionSetting marking;
    marking.control_map = wire::switch_control_map::kThresholdAndPacketSize;
    marking.threshold = 15;
    marking.packet_size = 8;
    ASSERT_TRUE(ask(tree, tree.ends.management.lid(tree.net.engine().plant().node_of(out)),
                    congestion_set(wire::CcAttribute::kSwitchCongestionSetting, marking)));
    incast();
    EXPECT_GT(tree.net.engine().plant().odd_counts(out).marked, 0U);

    // The HCAs slow down.
    wire::CongestionControlTable table;
    table.ccti_limit = 63;
    for (std::uint16_t i = 0; i < 64; ++i) {
        table.entry[i] = {.cct_shift = 3, .cct_multiplier = i};
    }
    wire::CaCongestionSetting injection;
    injection.control_map = 0xFFFF;
    injection.entry.fill({.ccti_timer = 20, .ccti_increase = 1});
    for (std::uint32_t i = 1; i < 4; ++i) {
        ASSERT_TRUE(ask(tree, tree.lid(i),
                        congestion_set(wire::CcAttribute::kCongestionControlTable, table)));
        ASSERT_TRUE(ask(tree, tree.lid(i),
                        congestion_set(wire::CcAttribute::kCaCongestionSetting, injection)));
    }
    EXPECT_LT(incast(), waits / 2);
    EXPECT_GT(tree.ends.data.flows().back().becns, 0U);
}

TEST(Management, BringUpIsTheSameEveryTime) {
    const auto hash = [] {
        ManagedTree tree(32, 8);
        EXPECT_TRUE(tree.bring_up());
        EXPECT_GT(tree.ends.management.mads(), 500U);
        return tree.net.engine().stats().log_hash;
    };
    const std::uint64_t first = hash();
    EXPECT_EQ(hash(), first);
    RecordProperty("log_hash", std::to_string(first));
}

TEST(Management, TheManagerGetsThroughAlsoWhenPacketsAreLost) {
    ManagedTree tree;
    for (std::uint32_t port = 0; port < tree.net.engine().plant().port_count(); ++port) {
        if (tree.net.engine().plant().connected(port) &&
            tree.net.engine().plant().peer(port) != port) {
            tree.net.engine().ports().set_errors(port,
                                                 {.lost_ppm = 20'000, .seed = 5});  // One in fifty.
        }
    }
    ASSERT_TRUE(tree.bring_up());
    EXPECT_GT(tree.net.engine().stats().lost, 10U);
    EXPECT_EQ(tree.ends.management.travelling(), 0U);
    for (std::uint32_t i = 0; i < tree.host_count(); ++i) {
        EXPECT_NE(tree.lid(i), kLidUnassigned);
        const auto& node = tree.ends.management.nodes().node(tree.node(i));
        EXPECT_EQ(node.port(1).port_state, wire::PortState::kActive);
    }
}

}  // namespace
}  // namespace softib::net
