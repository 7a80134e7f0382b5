// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/trunk.h"

#include <gtest/gtest.h>

#include "core/topo/spec.h"

namespace softib::topo {
namespace {

TEST(Trunk, TakesAPortOfItsSwitch) {
    auto fabric = generate({.hosts = 2});
    ASSERT_TRUE(fabric);
    ASSERT_TRUE(add_trunk(*fabric, "sw0"));
    ASSERT_TRUE(add_trunk(*fabric, "sw0"));
    EXPECT_TRUE(validate(*fabric));
    const auto nodes = trunk_nodes(*fabric);
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_NE(fabric->node(nodes[0]).ports[1].peer_port, fabric->node(nodes[1]).ports[1].peer_port);
}

TEST(Trunk, NeedsASwitch) {
    auto fabric = generate({.hosts = 2});
    ASSERT_TRUE(fabric);
    EXPECT_FALSE(add_trunk(*fabric, "sw9"));
    EXPECT_FALSE(add_trunk(*fabric, "h0/mlx5_0"));
}

TEST(Trunk, SitesHaveNoGuidInCommon) {
    auto here = generate({.hosts = 3});
    auto there = generate({.hosts = 3});
    ASSERT_TRUE(here && there);
    set_site(*here, 1);
    set_site(*there, 2);
    for (const Node& a : here->nodes) {
        for (const Node& b : there->nodes) {
            EXPECT_NE(a.node_guid, b.node_guid);
            EXPECT_NE(a.system_image_guid, b.system_image_guid);
        }
    }
}

}  // namespace
}  // namespace softib::topo
