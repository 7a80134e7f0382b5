// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/routing/minhop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace softib::sm {
namespace {

using topo::Fabric;
using topo::kNoNode;
using topo::Node;
using topo::NodeIndex;
using topo::NodeKind;
using topo::Shape;
using topo::Spec;

Fabric make(const Spec& spec) {
    auto fabric = topo::generate(spec);
    EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
    return fabric ? *fabric : Fabric{};
}

/// Hops from every node to `target` over the plain graph; HCAs do not forward.
std::vector<int> distances_to(const Fabric& fabric, NodeIndex target) {
    std::vector<int> distances(fabric.nodes.size(), -1);
    std::vector<NodeIndex> queue{target};
    distances[target.value] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const NodeIndex at = queue[head];
        if (fabric.node(at).kind == NodeKind::kHca && at != target) {
            continue;
        }
        for (const topo::PortLink& link : fabric.node(at).ports) {
            if (link.peer != kNoNode && distances[link.peer.value] < 0) {
                distances[link.peer.value] = distances[at.value] + 1;
                queue.push_back(link.peer);
            }
        }
    }
    return distances;
}

/// Follows the tables; -1 if they lose the packet or it runs in a circle.
int hops_by_lft(const Fabric& fabric, const Routes& routes, NodeIndex from, Lid dlid) {
    NodeIndex at = from;
    for (int hops = 0; hops <= static_cast<int>(fabric.nodes.size()); ++hops) {
        if (routes.lids[at.value] == dlid) {
            return hops;
        }
        const std::vector<std::uint8_t>& lft = routes.lfts[at.value];
        if (lft.empty() || lft[dlid.value] == kLftNoPath || lft[dlid.value] == 0) {
            return -1;
        }
        at = fabric.node(at).ports[lft[dlid.value]].peer;
        if (at == kNoNode) {
            return -1;
        }
    }
    return -1;
}

struct Case {
    const char* name;
    Spec spec;
};

class MinHop : public testing::TestWithParam<Case> {};

TEST_P(MinHop, EverySwitchReachesEveryLidOnAShortestPath) {
    const Fabric fabric = make(GetParam().spec);
    const Routes routes = route_minhop(fabric).value();
    for (std::uint32_t target = 0; target < fabric.nodes.size(); ++target) {
        const std::vector<int> distances = distances_to(fabric, NodeIndex{target});
        for (std::uint32_t from = 0; from < fabric.nodes.size(); ++from) {
            if (fabric.nodes[from].kind == NodeKind::kSwitch) {
                ASSERT_EQ(hops_by_lft(fabric, routes, NodeIndex{from}, routes.lids[target]),
                          distances[from])
                    << fabric.nodes[from].name << " to " << fabric.nodes[target].name;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, MinHop,
    testing::Values(
        Case{"OneHost", {.hosts = 1}}, Case{"SingleSwitch", {.hosts = 254}},
        Case{"SmallestTree", {.shape = Shape::kFatTree, .hosts = 2}},
        Case{"Tree2", {.shape = Shape::kFatTree, .hosts = 100, .radix = 16}},
        Case{"Tree2Full", {.shape = Shape::kFatTree, .hosts = 128, .radix = 16}},
        Case{"Tree3", {.shape = Shape::kFatTree, .hosts = 100, .radix = 8}},
        Case{"Tree3Full", {.shape = Shape::kFatTree, .hosts = 128, .radix = 8}},
        Case{"Tree3OddRadix", {.shape = Shape::kFatTree, .hosts = 60, .radix = 7}},
        Case{"Rails", {.shape = Shape::kFatTree, .hosts = 24, .hcas_per_host = 8}},
        Case{"Ring", {.shape = Shape::kTorus, .hosts = 9, .dimensions = {9}}},
        Case{"Torus2", {.shape = Shape::kTorus, .hosts = 70, .dimensions = {5, 7}}},
        Case{"Torus3", {.shape = Shape::kTorus, .hosts = 24, .dimensions = {2, 3, 4}}},
        Case{"Torus5", {.shape = Shape::kTorus, .hosts = 72, .dimensions = {2, 3, 2, 3, 2}}},
        Case{"Dragonfly", {.shape = Shape::kDragonfly, .hosts = 72}},
        Case{"DragonflyTwoGroups", {.shape = Shape::kDragonfly, .hosts = 2}},
        Case{"DragonflyManyCables",
             {.shape = Shape::kDragonfly, .hosts = 60, .groups = 3, .switches_per_group = 5}}),
    [](const auto& test) { return test.param.name; });

TEST(MinHop, HcasGetTheLowLids) {
    const Fabric fabric = make({.shape = Shape::kFatTree, .hosts = 3});
    const Routes routes = route_minhop(fabric).value();
    for (std::uint16_t i = 0; i < fabric.nodes.size(); ++i) {
        EXPECT_EQ(routes.lids[i], Lid{static_cast<std::uint16_t>(i + 1)});
    }
    EXPECT_EQ(routes.lid_max.value, fabric.nodes.size());
}

TEST(MinHop, TablesHaveOneEntryPerLidAndNoneForZero) {
    const Fabric fabric = make({.hosts = 3});
    const Routes routes = route_minhop(fabric).value();
    EXPECT_TRUE(routes.lfts[0].empty());
    EXPECT_EQ(routes.lfts[3], (std::vector<std::uint8_t>{kLftNoPath, 1, 2, 3, 0}));
}

TEST(MinHop, UplinksOfAFullTreeCarryEqualNumbersOfLids) {
    const Fabric fabric = make({.shape = Shape::kFatTree, .hosts = 128, .radix = 16});
    const Routes routes = route_minhop(fabric).value();
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (node.kind != NodeKind::kSwitch || node.level != 0) {
            continue;
        }
        std::map<std::uint8_t, int> uses;
        for (std::size_t lid = 1; lid <= 128; ++lid) {
            const std::uint8_t port = routes.lfts[i][lid];
            if (fabric.node(node.ports[port].peer).kind == NodeKind::kSwitch) {
                ++uses[port];
            }
        }
        EXPECT_EQ(uses.size(), 8U);
        for (const auto& [port, count] : uses) {
            EXPECT_EQ(count, 15) << node.name << " port " << int{port};
        }
    }
}

TEST(MinHop, UnreachableLidsHaveNoPath) {
    Fabric fabric = make({.shape = Shape::kFatTree, .hosts = 2});
    // Pull the cable between leaf1 (node 3) and the spine (node 4).
    fabric.nodes[3].ports[2] = {};
    for (topo::PortLink& link : fabric.nodes[4].ports) {
        link = link.peer == NodeIndex{3} ? topo::PortLink{} : link;
    }
    ASSERT_TRUE(topo::validate(fabric));
    const Routes routes = route_minhop(fabric).value();
    EXPECT_EQ(hops_by_lft(fabric, routes, NodeIndex{2}, routes.lids[1]), -1);
    EXPECT_EQ(hops_by_lft(fabric, routes, NodeIndex{2}, routes.lids[0]), 1);
    EXPECT_EQ(routes.lfts[2][routes.lids[1].value], kLftNoPath);
}

TEST(MinHop, HcaWithoutCableHasALidAndNoPath) {
    Fabric fabric = make({.hosts = 2});
    fabric.nodes[0].ports[1] = {};
    fabric.nodes[2].ports[1] = {};
    const Routes routes = route_minhop(fabric).value();
    EXPECT_EQ(routes.lids[0], Lid{1});
    EXPECT_EQ(routes.lfts[2][1], kLftNoPath);
}

TEST(MinHop, DumpedLidsAreKeptIfEveryNodeHasItsOwn) {
    Fabric fabric = make({.hosts = 2});
    fabric.nodes[0].lid = Lid{40};
    fabric.nodes[1].lid = Lid{7};
    EXPECT_EQ(route_minhop(fabric).value().lids[0], Lid{1}) << "one is missing";
    fabric.nodes[2].lid = Lid{40};
    EXPECT_EQ(route_minhop(fabric).value().lids[0], Lid{1}) << "one is there twice";
    fabric.nodes[2].lid = Lid{0xC000};
    EXPECT_EQ(route_minhop(fabric).value().lids[0], Lid{1}) << "one is multicast";
    fabric.nodes[2].lid = Lid{3};
    const Routes routes = route_minhop(fabric).value();
    EXPECT_EQ(routes.lids, (std::vector<Lid>{Lid{40}, Lid{7}, Lid{3}}));
    EXPECT_EQ(routes.lid_max, Lid{40});
    EXPECT_EQ(hops_by_lft(fabric, routes, NodeIndex{2}, Lid{40}), 1);
    EXPECT_EQ(hops_by_lft(fabric, routes, NodeIndex{2}, Lid{7}), 1);
}

TEST(MinHop, RouterHasALidAndAPath) {
    Fabric fabric = make({.hosts = 2});
    fabric.nodes[0].kind = NodeKind::kRouter;
    const Routes routes = route_minhop(fabric).value();
    EXPECT_EQ(routes.lids, (std::vector<Lid>{Lid{3}, Lid{1}, Lid{2}}));
    EXPECT_EQ(hops_by_lft(fabric, routes, NodeIndex{2}, Lid{3}), 1);
}

TEST(MinHop, SameFabricGivesSameTables) {
    const Spec spec{.shape = Shape::kDragonfly, .hosts = 50};
    EXPECT_EQ(route_minhop(make(spec)).value().lfts, route_minhop(make(spec)).value().lfts);
}

TEST(MinHop, MoreNodesThanLidsAreRefused) {
    Fabric fabric;
    fabric.nodes.resize(49152);
    const auto routes = route_minhop(fabric);
    ASSERT_FALSE(routes);
    EXPECT_NE(routes.error().message.find("49151"), std::string::npos);
}

}  // namespace
}  // namespace softib::sm
