// SPDX-License-Identifier: BSD-2-Clause
// How our subnet manager lets switches choose among ports, and what switches do with it.
#include "core/topo/spec.h"
#include "core/wire/sm/adaptive_routing.h"
#include "core/wire/sm/linear_forwarding_table.h"
#include "rig.h"

namespace softib::sm {
namespace {

using wire::SmAttribute;

Manager& bring_up_by(Rig& rig, const std::string& engine, bool adaptive) {
    ManagerConfig config;
    config.engine = engine;
    config.adaptive_routing = adaptive;
    Manager& manager = rig.add_manager(rig.first_switch(), std::move(config));
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_TRUE(manager.settled());
    return manager;
}

/// Returns the status of a node's answer to a Set.
template <wire::Attribute T>
std::uint16_t write(Rig& rig, std::uint32_t node, SmAttribute attribute, const T& value,
                    std::uint32_t modifier = 0) {
    wire::MadBytes request{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnLidRouted,
                  .method = wire::Method::kSet,
                  .attribute_id = static_cast<std::uint16_t>(attribute),
                  .attribute_modifier = modifier}
        .emit(wire::Mad<std::uint8_t>(request));
    wire::emit(value, wire::Smp<std::uint8_t>(request).data());
    const auto answer = rig.mesh.node(node).receive_smp(request, 1, rig.now_ns);
    EXPECT_TRUE(answer);
    return wire::Smp<const std::uint8_t>(*answer).status();
}

TEST(AdaptiveRouting, SwitchesHoldTheSetsThatTheEngineFound) {
    Rig rig(fat_tree(16, 8));
    const Manager& manager = bring_up_by(rig, "ftree", true);
    const routing::Graph& graph = *manager.graph();
    std::size_t choices = 0;
    for (std::uint32_t rank = 0; rank < graph.switch_count(); ++rank) {
        for (std::uint32_t node = 0; node < rig.mesh.size(); ++node) {
            if (rig.mesh.node(node).spec().node_guid != graph.guid(rank)) {
                continue;
            }
            const sw::AdaptiveTable table = rig.mesh.node(node).adaptive_table();
            graph.for_each_lid([&](const routing::Target& target, Lid lid) {
                const auto& groups = manager.tables().groups;
                const auto wanted = groups.ports(rank, groups.of(rank, target.at));
                const auto held = table.ports(lid.value);
                choices += held.size() > 1 ? 1U : 0U;
                EXPECT_TRUE(wanted.size() < 2 ? held.empty() : std::ranges::equal(held, wanted));
            });
        }
    }
    EXPECT_GT(choices, 0U);
}

TEST(AdaptiveRouting, IsOffUnlessItWasAskedFor) {
    Rig rig(fat_tree(16, 8));
    bring_up_by(rig, "ftree", false);
    EXPECT_TRUE(rig.mesh.node(rig.first_switch()).adaptive_table().empty());
}

TEST(AdaptiveRouting, AnotherSweepWritesNothingAgain) {
    Rig rig(fat_tree(16, 8));
    Manager& adaptive = bring_up_by(rig, "ftree", true);
    Rig other(fat_tree(16, 8));
    Manager& plain = bring_up_by(other, "ftree", false);
    const auto sent_by_a_sweep = [](Rig& of, Manager& manager) {
        const std::uint64_t before = manager.stats().smps_sent;
        manager.resweep(of.now_ns);
        of.run();
        return manager.stats().smps_sent - before;
    };
    // A sweep asks each switch whether it still chooses.
    EXPECT_LE(sent_by_a_sweep(rig, adaptive),
              sent_by_a_sweep(other, plain) + adaptive.graph()->switch_count());
}

TEST(AdaptiveRouting, AnEngineWithoutSetsIsTold) {
    Rig rig(fat_tree(16, 8));
    bring_up_by(rig, "minhop", true);
    bool told = false;
    while (const auto event = rig.service(0).poll_event()) {
        told = told || (event->kind == ManagerEvent::kWarning &&
                        event->text.find("equally good") != std::string::npos);
    }
    EXPECT_TRUE(rig.mesh.node(rig.first_switch()).adaptive_table().empty());
    EXPECT_TRUE(told);
}

TEST(AdaptiveRouting, APlainForwardingTableTurnsItOff) {
    Rig rig(fat_tree(16, 8));
    bring_up_by(rig, "ftree", true);
    ASSERT_FALSE(rig.mesh.node(rig.first_switch()).adaptive_table().empty());
    write(rig, rig.first_switch(), SmAttribute::kLinearForwardingTable,
          wire::LinearForwardingTable{});
    EXPECT_TRUE(rig.mesh.node(rig.first_switch()).adaptive_table().empty());
}

TEST(AdaptiveRouting, OnlySwitchesHaveItAndOnlyWhatTheySay) {
    Rig rig(fat_tree(16, 8));
    wire::AdaptiveRoutingInfo info;
    info.enabled = true;
    EXPECT_EQ(write(rig, 0, SmAttribute::kAdaptiveRoutingInfo, info),
              wire::mad_status::kUnsupportedAttribute);
    EXPECT_EQ(write(rig, rig.first_switch(), SmAttribute::kAdaptiveRoutingInfo, info),
              wire::mad_status::kOk);
    info.sub_groups_active = 1;
    EXPECT_EQ(write(rig, rig.first_switch(), SmAttribute::kAdaptiveRoutingInfo, info),
              wire::mad_status::kInvalidField);
}

// Detours through a third group (long ways).

topo::Spec dragonfly() {
    return {.shape = topo::Shape::kDragonfly, .hosts = 72};
}

TEST(AdaptiveRouting, WaysRoundADragonflyNeedPrivateTables) {
    Rig plain(dragonfly());
    EXPECT_TRUE(bring_up_by(plain, "dragonfly", true).tables().long_ways.empty());
    Rig able(dragonfly(), true);
    EXPECT_FALSE(bring_up_by(able, "dragonfly", true).tables().long_ways.empty());
    Rig unasked(dragonfly(), true);
    EXPECT_TRUE(bring_up_by(unasked, "dragonfly", false).tables().long_ways.empty());
}

TEST(AdaptiveRouting, AnotherSweepWritesWaysRoundOnce) {
    Rig rig(dragonfly(), true);
    Manager& manager = bring_up_by(rig, "dragonfly", true);
    const sw::AdaptiveTable before = rig.mesh.node(rig.first_switch()).adaptive_table();
    EXPECT_GT(before.tables(), 1);
    const std::uint64_t sent = manager.stats().smps_sent;
    manager.resweep(rig.now_ns);
    rig.run();
    const std::uint64_t again = manager.stats().smps_sent - sent;
    EXPECT_LT(again, sent / 2);
    EXPECT_EQ(rig.mesh.node(rig.first_switch()).adaptive_table(), before);
}

TEST(AdaptiveRouting, PrivateTablesAreThoseThatTheSwitchHas) {
    Rig plain(fat_tree(16, 8));
    Rig able(fat_tree(16, 8), true);
    wire::PortSlToPrivateLftMap map;
    map.set(1, 2);
    const auto map_status = [&](Rig& rig, std::uint32_t modifier = 0) {
        return write(rig, rig.first_switch(), SmAttribute::kPortSlToPrivateLftMap, map, modifier);
    };
    EXPECT_EQ(map_status(plain), wire::mad_status::kUnsupportedAttribute);
    EXPECT_EQ(map_status(able), wire::mad_status::kOk);
    EXPECT_EQ(map_status(able, 3), wire::mad_status::kInvalidField) << "8 ports are 3 blocks";
    map.set(1, 3);
    EXPECT_EQ(map_status(able), wire::mad_status::kInvalidField) << "there are three tables";
    map.set(1, 1);
    map.table[wire::PortSlToPrivateLftMap::kLevels + 5] = 2;
    EXPECT_EQ(map_status(able), wire::mad_status::kInvalidField) << "not by service level";
    const auto table_status = [](Rig& rig, std::uint8_t table) {
        return write(rig, rig.first_switch(), SmAttribute::kArLinearForwardingTable,
                     wire::ArLinearForwardingTable{}, wire::ar_forwarding_modifier(table, 0));
    };
    EXPECT_EQ(table_status(plain, 1), wire::mad_status::kInvalidField);
    EXPECT_EQ(table_status(able, 2), wire::mad_status::kOk);
    EXPECT_EQ(table_status(able, 3), wire::mad_status::kInvalidField);
}

}  // namespace
}  // namespace softib::sm
