// SPDX-License-Identifier: BSD-2-Clause
// A requester that does not know the keys changes nothing and sees no more than it may; its
// attempts are counted and reported to the subnet manager.
#include <vector>

#include "core/wire/pm/pm.h"
#include "core/wire/pm/port_counters.h"
#include "core/wire/sm/linear_forwarding_table.h"
#include "core/wire/sm/node_description.h"
#include "node_state.h"
#include "rig.h"

namespace softib::sm {
namespace {

using wire::Method;
using wire::PortInfo;
using wire::SmAttribute;
using wire::SmInfo;
using wire::SmInfoControl;
using wire::SmState;

constexpr std::uint64_t kMKey = 0xA1B2'C3D4'E5F6'0718;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kStranger = 3;  ///< The host that does not know the keys.
constexpr std::uint32_t kVictim = 0;    ///< A host that the stranger attacks.
constexpr std::uint64_t kTransaction = 0x7700'0000'0000'0001;

ManagerConfig with_key(std::uint8_t protect_bits, std::uint16_t lease = 0) {
    ManagerConfig config;
    config.mkey = kMKey;
    config.mkey_protect_bits = protect_bits;
    config.mkey_lease_period = lease;
    return config;
}

/// A subnet under a manager with an M_Key.
struct Subnet1 : Rig {
    explicit Subnet1(const ManagerConfig& config)
        : Rig(fat_tree(4, 4)), sw(first_switch()), manager(add_manager(sw, config)) {
        manager.start(now_ns);
        run();
        EXPECT_EQ(manager.state(), SmState::kMaster);
        expect_all_pairs();
        drain_traps();
    }

    Lid lid(std::uint32_t node) const {
        const agent::Node& n = mesh.node(node);
        return n.port(n.is_switch() ? 0 : 1).lid;
    }
    /// Sends a MAD from the stranger's QP0, by LID. Returns the answer, if one came.
    std::optional<wire::MadBytes> ask(std::uint32_t to, wire::MadBytes mad) {
        mad::Packet packet;
        wire::Mad<std::uint8_t>(mad).set_transaction_id(kTransaction);
        packet.mad = mad;
        packet.dlid = lid(to);
        return send(packet);
    }
    std::optional<wire::MadBytes> send(const mad::Packet& packet) {
        mesh.send({kStranger, 1}, packet, now_ns);
        std::optional<wire::MadBytes> answer;
        while (const auto delivery = mesh.poll_delivery()) {
            if (delivery->at.node == kStranger) {
                answer = delivery->packet.mad;
            }
        }
        return answer;
    }
    std::optional<PortInfo> port_info(std::uint32_t to, std::uint64_t mkey) {
        const auto answer = ask(to, make_smp(Method::kGet, SmAttribute::kPortInfo, 0, mkey));
        if (!answer) {
            return std::nullopt;
        }
        return wire::parse<PortInfo>(wire::Smp<const std::uint8_t>(*answer).data());
    }
    std::vector<NodeState> state() {
        std::vector<NodeState> all;
        for (std::uint32_t i = 0; i < mesh.size(); ++i) {
            all.push_back(read_state(mesh.node(i), manager.config().mkey, 0, now_ns));
        }
        return all;
    }
    /// Returns the traps that the manager has received since the last call.
    std::vector<wire::Notice> drain_traps() {
        std::vector<wire::Notice> traps;
        while (const auto event = service(0).poll_event()) {
            if (event->kind == ManagerEvent::kTrap) {
                traps.push_back(event->notice);
            }
        }
        return traps;
    }

    std::uint32_t sw;
    Manager& manager;
};

std::uint16_t violations(const agent::Node& node) {
    return node.port(node.is_switch() ? 0 : 1).mkey_violations;
}

TEST(MKey, ProtectionLevelsDecideWhatAStrangerReads) {
    for (std::uint8_t level = 0; level <= 3; ++level) {
        SCOPED_TRACE("level " + std::to_string(level));
        Subnet1 rig(with_key(level));
        for (const std::uint32_t to : {kVictim, rig.sw}) {
            for (const std::uint64_t wrong : {std::uint64_t{0}, kMKey + 1}) {
                const auto seen = rig.port_info(to, wrong);
                ASSERT_EQ(seen.has_value(), level < 2);
                if (seen) {
                    EXPECT_EQ(seen->mkey, level == 0 ? kMKey : 0);
                    EXPECT_EQ(seen->lid, rig.lid(to)) << "the rest is there";
                }
            }
            // What was refused was counted, what was answered was not.
            EXPECT_EQ(violations(rig.mesh.node(to)), level < 2 ? 0 : 2);
            const auto known = rig.port_info(to, kMKey);
            ASSERT_TRUE(known);
            EXPECT_EQ(known->mkey, kMKey);
            EXPECT_EQ(known->mkey_protect_bits, level);
        }
    }
}

TEST(MKey, DirectedRoutesAreCheckedToo) {
    Subnet1 rig(with_key(2));
    // With 0 hops to the stranger itself, with 1 hop to its switch.
    for (std::uint8_t hops = 0; hops <= 1; ++hops) {
        for (const std::uint64_t key : {std::uint64_t{1}, kMKey}) {
            mad::Packet packet;
            packet.mad = make_smp(Method::kGet, SmAttribute::kPortInfo, 0, key);
            const wire::Mad<std::uint8_t> header(packet.mad);
            header.set_mgmt_class(wire::MgmtClass::kSubnDirectedRoute);
            const wire::Smp<std::uint8_t> smp(packet.mad);
            smp.set_hop_count(hops);
            smp.set_dr_slid(kLidPermissive);
            smp.set_dr_dlid(kLidPermissive);
            smp.initial_path()[1] = 1;
            packet.dlid = kLidPermissive;
            EXPECT_EQ(rig.send(packet).has_value(), key == kMKey) << int{hops};
        }
    }
    EXPECT_EQ(violations(rig.mesh.node(kStranger)), 1);
}

TEST(MKey, StrangersSetNothing) {
    for (std::uint8_t level = 0; level <= 3; ++level) {
        SCOPED_TRACE("level " + std::to_string(level));
        Subnet1 rig(with_key(level));
        const auto before = rig.state();
        std::uint16_t refused = 0;
        for (const std::uint64_t key : {std::uint64_t{0}, ~kMKey}) {
            for (const auto& [attribute, modifier] :
                 {std::pair{SmAttribute::kNodeDescription, 0U},
                  std::pair{SmAttribute::kSwitchInfo, 0U}, std::pair{SmAttribute::kGuidInfo, 0U},
                  std::pair{SmAttribute::kPortInfo, 0U}, std::pair{SmAttribute::kPortInfo, 1U},
                  std::pair{SmAttribute::kPKeyTable, 0U},
                  std::pair{SmAttribute::kPKeyTable, 0x10000U},
                  std::pair{SmAttribute::kSlToVlMappingTable, 0x30000U},
                  std::pair{SmAttribute::kVlArbitrationTable, 0x10001U},
                  std::pair{SmAttribute::kLinearForwardingTable, 0U},
                  std::pair{SmAttribute::kMulticastForwardingTable, 0U},
                  std::pair{SmAttribute::kLedInfo, 0U}}) {
                wire::MadBytes mad = make_smp(Method::kSet, attribute, modifier, key);
                if (attribute == SmAttribute::kPortInfo) {
                    // A PortInfo with another subnet manager, another LID, no key and no link.
                    PortInfo wanted = rig.mesh.node(kVictim).port(1);
                    wanted.mkey = 0;
                    wanted.master_sm_lid = rig.lid(kStranger);
                    wanted.lid = Lid{99};
                    wanted.port_state = wire::PortState::kDown;
                    wire::emit(wanted, wire::Smp<std::uint8_t>(mad).data());
                } else {
                    std::ranges::fill(wire::Smp<std::uint8_t>(mad).data(), std::uint8_t{1});
                }
                ++refused;
                EXPECT_FALSE(rig.ask(kVictim, mad));
                EXPECT_FALSE(rig.ask(rig.sw, mad));
            }
        }
        EXPECT_EQ(violations(rig.mesh.node(kVictim)), refused);
        EXPECT_EQ(violations(rig.mesh.node(rig.sw)), refused);
        EXPECT_EQ(rig.state(), before);
        rig.expect_all_pairs();
    }
}

TEST(MKey, TheManagerHearsOfAViolation) {
    Subnet1 rig(with_key(2));
    EXPECT_FALSE(rig.ask(kVictim, make_smp(Method::kSet, SmAttribute::kLedInfo, 7, 0xBAD)));
    rig.run();
    const auto traps = rig.drain_traps();
    ASSERT_EQ(traps.size(), 1U);
    EXPECT_EQ(traps[0].trap_number, wire::trap::kBadMKey);
    EXPECT_EQ(traps[0].type, wire::NoticeType::kSecurity);
    EXPECT_EQ(traps[0].issuer_lid, rig.lid(kVictim));
    const auto seen = traps[0].details<wire::BadMKeyTrap>();
    EXPECT_EQ(seen.lid, rig.lid(kStranger)) << "who sent it";
    EXPECT_EQ(seen.mkey, 0xBADU);
    EXPECT_EQ(seen.method, Method::kSet);
    EXPECT_EQ(seen.attribute_id, static_cast<std::uint16_t>(SmAttribute::kLedInfo));
    EXPECT_EQ(seen.attribute_modifier, 7U);
    EXPECT_FALSE(seen.dr_notice);
    // The manager has repressed the trap, so no more come.
    rig.wait(30 * kSecond);
    EXPECT_TRUE(rig.drain_traps().empty());
}

TEST(MKey, LeaseEndsTheProtectionWhenTheManagerIsGone) {
    Subnet1 rig(with_key(2, 10));
    rig.manager.stop();
    EXPECT_FALSE(rig.port_info(kVictim, 0));
    rig.now_ns += 10 * kSecond - 1;
    EXPECT_FALSE(rig.port_info(kVictim, 0)) << "the lease runs from the first violation on";
    rig.now_ns += 1;
    const auto seen = rig.port_info(kVictim, 0);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->mkey_protect_bits, 0);
    EXPECT_EQ(seen->mkey, kMKey) << "whoever reads it may go on from here";
    EXPECT_FALSE(rig.ask(kVictim, make_smp(Method::kSet, SmAttribute::kLedInfo, 0, 0)));
    EXPECT_TRUE(rig.ask(kVictim, make_smp(Method::kSet, SmAttribute::kLedInfo, 0, seen->mkey)));
    // A node that nobody attacked is as it was.
    EXPECT_FALSE(rig.port_info(rig.sw, 0));
}

TEST(MKey, ARequestWithTheKeyRenewsTheLease) {
    Subnet1 rig(with_key(2, 10));
    rig.manager.stop();
    EXPECT_FALSE(rig.port_info(kVictim, 0));
    rig.now_ns += 9 * kSecond;
    EXPECT_TRUE(rig.port_info(kVictim, kMKey));
    rig.now_ns += 9 * kSecond;
    EXPECT_FALSE(rig.port_info(kVictim, 0));
}

TEST(MKey, ALeaseOfZeroNeverEnds) {
    Subnet1 rig(with_key(2, 0));
    rig.manager.stop();
    EXPECT_FALSE(rig.port_info(kVictim, 0));
    rig.now_ns += 1'000'000 * kSecond;
    EXPECT_FALSE(rig.port_info(kVictim, 0));
}

TEST(MKey, ViolationsAreResetByZeroAlone) {
    Subnet1 rig(with_key(0));
    EXPECT_FALSE(rig.ask(kVictim, make_smp(Method::kSet, SmAttribute::kLedInfo, 0, 0)));
    for (const auto& [written, left] : {std::pair{9, 1}, std::pair{0, 0}}) {
        PortInfo wanted = rig.mesh.node(kVictim).port(1);
        wanted.port_state = wire::PortState::kNoChange;
        wanted.port_physical_state = wire::PortPhysicalState::kNoChange;
        wanted.mkey_violations = static_cast<std::uint16_t>(written);
        wire::MadBytes mad = make_smp(Method::kSet, SmAttribute::kPortInfo, 1, kMKey);
        wire::emit(wanted, wire::Smp<std::uint8_t>(mad).data());
        ASSERT_TRUE(rig.ask(kVictim, mad));
        EXPECT_EQ(violations(rig.mesh.node(kVictim)), left);
    }
}

TEST(MKey, ManagerWorksEndToEnd) {
    Subnet1 rig(with_key(2, 60));
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        const agent::Node& node = rig.mesh.node(i);
        EXPECT_EQ(node.port(node.is_switch() ? 0 : 1).mkey, kMKey) << i;
    }
    const auto before = rig.state();
    const auto smps = rig.manager.stats().lft_blocks;
    rig.manager.resweep(rig.now_ns);
    rig.run();
    EXPECT_TRUE(rig.manager.settled());
    EXPECT_EQ(rig.manager.stats().sweeps_full, 2U);
    EXPECT_EQ(rig.manager.stats().lft_blocks, smps);
    EXPECT_EQ(rig.state(), before);
    // A switch that comes back without its state gets the key again.
    std::uint32_t other = rig.sw + 1;
    while (!rig.mesh.node(other).is_switch()) {
        ++other;
    }
    rig.mesh.set_powered(other, false);
    rig.run();
    rig.mesh.set_powered(other, true);
    rig.run();
    EXPECT_TRUE(rig.manager.settled());
    EXPECT_EQ(rig.mesh.node(other).port(0).mkey, kMKey);
    rig.expect_all_pairs();
    EXPECT_EQ(violations(rig.mesh.node(kVictim)), 0);
}

TEST(MKey, AnotherManagerWithTheKeyTakesOver) {
    Subnet1 rig(with_key(2));
    ManagerConfig config = with_key(2);
    config.priority = 1;
    Manager& second = rig.add_manager(kVictim, config);
    second.start(rig.now_ns);
    rig.run();
    rig.manager.stop();
    rig.wait(3 * kSecond);
    EXPECT_EQ(second.state(), SmState::kMaster);
    EXPECT_EQ(rig.mesh.node(kStranger).port(1).master_sm_lid, rig.lid(kVictim));
    rig.expect_all_pairs();
}

/// All controls that another manager can send.
constexpr SmInfoControl kControls[] = {SmInfoControl::kHandover, SmInfoControl::kAcknowledge,
                                       SmInfoControl::kDisable, SmInfoControl::kStandby,
                                       SmInfoControl::kDiscover};

wire::MadBytes sm_control(SmInfoControl what, std::uint64_t sm_key, Guid guid = Guid{1}) {
    SmInfo rogue;
    rogue.guid = guid;
    rogue.sm_key = sm_key;
    rogue.priority = 15;
    rogue.sm_state = SmState::kMaster;
    wire::MadBytes mad =
        make_smp(Method::kSet, SmAttribute::kSmInfo, static_cast<std::uint32_t>(what), 0);
    wire::emit(rogue, wire::Smp<std::uint8_t>(mad).data());
    wire::Mad<std::uint8_t>(mad).set_transaction_id(kTransaction);
    return mad;
}

/// Returns whether the manager answers a MAD of the stranger.
bool is_answered(Subnet1& rig, Manager& manager, const wire::MadBytes& mad) {
    manager.handle(mad, rig.lid(kStranger), rig.now_ns);
    bool answered = false;
    while (const auto out = manager.poll_transmit(rig.now_ns)) {
        answered =
            answered || wire::Mad<const std::uint8_t>(out->mad).transaction_id() == kTransaction;
    }
    return answered;
}

TEST(RogueManager, WithoutTheSmKeyMovesNobody) {
    ManagerConfig config = with_key(2);
    config.sm_key = 0x5EC2E7;
    config.priority = 1;
    Subnet1 rig(config);
    config.priority = 0;
    Manager& standby = rig.add_manager(kVictim, config);
    standby.start(rig.now_ns);
    rig.wait(kSecond);
    ASSERT_EQ(standby.state(), SmState::kStandby);
    for (const SmInfoControl what : kControls) {
        for (const std::uint64_t key : {0ULL, 1ULL, 0x5EC2E8ULL}) {
            EXPECT_FALSE(is_answered(rig, rig.manager, sm_control(what, key)));
            EXPECT_FALSE(is_answered(rig, standby, sm_control(what, key)));
        }
    }
    rig.wait(kSecond);
    EXPECT_EQ(rig.manager.state(), SmState::kMaster);
    EXPECT_EQ(standby.state(), SmState::kStandby);
}

TEST(RogueManager, AMasterKeepsWhatItNeverOffered) {
    ManagerConfig master = with_key(2);
    master.priority = 1;  // No other manager has a higher priority.
    Subnet1 rig(master);
    Manager& standby = rig.add_manager(kVictim, with_key(2));
    standby.start(rig.now_ns);
    rig.wait(kSecond);
    rig.manager.resweep(rig.now_ns);
    rig.wait(kSecond);
    ASSERT_EQ(rig.manager.others().size(), 1U);
    const std::uint64_t key = rig.manager.config().sm_key;
    for (const SmInfoControl what : kControls) {
        for (const Guid guid : {Guid{1}, standby.config().port_guid}) {
            EXPECT_TRUE(is_answered(rig, rig.manager, sm_control(what, key, guid)));
            EXPECT_EQ(rig.manager.state(), SmState::kMaster);
        }
    }
    rig.wait(kSecond);
    EXPECT_EQ(rig.manager.state(), SmState::kMaster);
}

TEST(RogueManager, HigherPriorityIsNotEnough) {
    Subnet1 rig(with_key(2));
    const auto before = rig.state();
    ManagerConfig config;
    config.priority = 15;
    config.sm_key = 99;
    Manager& rogue = rig.add_manager(kStranger, config);
    rogue.start(rig.now_ns);
    rig.wait(20 * kSecond);
    rig.manager.resweep(rig.now_ns);
    rig.wait(20 * kSecond);
    EXPECT_EQ(rig.manager.state(), SmState::kMaster);
    EXPECT_TRUE(rig.manager.settled());
    EXPECT_TRUE(rig.manager.others().empty());
    rig.mesh.set_capability({kStranger, 1}, wire::port_capability::kIsSM, false);
    EXPECT_EQ(rig.state(), before);
    rig.expect_all_pairs();
}

TEST(RogueManager, IsNotToldTheKey) {
    Subnet1 rig(with_key(2));
    rig.mesh.set_capability({kStranger, 1}, wire::port_capability::kIsSM, true);
    rig.manager.resweep(rig.now_ns);
    // The test moves packets itself, in order to see those that come to the stranger's programs.
    std::uint32_t asked = 0;
    for (bool busy = true; busy;) {
        busy = false;
        while (const auto out = rig.manager.poll_transmit(rig.now_ns)) {
            busy = true;
            mad::Packet packet;
            packet.mad = out->mad;
            packet.dlid = out->dlid;
            rig.mesh.send({rig.sw, 0}, packet, rig.now_ns);
            while (const auto delivery = rig.mesh.poll_delivery()) {
                if (delivery->at.node == rig.sw) {
                    rig.manager.handle(delivery->packet.mad, delivery->packet.slid, rig.now_ns);
                } else if (delivery->at.node == kStranger) {
                    ++asked;
                    EXPECT_EQ(wire::Smp<const std::uint8_t>(delivery->packet.mad).mkey(), 0U);
                }
            }
        }
    }
    EXPECT_GE(asked, 1U) << "it was asked who it is";
}

mad::Packet service_packet(const Subnet1& rig, std::uint32_t to) {
    mad::Packet packet;
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kPerf;
    header.method = Method::kGet;
    header.transaction_id = kTransaction;
    header.attribute_id = static_cast<std::uint16_t>(wire::PmAttribute::kClassPortInfo);
    header.emit(wire::Mad<std::uint8_t>(packet.mad));
    packet.dlid = rig.lid(to);
    packet.source = packet.destination = mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
    return packet;
}

TEST(PKey, AWrongOneIsDroppedCountedAndTold) {
    Subnet1 rig(with_key(0));
    for (const std::uint32_t to : {kVictim, rig.sw}) {
        mad::Packet packet = service_packet(rig, to);
        EXPECT_TRUE(rig.send(packet));
        packet.pkey = PKey{0x8123};
        EXPECT_FALSE(rig.send(packet));
        EXPECT_EQ(rig.mesh.node(to).port(to == rig.sw ? 0 : 1).pkey_violations, 1);
        rig.run();
        const auto traps = rig.drain_traps();
        ASSERT_EQ(traps.size(), 1U);
        EXPECT_EQ(traps[0].trap_number, wire::trap::kBadPKey);
        const auto seen = traps[0].details<wire::BadKeyTrap>();
        EXPECT_EQ(seen.key, 0x8123U);
        EXPECT_EQ(seen.lid1, rig.lid(kStranger));
        EXPECT_EQ(seen.lid2, rig.lid(to));
        packet.pkey = kPKeyDefaultFull;
        packet.qkey = QKey{5};
        EXPECT_FALSE(rig.send(packet));
        EXPECT_EQ(rig.mesh.node(to).port(to == rig.sw ? 0 : 1).qkey_violations, 1);
        rig.run();
        const auto more = rig.drain_traps();
        ASSERT_EQ(more.size(), 1U);
        EXPECT_EQ(more[0].trap_number, wire::trap::kBadQKey);
    }
}

/// Returns the switch port that a host is cabled to.
agent::End above(const Rig& rig, std::uint32_t host) {
    return rig.mesh.peer({host, 1});
}

TEST(PKey, ASwitchThatEnforcesStopsItOnTheWay) {
    for (const bool inbound : {true, false}) {
        SCOPED_TRACE(inbound ? "inbound" : "outbound");
        Subnet1 rig(with_key(2));
        const agent::End at = above(rig, inbound ? kStranger : kVictim);
        agent::Node& node = rig.mesh.node(at.node);
        PortInfo wanted = node.port(at.port);
        wanted.port_state = wire::PortState::kNoChange;
        wanted.port_physical_state = wire::PortPhysicalState::kNoChange;
        (inbound ? wanted.partition_enforcement_inbound : wanted.partition_enforcement_outbound) =
            true;
        wire::MadBytes mad = make_smp(Method::kSet, SmAttribute::kPortInfo, at.port, kMKey);
        wire::emit(wanted, wire::Smp<std::uint8_t>(mad).data());
        ASSERT_TRUE(rig.ask(at.node, mad));
        mad::Packet packet = service_packet(rig, kVictim);
        EXPECT_TRUE(rig.send(packet)) << "the default partition passes";
        rig.mesh.set_pkey({kVictim, 1}, 1, PKey{0x8123});
        packet.pkey = PKey{0x8123};
        EXPECT_FALSE(rig.send(packet)) << "the host would take it";
        EXPECT_EQ(rig.mesh.node(kVictim).port(1).pkey_violations, 0) << "and never saw it";
        rig.run();
        const auto traps = rig.drain_traps();
        ASSERT_EQ(traps.size(), 1U);
        EXPECT_EQ(traps[0].trap_number, wire::trap::kBadPKeyAtSwitch);
        const auto seen = traps[0].details<wire::BadSwitchPKeyTrap>();
        EXPECT_EQ(seen.pkey, PKey{0x8123});
        EXPECT_EQ(seen.lid1, rig.lid(kStranger));
        EXPECT_EQ(seen.lid2, rig.lid(kVictim));
        EXPECT_EQ(seen.switch_lid, rig.lid(at.node));
        EXPECT_EQ(seen.port_num, PortNum{at.port});
        // The counters show the violation too.
        mad::Packet query = service_packet(rig, at.node);
        wire::Mad<std::uint8_t>(query.mad).set_attribute_id(
            static_cast<std::uint16_t>(wire::PmAttribute::kPortCounters));
        wire::PortCounters select;
        select.port_select = PortNum{at.port};
        wire::emit(select, wire::pm_data(query.mad));
        const auto answer = rig.send(query);
        ASSERT_TRUE(answer);
        wire::MadBytes bytes = *answer;
        const auto counters = wire::parse<wire::PortCounters>(wire::pm_data(bytes));
        EXPECT_EQ(counters.port_rcv_constraint_errors, inbound ? 1 : 0);
        EXPECT_EQ(counters.port_xmit_constraint_errors, inbound ? 0 : 1);
        // With the P_Key in its table the port lets the packet pass.
        rig.mesh.set_pkey({at.node, at.port}, 1, PKey{0x8123});
        rig.mesh.set_pkey({kStranger, 1}, 1, PKey{0x8123});
        EXPECT_TRUE(rig.send(packet));
    }
}

/// Returns the MADs that arrive at the manager's node, where no manager answers them.
std::vector<wire::MadBytes> traps_sent(Subnet1& rig) {
    rig.mesh.advance(rig.now_ns);
    std::vector<wire::MadBytes> sent;
    while (const auto delivery = rig.mesh.poll_delivery()) {
        if (wire::Mad<const std::uint8_t>(delivery->packet.mad).method() == Method::kTrap) {
            sent.push_back(delivery->packet.mad);
        }
    }
    return sent;
}

TEST(TrapRepress, EndsTheTrapIfItsKeyIsRight) {
    Subnet1 rig(with_key(2));
    rig.manager.stop();
    EXPECT_FALSE(rig.port_info(kVictim, 0));
    auto sent = traps_sent(rig);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_TRUE(traps_sent(rig).empty()) << "not at once again";
    rig.now_ns += 2 * kSecond;
    sent = traps_sent(rig);
    ASSERT_EQ(sent.size(), 1U) << "nobody heard it: again";
    const auto repress = [&](std::uint64_t mkey, std::uint64_t transaction) {
        mad::Packet packet;
        packet.mad = sent[0];
        const wire::Mad<std::uint8_t> header(packet.mad);
        header.set_method(Method::kTrapRepress);
        header.set_transaction_id(header.transaction_id() + transaction);
        wire::Smp<std::uint8_t>(packet.mad).set_mkey(mkey);
        packet.dlid = rig.lid(kVictim);
        EXPECT_FALSE(rig.send(packet)) << "it has no answer";
    };
    repress(kMKey, 1);
    rig.now_ns += 2 * kSecond;
    EXPECT_EQ(traps_sent(rig).size(), 1U) << "another trap was meant";
    repress(0, 0);
    rig.now_ns += 2 * kSecond;
    EXPECT_EQ(traps_sent(rig).size(), 1U) << "not by a stranger";
    EXPECT_EQ(violations(rig.mesh.node(kVictim)), 2);
    repress(kMKey, 0);
    rig.now_ns += 2 * kSecond;
    EXPECT_TRUE(traps_sent(rig).empty());
    rig.now_ns += 100 * kSecond;
    EXPECT_TRUE(traps_sent(rig).empty());
}

}  // namespace
}  // namespace softib::sm
