// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/inventory.h"

#include <gtest/gtest.h>

#include "runtime/shm/test_arena.h"
#include "telemetry/arena_source.h"
#include "telemetry/test_fabric.h"

namespace softib::telemetry {
namespace {

TEST(Inventory, PortsAreFoundByNameAndByUfmsName) {
    const Inventory inventory = test_inventory();
    EXPECT_EQ(inventory.find_port("sw0:2"), 3U);
    EXPECT_EQ(inventory.find_port("h1/mlx5_0:1"), 1U);
    EXPECT_EQ(inventory.find_port("0000000000000021_1"), 1U);
    EXPECT_EQ(inventory.find_port("0000000000000030_2"), 3U);
    EXPECT_FALSE(inventory.find_port("sw0:9"));
    EXPECT_FALSE(inventory.find_port("sw0"));
    EXPECT_FALSE(inventory.find_port("0000000000000030_x"));
}

TEST(Inventory, EqualOnesDoNotDiffer) {
    EXPECT_TRUE(compare(test_inventory(), test_inventory()).empty());
}

TEST(Inventory, ACableThatIsMissingIsNamedOnce) {
    Inventory now = test_inventory();
    now.ports[0].peer = kNoIndex;
    now.ports[2].peer = kNoIndex;
    const auto differences = compare(test_inventory(), now);
    ASSERT_EQ(differences.size(), 1U);
    EXPECT_EQ(differences[0].text, "no cable from h0/mlx5_0:1 to sw0:1");
}

TEST(Inventory, CablesThatWereSwappedAreNamed) {
    Inventory now = test_inventory();
    std::swap(now.ports[0].peer, now.ports[1].peer);
    std::swap(now.ports[2].peer, now.ports[3].peer);
    const auto differences = compare(test_inventory(), now);
    ASSERT_EQ(differences.size(), 2U);
    EXPECT_EQ(differences[0].text, "h0/mlx5_0:1 leads to sw0:2 instead of sw0:1");
}

TEST(Inventory, NodesThatCameAndWentAreNamed) {
    Inventory now = test_inventory();
    now.nodes[0].guid = Guid{0x99};
    const auto differences = compare(test_inventory(), now);
    EXPECT_EQ(differences[0].kind, Difference::kNodeGone);
    EXPECT_EQ(differences[1].kind, Difference::kNodeNew);
}

TEST(Inventory, TiersAreHopsToTheNearestHost) {
    Inventory inventory = test_inventory();
    for (Node& node : inventory.nodes) {
        node.tier = 77;
    }
    assign_tiers(inventory);
    EXPECT_EQ(inventory.nodes[0].tier, 0U);
    EXPECT_EQ(inventory.nodes[2].tier, 1U);
}

TEST(Inventory, AnArenaHasThePortsThatHaveACable) {
    shm::TestArena test;
    const shm::Arena& arena = test.arena;
    arena.switches[0].port_count = 5;
    std::snprintf(arena.switches[0].name, sizeof arena.switches[0].name, "sw0");
    arena.hcas[1].peer_switch = 0;
    arena.hcas[1].peer_port = 3;
    arena.switch_ports[3].peer = {shm::NodeRef::kHca, 1};
    arena.switch_ports[3].peer_port = 1;
    arena.switch_ports[3].totals.xmit_words = 7;
    const Inventory inventory = read_inventory(arena);
    ASSERT_EQ(inventory.ports.size(), 2U);
    EXPECT_EQ(inventory.port_name(0), "h0/mlx5_1:1");
    EXPECT_EQ(inventory.peer_name(0), "sw0:3");
    EXPECT_EQ(inventory.peer_name(1), "h0/mlx5_1:1");
    EXPECT_EQ(read_sample(arena).counts[1].xmit_words, 7U);
}

}  // namespace
}  // namespace softib::telemetry
