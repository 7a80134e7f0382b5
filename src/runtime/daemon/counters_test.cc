// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/topo/spec.h"
#include "core/wire/sa/mc_member_record.h"
#include "core/wire/sa/sa.h"
#include "runtime/daemon/builder.h"
#include "runtime/daemon/management.h"
#include "runtime/shm/path.h"
#include "runtime/shm/reclaim.h"
#include "runtime/shm/test_arena.h"

namespace softib::daemon {
namespace {

namespace mc = wire::mc_member;

constexpr shm::Owner kProgram = 3;
constexpr std::uint64_t kPackets = 7;
constexpr std::uint64_t kWords = 70;

/// A fabric of two leaves with two hosts each and two spines, which the manager has brought up,
/// with queue pairs as programs write them into the arena.
class Counting : public testing::Test {
  protected:
    Counting()
        : fabric(topo::generate({.shape = topo::Shape::kFatTree, .hosts = 4, .radix = 4}).value()),
          arena(build_arena(fabric, {.arena_bytes = shm::kTestArenaBytes})),
          management(arena, events, fabric, {}) {
        events.init("/nonexistent", &arena);
        management.start(now_ns);
        arena.qp_batches[2] = kProgram;
    }
    ~Counting() override { arena_unmap(arena); }

    Lid lid_of(std::uint32_t hca) const { return Lid{arena.hcas[hca].lid.load()}; }

    /// Makes a datagram queue pair with two flows to a LID: first_flow, and one in its FlowTable.
    shm::QpShared& send(std::uint32_t hca, Lid dlid) {
        const std::uint32_t index = 2 * shm::kBatchEntries + made;
        const std::uint64_t off = arena.header->chunks_off + made * shm::FlowTable::bytes(4);
        ++made;
        shm::QpShared& qp = arena.qps[index];
        auto& table = *arena.at<shm::FlowTable>(off);
        table.capacity = 4;
        const auto put = [&](shm::Flow& flow, std::uint64_t packets, std::uint64_t words) {
            flow.packets = packets;
            flow.words = words;
            flow.dlid = dlid.value;
        };
        put(qp.first_flow, 3, 30);
        put(table.flows()[1], kPackets - 3, kWords - 30);
        qp.hca = static_cast<std::uint16_t>(hca);
        qp.state = hca::QpState::kRts;
        qp.flows_off = off;
        qp.has_flows = 1;
        start_counting(arena, index);
        return qp;
    }

    /// Joins a multicast group as a program does, by a MAD to the SA from the port's QP1. Returns
    /// its MLID.
    Lid join(std::uint32_t hca) {
        wire::McMemberRecord record;
        record.mgid.bytes[0] = 0xFF;
        record.mgid.bytes[1] = 0x12;
        record.port_gid = Gid::from(arena.hcas[hca].gid_prefix, Guid{arena.hcas[hca].port_guid});
        record.pkey = kPKeyDefaultFull;
        record.join_state = wire::kJoinFullMember;
        mad::Packet packet;
        const wire::Mad<std::uint8_t> header(packet.mad);
        header.set_base_version(wire::kMadBaseVersion);
        header.set_mgmt_class(wire::MgmtClass::kSubnAdm);
        header.set_class_version(wire::kSaClassVersion);
        header.set_method(wire::Method::kSet);
        header.set_attribute_id(static_cast<std::uint16_t>(wire::SaAttribute::kMcMemberRecord));
        header.set_transaction_id(++transactions << 32);
        const wire::Sa<std::uint8_t> sa(packet.mad);
        sa.set_header({.component_mask = mc::kMgid | mc::kPortGid | mc::kJoinState | mc::kQKey |
                                         mc::kPKey | mc::kSl | mc::kFlowLabel | mc::kTClass});
        wire::emit(record, sa.data().first<wire::McMemberRecord::kBytes>());
        packet.slid = lid_of(hca);
        packet.dlid = Lid{arena.hcas[hca].sm_lid};
        packet.source = packet.destination = mad::kQpnServices;
        packet.qkey = mad::kQKeyServices;
        management.send(hca, packet, now_ns);
        const auto answer = management.poll_delivery(programs);
        EXPECT_TRUE(answer);
        const wire::Sa<const std::uint8_t> got(answer->packet.mad);
        return wire::parse<wire::McMemberRecord>(got.data().first<wire::McMemberRecord::kBytes>())
            .mlid;
    }

    std::set<std::uint32_t> ends_of(std::uint32_t hca, Lid mlid) const {
        std::set<std::uint32_t> ends;
        follow_multicast(
            arena, hca, mlid, kPKeyDefaultFull, [](shm::SwitchPortRecord&, sw::Step) {},
            [&](std::uint32_t end) { EXPECT_TRUE(ends.insert(end).second) << "twice at " << end; });
        return ends;
    }

    std::vector<counters::PortCounts> all_switch_ports() const {
        std::vector<counters::PortCounts> all;
        for (std::uint32_t i = 0; i < arena.header->switch_ports; ++i) {
            all.push_back(shm::read_totals(arena.switch_ports[i].totals));
        }
        return all;
    }
    counters::PortCounts hca(std::uint32_t index) const {
        return shm::read_totals(arena.hcas[index].totals);
    }
    const shm::SwitchPortRecord& switch_port(std::uint32_t sw, std::uint8_t port) const {
        return arena.switch_ports[arena.switches[sw].port_first + port];
    }

    std::uint64_t now_ns = 1'000'000'000;
    topo::Fabric fabric;
    shm::Arena arena;
    shm::ChannelWriter events;
    Management management;
    agent::MadToken programs = management.add_host_service({});
    std::uint32_t made = 0;
    std::uint64_t transactions = 0;
};

TEST_F(Counting, DatagramsCountAtEveryPortOfTheirPathAndNowhereElse) {
    shm::QpShared& qp = send(0, lid_of(3));
    EXPECT_EQ(read_port_counters(arena, 0).xmit_words, kWords);
    EXPECT_EQ(read_port_counters(arena, 3).rcv_packets, kPackets)
        << "not settled, seen all the same";
    for (int again = 0; again < 2; ++again) {
        settle_all(arena, shm::kDaemonOwner);
        EXPECT_EQ(hca(0).xmit_packets, kPackets);
        EXPECT_EQ(hca(0).rcv_packets, 0U);
        EXPECT_EQ(hca(3).rcv_words, kWords);
        std::set<const shm::SwitchPortRecord*> ins;
        std::set<const shm::SwitchPortRecord*> outs;
        ASSERT_TRUE(for_each_port(
            arena, 0, lid_of(3),
            [&](shm::SwitchPortRecord& port, bool is_in) { (is_in ? ins : outs).insert(&port); }));
        EXPECT_EQ(ins.size(), 3U);
        for (std::uint32_t i = 0; i < arena.header->switch_ports; ++i) {
            const counters::PortCounts seen = shm::read_totals(arena.switch_ports[i].totals);
            EXPECT_EQ(seen.rcv_packets, ins.contains(&arena.switch_ports[i]) ? kPackets : 0);
            EXPECT_EQ(seen.xmit_words, outs.contains(&arena.switch_ports[i]) ? kWords : 0);
            EXPECT_EQ(seen.multicast_rcv_packets, 0U);
        }
    }
    EXPECT_EQ(read_port_counters(arena, 3).rcv_packets, kPackets);
    arena.at<shm::FlowTable>(qp.flows_off)->flows()[1].packets += 1;
    fold_counters(arena, qp, shm::kDaemonOwner);
    EXPECT_EQ(hca(3).rcv_packets, kPackets + 1);
}

TEST_F(Counting, LostDatagramsCountUpToWhereTheyAreLost) {
    const std::uint32_t leaf = arena.hcas[3].peer_switch;
    ASSERT_TRUE(management.set_route(leaf, lid_of(3), sw::kNoPath, now_ns));
    send(0, lid_of(3));
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(0).xmit_packets, kPackets);
    EXPECT_EQ(hca(3).rcv_packets, 0U);
    const auto ports = all_switch_ports();
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::rcv_packets), 3);
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::xmit_packets), 2);
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::rcv_switch_relay_errors),
              1);
}

TEST_F(Counting, ADatagramThatATableSendsBackIsLostThere) {
    const std::uint32_t leaf = arena.hcas[0].peer_switch;
    ASSERT_TRUE(management.set_route(leaf, lid_of(3), arena.hcas[0].peer_port, now_ns));
    send(0, lid_of(3));
    settle_all(arena, shm::kDaemonOwner);
    const auto ports = all_switch_ports();
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::rcv_packets), 1);
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::xmit_packets), 0);
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::rcv_switch_relay_errors),
              1);
}

TEST_F(Counting, WhatADeadPortDoesNotSendIsDiscarded) {
    ASSERT_TRUE(management.set_plugged({shm::NodeRef::kHca, 0}, 1, false, now_ns));
    send(0, lid_of(3));
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(0).xmit_packets, 0U);
    EXPECT_EQ(hca(0).xmit_discards, kPackets);
}

TEST_F(Counting, MulticastCountsOncePerPortOfTheTree) {
    Lid mlid;
    for (const std::uint32_t member : {0U, 1U, 3U}) {
        mlid = join(member);
    }
    ASSERT_TRUE(is_multicast(mlid));
    EXPECT_EQ(ends_of(0, mlid), (std::set<std::uint32_t>{1, 3}));
    EXPECT_EQ(ends_of(3, mlid), (std::set<std::uint32_t>{0, 1}));
    send(0, mlid);
    EXPECT_EQ(read_port_counters(arena, 3).multicast_rcv_packets, kPackets);
    EXPECT_EQ(read_port_counters(arena, 2).rcv_packets, 0U);
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(0).multicast_xmit_packets, kPackets);
    EXPECT_EQ(hca(0).rcv_packets, 0U) << "a switch does not send back where it came from";
    EXPECT_EQ(hca(1).multicast_rcv_packets, kPackets);
    EXPECT_EQ(hca(2).rcv_packets, 0U);
    EXPECT_EQ(hca(3).rcv_words, kWords);
    const auto ports = all_switch_ports();
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::multicast_rcv_packets), 3);
    EXPECT_EQ(std::ranges::count(ports, kWords, &counters::PortCounts::xmit_words), 4);
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::rcv_switch_relay_errors),
              0);
}

TEST_F(Counting, WithoutAnEntryTheFirstSwitchDropsIt) {
    send(2, Lid{0xC123});
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(2).multicast_xmit_packets, kPackets);
    const auto ports = all_switch_ports();
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::rcv_switch_relay_errors),
              1);
    EXPECT_EQ(std::ranges::count(ports, kPackets, &counters::PortCounts::xmit_packets), 0);
}

TEST_F(Counting, ADeadLinkCutsTheTreeUntilTheManagerHasAnotherWay) {
    join(0);
    const Lid mlid = join(3);
    const std::uint32_t leaf = arena.hcas[0].peer_switch;
    const auto uplink = [&] {
        for (std::uint8_t port = 1; port < arena.switches[leaf].port_count; ++port) {
            if (switch_port(leaf, port).peer.kind == shm::NodeRef::kSwitch &&
                (arena.mft_ports(leaf, mlid, 0) >> port & 1) != 0) {
                return port;
            }
        }
        return std::uint8_t{0};
    };
    const std::uint8_t before = uplink();
    ASSERT_NE(before, 0);
    shm::SwitchPortRecord& port = arena.switch_ports[arena.switches[leaf].port_first + before];
    port.state = PortState::kDown;
    EXPECT_EQ(ends_of(0, mlid), std::set<std::uint32_t>{});
    send(0, mlid);
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(shm::read_totals(port.totals).xmit_discards, kPackets);
    port.state = PortState::kActive;

    ASSERT_TRUE(management.set_plugged({shm::NodeRef::kSwitch, leaf}, before, false, now_ns));
    for (int i = 0; i < 100 && uplink() == before; ++i) {
        EXPECT_EQ(ends_of(0, mlid), std::set<std::uint32_t>{});
        now_ns += 100'000'000;
        management.run(now_ns);
    }
    EXPECT_NE(uplink(), before);
    EXPECT_EQ(ends_of(0, mlid), (std::set<std::uint32_t>{3}));
}

TEST_F(Counting, ALoopInTheTablesEnds) {
    for (std::uint32_t sw = 0; sw < arena.header->switches; ++sw) {
        arena.mft(sw, 5, 0) = 0x1E;  // Every port.
    }
    arena.header->mft_top = 6;
    std::uint32_t passed = 0;
    follow_multicast(
        arena, 0, Lid{0xC005}, kPKeyDefaultFull,
        [&](shm::SwitchPortRecord&, sw::Step step) { passed += step == sw::Step::kIn; },
        [](std::uint32_t) {});
    EXPECT_EQ(passed, arena.header->switches);
}

TEST_F(Counting, WhatASwitchPortKeepsOutIsCountedThereAndGoesNoFurther) {
    shm::SwitchPortRecord& entry =
        arena.switch_ports[arena.switches[arena.hcas[0].peer_switch].port_first +
                           arena.hcas[0].peer_port];
    entry.pkeys[0] = 0x8010;
    entry.enforcement = shm::kEnforceOutbound;
    send(0, lid_of(3));
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(3).rcv_packets, kPackets) << "only what goes out there is looked at";

    entry.enforcement = shm::kEnforceInbound;
    const std::vector<counters::PortCounts> before = all_switch_ports();
    send(0, lid_of(3));
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(3).rcv_packets, kPackets);
    EXPECT_EQ(entry.totals.rcv_constraint_errors, kPackets);
    std::vector<counters::PortCounts> after = all_switch_ports();
    std::uint32_t touched = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
        touched += after[i].rcv_packets != before[i].rcv_packets;
        touched += after[i].xmit_packets != before[i].xmit_packets;
    }
    EXPECT_EQ(touched, 1U) << "it came in and went nowhere";

    arena.hcas[0].pkeys[0] = 0x0010;  // The P_Key of a limited member.
    send(0, lid_of(3));
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(3).rcv_packets, 2 * kPackets);
}

TEST_F(Counting, WhatASwitchPortKeepsInDoesNotReachThatMemberOfAGroup) {
    const Lid mlid = join(1);
    join(2);
    join(3);
    shm::SwitchPortRecord& last =
        arena.switch_ports[arena.switches[arena.hcas[3].peer_switch].port_first +
                           arena.hcas[3].peer_port];
    last.pkeys[0] = 0x8010;
    last.enforcement = shm::kEnforceOutbound;
    EXPECT_EQ(ends_of(0, mlid), (std::set<std::uint32_t>{1, 2}));
    send(0, mlid);
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(last.totals.xmit_constraint_errors, kPackets);
    EXPECT_EQ(hca(2).rcv_packets, kPackets);
    EXPECT_EQ(hca(3).rcv_packets, 0U);
}

TEST_F(Counting, WhatAKilledProcessSentIsCounted) {
    arena.proc(kProgram).state = shm::ProcState::kLive;
    send(0, lid_of(3));
    send(1, lid_of(2));
    reclaim(arena, kProgram);
    EXPECT_EQ(hca(3).rcv_packets, kPackets);
    EXPECT_EQ(hca(2).rcv_words, kWords);
    settle_all(arena, shm::kDaemonOwner);
    EXPECT_EQ(hca(3).rcv_packets, kPackets) << "once";
    EXPECT_EQ(arena.qps[2 * shm::kBatchEntries].flows_off.load(), 0U)
        << "its memory is another's now";
    EXPECT_EQ(arena.qps[2 * shm::kBatchEntries].first_flow.dlid.load(), 0U);
    EXPECT_EQ(arena.qp_used[2].load(), 0U);
}

}  // namespace
}  // namespace softib::daemon
