// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/subnets.h"

#include <gtest/gtest.h>

#include <set>

#include "core/topo/report.h"
#include "core/topo/spec.h"

namespace softib::topo {
namespace {

Spec joined_trees(std::uint32_t hosts, std::uint32_t subnets, std::uint32_t routers) {
    return {.shape = Shape::kFatTree,
            .hosts = hosts,
            .radix = 16,
            .levels = 2,
            .subnets = subnets,
            .routers = routers};
}

TEST(Subnets, HaveHostsAndRoutersOfTheirOwn) {
    const auto fabric = generate(joined_trees(100, 3, 2));
    ASSERT_TRUE(fabric) << fabric.error().message;
    EXPECT_TRUE(validate(*fabric)) << validate(*fabric).error().message;
    EXPECT_EQ(subnet_count(*fabric), 3U);
    EXPECT_EQ(fabric->hosts.size(), 100U);
    EXPECT_EQ(fabric->hosts[99].name, "h99");
    std::vector<std::uint32_t> hosts(3);
    for (const Host& host : fabric->hosts) {
        ++hosts[fabric->node(host.hcas[0]).subnet.value];
    }
    EXPECT_EQ(hosts, (std::vector<std::uint32_t>{34, 33, 33}));
    const auto routers = find_routers(*fabric);
    ASSERT_EQ(routers.size(), 2U);
    for (const auto& legs : routers) {
        ASSERT_EQ(legs.size(), 3U);
        for (std::uint16_t i = 0; i < 3; ++i) {
            EXPECT_EQ(fabric->node(legs[i]).subnet, SubnetId{i});
        }
    }
    const auto leaf = [&](std::size_t r) { return fabric->node(routers[r][0]).ports[1].peer; };
    EXPECT_NE(leaf(0), leaf(1)) << "one lost switch takes one router";
}

TEST(Subnets, NumberTheirLidsFromOneOn) {
    const auto fabric = generate(joined_trees(60, 2, 1));
    ASSERT_TRUE(fabric);
    const std::vector<Lid> lids = number_lids(*fabric);
    std::vector<std::set<Lid>> seen(2);
    for (std::size_t i = 0; i < lids.size(); ++i) {
        EXPECT_TRUE(seen[fabric->nodes[i].subnet.value].insert(lids[i]).second);
    }
    for (const std::set<Lid>& subnet : seen) {
        EXPECT_EQ(*subnet.begin(), Lid{1});
        EXPECT_EQ(subnet.rbegin()->value, subnet.size());
    }
}

TEST(Subnets, HaveALidBudgetEach) {
    const Spec spec{.shape = Shape::kFatTree,
                    .hosts = 100'000,
                    .radix = 64,
                    .levels = 3,
                    .subnets = 2,
                    .routers = 4};
    const auto refused = generate(spec);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("49151"), std::string::npos) << refused.error().message;
    Spec one = joined_trees(60, 2, 1);
    const auto fabric = generate(one);
    ASSERT_TRUE(fabric);
    const Report report = make_report(*fabric);
    ASSERT_EQ(report.subnets.size(), 2U);
    EXPECT_EQ(report.subnets[0].hca_ports, 30U);
    EXPECT_EQ(report.subnets[0].routers, 1U);
    EXPECT_EQ(report.subnets[0].used(0), report.subnets[1].used(0));
    EXPECT_EQ(report.lids.used(0), report.subnets[0].used(0));
}

TEST(Subnets, AreAsWideAsTheirRouters) {
    const auto bisection = [](std::uint32_t routers) {
        return make_report(*generate(joined_trees(64, 2, routers))).bisection.mbps;
    };
    EXPECT_EQ(bisection(1), 400'000U);
    EXPECT_EQ(bisection(3), 1'200'000U);
    // Two cables from leaf to router to leaf, and two in the tree of either subnet.
    EXPECT_EQ(make_report(*generate(joined_trees(64, 2, 1))).diameter, 6U);
}

TEST(Subnets, AreRefusedWithARemedy) {
    const auto message = [](const Spec& spec) {
        const auto fabric = generate(spec);
        return fabric ? std::string() : fabric.error().message;
    };
    EXPECT_NE(message(joined_trees(60, 2, 0)).find("routers = 1"), std::string::npos);
    EXPECT_NE(message(joined_trees(60, 9, 1)).find("8 at most"), std::string::npos);
    EXPECT_NE(message(joined_trees(3, 4, 1)).find("fewer subnets"), std::string::npos);
    EXPECT_NE(message(joined_trees(60, 1, 1)).find("subnets = 2"), std::string::npos);
}

}  // namespace
}  // namespace softib::topo
