// SPDX-License-Identifier: BSD-2-Clause
#include "plan/fabric_load.h"

#include <gtest/gtest.h>

#include "core/topo/spec.h"

namespace softib::plan {
namespace {

/// Returns a port for each direction of each cable, all with these bytes.
std::vector<PortUse> all_ports(const topo::Fabric& fabric, double bytes) {
    std::vector<PortUse> ports;
    for (std::uint32_t node = 0; node < fabric.nodes.size(); ++node) {
        for (std::size_t i = 1; i < fabric.nodes[node].ports.size(); ++i) {
            if (fabric.nodes[node].ports[i].peer != topo::kNoNode) {
                ports.push_back({node, static_cast<std::uint8_t>(i), bytes, 100});
            }
        }
    }
    return ports;
}

topo::Fabric small_tree() {
    return topo::generate({.shape = topo::Shape::kFatTree, .hosts = 32, .radix = 8, .levels = 2})
        .value();
}

TEST(FabricLoad, BundlesHaveAllCablesOfTheFabric) {
    const topo::Fabric fabric = small_tree();
    const std::vector<PortUse> ports = all_ports(fabric, 50);
    const FabricLoad load = fabric_load(fabric, ports, 1, 4);
    std::size_t cables = 0;
    for (const LoadBundle& bundle : load.bundles) {
        cables += bundle.cables;
        EXPECT_DOUBLE_EQ(bundle.mean, 0.5);
        EXPECT_EQ(bundle.upper_tier, bundle.tier + 1);
    }
    EXPECT_EQ(2 * cables, ports.size());
    EXPECT_EQ(load.tiers[0].nodes, 32U);
    EXPECT_EQ(load.tiers[0].groups.size(), 4U);
    EXPECT_EQ(load.tiers[0].name, "NICs");
    EXPECT_EQ(load.tiers[1].name, "leaf switches");
    EXPECT_EQ(load.tiers[0].cables, 32U);
}

TEST(FabricLoad, OneBusyDirectionIsTheBusiestOfItsBundleAlone) {
    const topo::Fabric fabric = small_tree();
    std::vector<PortUse> ports = all_ports(fabric, 0);
    ports.front().bytes = 200;  // The first host sends for two seconds.
    const FabricLoad load = fabric_load(fabric, ports, 4, 8);
    int busy = 0;
    for (const LoadBundle& bundle : load.bundles) {
        busy += bundle.most > 0 ? 1 : 0;
    }
    EXPECT_EQ(busy, 1);
    EXPECT_DOUBLE_EQ(load.tiers[0].most, 0.5);
    EXPECT_DOUBLE_EQ(load.tiers[0].mean, 0.5 / 64);
}

}  // namespace
}  // namespace softib::plan
