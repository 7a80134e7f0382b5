// SPDX-License-Identifier: BSD-2-Clause
// The subnet manager and the agents of a whole fabric, joined by a mesh.
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "rig.h"

namespace softib::sm {
namespace {

TEST(Manager, BringsASubnetUp) {
    Rig rig(fat_tree(16, 8));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_TRUE(manager.settled());
    EXPECT_EQ(manager.state(), wire::SmState::kMaster);
    EXPECT_EQ(manager.subnet().size(), rig.mesh.size());
    rig.expect_all_pairs();
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        const agent::Node& node = rig.mesh.node(i);
        for (std::uint8_t p = 1; p <= node.port_count(); ++p) {
            if (rig.mesh.peer({i, p}).node != agent::kNoNode) {
                EXPECT_EQ(node.port(p).port_state, wire::PortState::kActive);
            }
        }
    }
}

TEST(Manager, RunsOnAHostToo) {
    Rig rig(fat_tree(16, 8));
    Manager& manager = rig.add_manager(3);
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_EQ(manager.state(), wire::SmState::kMaster);
    rig.expect_all_pairs();
}

TEST(Manager, AdaptersGetTheLowLidsInOrder) {
    Rig rig(fat_tree(16, 8));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    std::uint16_t next = 0;
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        if (!rig.mesh.node(i).is_switch()) {
            EXPECT_EQ(rig.mesh.node(i).port(1).lid, Lid{++next});
        }
    }
}

TEST(Manager, RoutesHostsInTheOrderInWhichProgramsNumberThem) {
    Rig rig(fat_tree(16, 8));
    ManagerConfig config;
    const auto guid_of = [&](std::uint32_t host) {
        return rig.mesh.node(host).spec().ports[1].guid;
    };
    config.host_order = {{guid_of(9).value, 0}, {guid_of(2).value, 1}};
    Manager& manager = rig.add_manager(rig.first_switch(), config);
    manager.start(rig.now_ns);
    rig.run();
    std::map<std::uint32_t, Guid> by_order;
    for (const routing::Target& target : manager.graph()->targets()) {
        if (!target.is_switch()) {
            by_order[target.order] = target.guid;
        }
    }
    EXPECT_EQ(by_order[0], guid_of(9));
    EXPECT_EQ(by_order[1], guid_of(2));
    EXPECT_EQ(by_order[2], guid_of(0)) << "the others are by switch and port";
    EXPECT_EQ(by_order[15], guid_of(15));
}

TEST(Manager, ASecondSweepWritesNothing) {
    Rig rig(fat_tree(16, 8));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    const std::uint64_t blocks = manager.stats().lft_blocks;
    manager.resweep(rig.now_ns);
    rig.run();
    EXPECT_EQ(manager.stats().sweeps_full, 2U);
    EXPECT_EQ(manager.stats().lft_blocks, blocks);
}

TEST(Manager, LostCableIsRoutedAroundAndComesBack) {
    Rig rig(fat_tree(16, 8));
    const std::uint32_t sw = rig.first_switch();
    Manager& manager = rig.add_manager(sw);
    manager.start(rig.now_ns);
    rig.run();
    // An uplink: a port of the first switch that leads to another switch.
    std::uint8_t up = 0;
    for (std::uint8_t p = 1; p <= rig.mesh.node(sw).port_count(); ++p) {
        const agent::End peer = rig.mesh.peer({sw, p});
        if (peer.node != agent::kNoNode && rig.mesh.node(peer.node).is_switch()) {
            up = p;
        }
    }
    ASSERT_NE(up, 0);
    const auto lids = manager.lids();
    rig.mesh.set_plugged({sw, up}, false);
    rig.run();
    EXPECT_TRUE(manager.settled()) << "it asked by a way that is no more, and waits";
    EXPECT_GE(manager.stats().sweeps_partial, 1U);
    EXPECT_EQ(manager.stats().sweeps_full, 1U);
    rig.expect_all_pairs();
    EXPECT_EQ(manager.subnet()
                  .node(manager.subnet().find(rig.mesh.node(sw).spec().node_guid))
                  .ports[up]
                  .peer,
              kNoNode);
    rig.mesh.set_plugged({sw, up}, true);
    rig.run();
    rig.expect_all_pairs();
    EXPECT_EQ(rig.mesh.node(sw).port(up).port_state, wire::PortState::kActive);
    EXPECT_EQ(manager.lids(), lids);
}

TEST(Manager, DeadSwitchIsForgottenAndFoundAgain) {
    Rig rig(fat_tree(16, 8));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    // A spine: a switch without HCAs.
    std::uint32_t spine = UINT32_MAX;
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        if (!rig.mesh.node(i).is_switch()) {
            continue;
        }
        bool hosts = false;
        for (std::uint8_t p = 1; p <= rig.mesh.node(i).port_count(); ++p) {
            const agent::End peer = rig.mesh.peer({i, p});
            hosts = hosts || (peer.node != agent::kNoNode && !rig.mesh.node(peer.node).is_switch());
        }
        if (!hosts) {
            spine = i;
        }
    }
    ASSERT_NE(spine, UINT32_MAX);
    const Guid guid = rig.mesh.node(spine).spec().node_guid;
    const Lid lid = rig.mesh.node(spine).port(0).lid;
    rig.mesh.set_powered(spine, false);
    rig.run();
    EXPECT_TRUE(manager.settled());
    EXPECT_FALSE(manager.subnet().node(manager.subnet().find(guid)).present);
    rig.expect_all_pairs();
    rig.mesh.set_powered(spine, true);
    rig.run();
    EXPECT_TRUE(manager.subnet().node(manager.subnet().find(guid)).present);
    EXPECT_EQ(rig.mesh.node(spine).port(0).lid, lid);
    rig.expect_all_pairs();
}

TEST(Manager, MulticastTreeReachesEveryMemberOnce) {
    Rig rig(fat_tree(16, 8));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    McastTree tree{Lid{0xC003}, {}};
    for (const int lid : {1, 5, 9, 13, 16}) {
        tree.members.push_back(*manager.subnet().by_lid(Lid{static_cast<std::uint16_t>(lid)}));
    }
    manager.set_groups({tree}, rig.now_ns);
    rig.run();
    // Flood from the first member.
    std::map<std::uint32_t, int> arrived;
    std::vector<agent::End> queue;
    const auto from = rig.mesh.route({0, 1}, Lid{1}, false);
    ASSERT_TRUE(from);
    queue.push_back(rig.mesh.peer(*from));
    while (!queue.empty() && arrived.size() < 100) {
        const agent::End at = queue.back();
        queue.pop_back();
        const agent::Node& node = rig.mesh.node(at.node);
        if (!node.is_switch()) {
            ++arrived[node.port(1).lid.value];
            continue;
        }
        for (std::uint8_t p = 1; p <= node.port_count(); ++p) {
            if (p != at.port && node.forwards_multicast(tree.mlid, p)) {
                queue.push_back(rig.mesh.peer({at.node, p}));
            }
        }
    }
    EXPECT_EQ(arrived, (std::map<std::uint32_t, int>{{5, 1}, {9, 1}, {13, 1}, {16, 1}}));
}

TEST(Traps, LinkFaultsAndANewSystemImageAreHeard) {
    Rig rig(fat_tree(16, 8));
    const std::uint32_t sw = rig.first_switch();
    rig.add_manager(sw).start(rig.now_ns);
    rig.run();
    while (rig.service(0).poll_event()) {
    }
    rig.mesh.link_fault({sw + 1, 3}, wire::trap::kLocalLinkIntegrity);
    rig.mesh.link_fault({sw + 1, 4}, wire::trap::kLocalLinkIntegrity);
    rig.mesh.link_fault({sw + 1, 3}, wire::trap::kExcessiveBufferOverrun);
    rig.mesh.link_fault({0, 1}, wire::trap::kFlowControlWatchdog);
    rig.mesh.set_system_image_guid(2, Guid{0x77});
    rig.run();
    std::multiset<std::tuple<std::uint16_t, std::uint16_t, std::uint8_t>> heard;
    std::optional<wire::SystemImageGuidTrap> image;
    while (const auto event = rig.service(0).poll_event()) {
        if (event->kind != ManagerEvent::kTrap) {
            continue;
        }
        if (event->notice.trap_number == wire::trap::kSystemImageGuidChanged) {
            image = event->notice.details<wire::SystemImageGuidTrap>();
            continue;
        }
        const auto seen = event->notice.details<wire::PortThresholdTrap>();
        heard.insert({event->notice.trap_number, seen.lid.value, seen.port_num.value});
    }
    const std::uint16_t lid = rig.mesh.node(sw + 1).port(0).lid.value;
    const std::uint16_t host = rig.mesh.node(0).port(1).lid.value;
    EXPECT_EQ(heard,
              (decltype(heard){{129, lid, 3}, {129, lid, 4}, {130, lid, 3}, {131, host, 1}}));
    ASSERT_TRUE(image);
    EXPECT_EQ(*image, (wire::SystemImageGuidTrap{rig.mesh.node(2).port(1).lid, Guid{0x77}}));
}

TEST(Election, HigherPriorityThenLowerGuidIsMaster) {
    Rig rig(fat_tree(16, 8));
    ManagerConfig low;
    ManagerConfig high;
    high.priority = 5;
    Manager& a = rig.add_manager(0, low);
    Manager& b = rig.add_manager(1, high);
    Manager& c = rig.add_manager(2, low);
    a.start(rig.now_ns);
    b.start(rig.now_ns);
    c.start(rig.now_ns);
    rig.wait(3'000'000'000);
    EXPECT_EQ(b.state(), wire::SmState::kMaster);
    EXPECT_EQ(a.state(), wire::SmState::kStandby);
    EXPECT_EQ(c.state(), wire::SmState::kStandby);
}

TEST(Election, StandbyTakesOverWhenTheMasterIsSilent) {
    Rig rig(fat_tree(16, 8));
    ManagerConfig high;
    high.priority = 5;
    Manager& a = rig.add_manager(0);
    Manager& b = rig.add_manager(1, high);
    b.start(rig.now_ns);
    rig.wait(1'000'000'000);
    a.start(rig.now_ns);
    rig.run();
    ASSERT_EQ(b.state(), wire::SmState::kMaster);
    ASSERT_EQ(a.state(), wire::SmState::kStandby);
    const auto lids = b.lids();
    b.stop();
    rig.wait(2'000'000'000);
    EXPECT_EQ(a.state(), wire::SmState::kMaster);
    EXPECT_EQ(a.lids(), lids);
    rig.expect_all_pairs();
}

TEST(Election, MasterHandsOverToAHigherPriority) {
    Rig rig(fat_tree(16, 8));
    ManagerConfig high;
    high.priority = 5;
    Manager& a = rig.add_manager(0);
    a.start(rig.now_ns);
    rig.run();
    ASSERT_EQ(a.state(), wire::SmState::kMaster);
    Manager& b = rig.add_manager(1, high);
    b.start(rig.now_ns);
    rig.wait(2'000'000'000);
    EXPECT_EQ(b.state(), wire::SmState::kMaster);
    EXPECT_EQ(a.state(), wire::SmState::kStandby);
    rig.expect_all_pairs();
}

/// Returns the ends of the cables that join the first two switches of the circle to the others:
/// without these cables each side is a subnet of its own.
std::vector<agent::End> ends_that_halve(const Rig& rig) {
    std::vector<agent::End> cut;
    for (std::uint32_t i = rig.first_switch(); i < rig.first_switch() + 2; ++i) {
        for (std::uint8_t p = 1; p <= rig.mesh.node(i).port_count(); ++p) {
            const agent::End peer = rig.mesh.peer({i, p});
            if (peer.node != agent::kNoNode && rig.mesh.node(peer.node).is_switch() &&
                peer.node >= rig.first_switch() + 2) {
                cut.push_back({i, p});
            }
        }
    }
    return cut;
}

void set_plugged(Rig& rig, const std::vector<agent::End>& ends, bool plugged) {
    for (const agent::End& end : ends) {
        rig.mesh.set_plugged(end, plugged);
    }
}

/// Two masters that had each a subnet of their own, until a cable joined them.
TEST(Election, MastersThatMeetAgreeAndTheSubnetIsOne) {
    for (const std::uint8_t priority : std::array<std::uint8_t, 2>{0, 5}) {
        SCOPED_TRACE(static_cast<int>(priority));
        Rig rig(ring());
        const std::vector<agent::End> cut = ends_that_halve(rig);
        ASSERT_EQ(cut.size(), 2U);
        set_plugged(rig, cut, false);
        ManagerConfig config;
        Manager& a = rig.add_manager(rig.first_switch(), config);
        config.priority = priority;
        Manager& b = rig.add_manager(rig.first_switch() + 3, config);
        a.start(rig.now_ns);
        b.start(rig.now_ns);
        rig.wait(2'000'000'000);
        ASSERT_EQ(a.state(), wire::SmState::kMaster);
        ASSERT_EQ(b.state(), wire::SmState::kMaster);
        ASSERT_EQ(a.subnet().size() + b.subnet().size(), rig.mesh.size());
        set_plugged(rig, cut, true);
        rig.wait(5'000'000'000);
        Manager& master = priority == 0 ? a : b;  // With equal priority the lower GUID is better.
        Manager& standby = priority == 0 ? b : a;
        EXPECT_EQ(master.state(), wire::SmState::kMaster);
        EXPECT_EQ(standby.state(), wire::SmState::kStandby);
        rig.expect_all_pairs();
        std::set<std::uint16_t> lids;
        for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
            const agent::Node& node = rig.mesh.node(i);
            lids.insert(node.port(node.is_switch() ? 0 : 1).lid.value);
        }
        EXPECT_EQ(lids.size(), rig.mesh.size()) << "each has a LID of its own";
    }
}

TEST(Election, ANewcomerFollowsTheBetterOfTwoMasters) {
    for (const bool first_is_better : {false, true}) {
        SCOPED_TRACE(first_is_better);
        Rig rig(ring());
        const std::vector<agent::End> cut = ends_that_halve(rig);
        set_plugged(rig, cut, false);
        Manager& newcomer = rig.add_manager(0);
        ManagerConfig config;
        config.priority = first_is_better ? 7 : 5;
        Manager& first = rig.add_manager(rig.first_switch(), config);
        config.priority = 6;
        Manager& second = rig.add_manager(rig.first_switch() + 3, config);
        first.start(rig.now_ns);
        second.start(rig.now_ns);
        rig.wait(2'000'000'000);
        ASSERT_EQ(first.state(), wire::SmState::kMaster);
        ASSERT_EQ(second.state(), wire::SmState::kMaster);
        set_plugged(rig, cut, true);
        newcomer.start(rig.now_ns);
        for (int i = 0; i < 10 && newcomer.state() == wire::SmState::kDiscovering; ++i) {
            rig.run_only(0);
            rig.run_some(1);  // The first MAD of each master says that it is master.
        }
        ASSERT_EQ(newcomer.others().size(), 2U);
        for (const auto& [guid, other] : newcomer.others()) {
            ASSERT_EQ(other.info.sm_state, wire::SmState::kMaster) << "they have not met yet";
        }
        EXPECT_EQ(newcomer.state(), wire::SmState::kStandby);
        EXPECT_EQ(newcomer.master(), (first_is_better ? first : second).config().port_guid);
    }
}

TEST(Election, HandingOverChoosesTheBestOfTheOthers) {
    for (const bool nearest_is_better : {false, true}) {
        SCOPED_TRACE(nearest_is_better);
        Rig rig(fat_tree(16, 8));
        ManagerConfig config;
        config.priority = 5;
        Manager& master = rig.add_manager(0, config);
        master.start(rig.now_ns);
        rig.run();
        config.priority = nearest_is_better ? 2 : 1;
        Manager& nearest = rig.add_manager(1, config);
        config.priority = nearest_is_better ? 1 : 2;
        Manager& farthest = rig.add_manager(15, config);
        nearest.start(rig.now_ns);
        farthest.start(rig.now_ns);
        rig.wait(1'000'000'000);
        ASSERT_EQ(master.others().size(), 2U);
        ASSERT_TRUE(master.hand_over());
        EXPECT_EQ(master.heir(), (nearest_is_better ? nearest : farthest).config().port_guid);
        rig.wait(5'000'000'000);
        EXPECT_EQ((nearest_is_better ? nearest : farthest).state(), wire::SmState::kMaster);
        EXPECT_EQ(master.state(), wire::SmState::kStandby);
    }
}

TEST(Election, AnotherSmKeyDoesNotCount) {
    Rig rig(fat_tree(16, 8));
    ManagerConfig rogue;
    rogue.priority = 15;
    rogue.sm_key = 99;
    Manager& a = rig.add_manager(0);
    Manager& b = rig.add_manager(1, rogue);
    a.start(rig.now_ns);
    rig.wait(1'000'000'000);
    b.start(rig.now_ns);
    rig.wait(1'000'000'000);
    EXPECT_EQ(a.state(), wire::SmState::kMaster);
    EXPECT_TRUE(a.others().empty());
    EXPECT_FALSE(b.hand_over()) << "nobody it could hand over to";
}

}  // namespace
}  // namespace softib::sm
