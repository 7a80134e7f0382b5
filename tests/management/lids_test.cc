// SPDX-License-Identifier: BSD-2-Clause
// LIDs outlive the subnet manager, whatever the map contains and whichever ports are there.
#include <map>
#include <set>

#include "rig.h"

namespace softib::sm {
namespace {

/// Brings a fabric of `hosts` hosts up with the LIDs of another run. All ports that are there must
/// have LIDs of their own and reach each other.
std::map<std::uint64_t, Lid> bring_up(std::uint32_t hosts, std::uint8_t lmc,
                                      std::map<std::uint64_t, Lid> lids) {
    Rig rig(fat_tree(hosts, 8));
    ManagerConfig config;
    config.lmc = lmc;
    config.lids = std::move(lids);
    Manager& manager = rig.add_manager(rig.first_switch(), config);
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_TRUE(manager.settled());
    rig.expect_all_pairs();
    std::set<std::uint16_t> used;
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        const agent::Node& node = rig.mesh.node(i);
        const std::uint8_t port = node.is_switch() ? 0 : 1;
        const std::uint8_t node_lmc = node.is_switch() ? std::uint8_t{0} : lmc;
        EXPECT_EQ(node.port(port).lmc, node_lmc);
        EXPECT_EQ(node.port(port).lid, manager.lids().at(node.spec().ports[port].guid.value));
        for (std::uint16_t lid = 0; lid < 1U << node_lmc; ++lid) {
            EXPECT_TRUE(
                used.insert(static_cast<std::uint16_t>(node.port(port).lid.value + lid)).second);
        }
    }
    // The map for the next run can be read again.
    const ParsedLidMap again = parse_lid_map(print_lid_map(manager.lid_ranges()));
    EXPECT_TRUE(again.problems.empty()) << again.problems[0];
    EXPECT_EQ(again.ranges, manager.lid_ranges());
    EXPECT_EQ(again.ranges.size(), manager.lids().size());
    return manager.lids();
}

TEST(Lids, StayWhenOtherPortsComeAndGo) {
    for (const std::uint8_t lmc : std::initializer_list<std::uint8_t>{0, 2}) {
        const auto first = bring_up(16, lmc, {});
        const auto fewer = bring_up(9, lmc, first);
        EXPECT_EQ(fewer, first) << "those who are away keep theirs";
        const auto more = bring_up(24, lmc, fewer);
        for (const auto& [guid, lid] : first) {
            EXPECT_EQ(more.at(guid), lid);
        }
        EXPECT_GT(more.size(), first.size());
    }
}

TEST(Lids, OtherLmcDoesNotMakeThemOverlap) {
    auto lids = bring_up(16, 0, {});
    for (const std::uint8_t lmc : std::initializer_list<std::uint8_t>{3, 1, 7, 0, 2}) {
        lids = bring_up(lmc % 2 == 0 ? 16 : 12, lmc, lids);
    }
}

TEST(Lids, NonsenseIsNotKept) {
    auto lids = bring_up(16, 0, {});
    const auto good = lids;
    std::uint16_t next = 0xBFF0;
    for (auto& [guid, lid] : lids) {
        lid = Lid{next++};  // Some LIDs are beyond the end of unicast.
    }
    lids.begin()->second = Lid{0};         // One port has no LID.
    lids[0x1234] = lids[0x1235] = Lid{1};  // Two absent ports have the same LID.
    lids[0x1236] = Lid{0xFFFF};
    const auto repaired = bring_up(16, 2, lids);
    EXPECT_EQ(repaired.size(), good.size() + 1);
}

TEST(Lids, ReturningPortDoesNotPushAnotherFromItsLid) {
    // The map gives an HCA the LIDs of a switch that is there; the HCA comes later.
    Rig rig(fat_tree(16, 8));
    rig.mesh.set_plugged({5, 1}, false);
    ManagerConfig config;
    config.lmc = 1;
    const std::uint64_t adapter = rig.mesh.node(5).spec().ports[1].guid.value;
    const std::uint64_t other = rig.mesh.node(rig.first_switch()).spec().ports[0].guid.value;
    config.lids = {{adapter, Lid{100}}, {other, Lid{101}}};
    Manager& manager = rig.add_manager(rig.first_switch(), config);
    manager.start(rig.now_ns);
    rig.run();
    ASSERT_EQ(manager.lids().at(other), Lid{101});
    rig.mesh.set_plugged({5, 1}, true);
    rig.run();
    EXPECT_EQ(manager.lids().at(other), Lid{101});
    EXPECT_NE(manager.lids().at(adapter), Lid{100});
    rig.expect_all_pairs();
}

}  // namespace
}  // namespace softib::sm
