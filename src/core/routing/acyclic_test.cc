// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/acyclic.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

bool reaches(const std::set<Edge>& edges, std::uint32_t from, std::uint32_t to) {
    std::set<std::uint32_t> seen{from};
    std::vector<std::uint32_t> work{from};
    while (!work.empty()) {
        const std::uint32_t at = work.back();
        work.pop_back();
        if (at == to) {
            return true;
        }
        for (auto edge = edges.lower_bound({at, 0}); edge != edges.end() && edge->first == at;
             ++edge) {
            if (seen.insert(edge->second).second) {
                work.push_back(edge->second);
            }
        }
    }
    return false;
}

TEST(AcyclicDependencies, RefusesExactlyWhatClosesACycle) {
    for (const std::uint8_t vls : {std::uint8_t{1}, std::uint8_t{2}}) {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            const Graph graph = random_graph(8, 20, 0, seed);
            AcyclicDependencies dependencies(graph, vls);
            std::set<Edge> edges;
            Prng prng(seed);
            int refused = 0;
            for (int i = 0; i < 600; ++i) {
                const auto link = static_cast<std::uint32_t>(prng.below(graph.links().size()));
                const std::uint32_t at = graph.links()[link].peer;
                const std::uint32_t next =
                    graph.first_link(at) + static_cast<std::uint32_t>(prng.below(graph.degree(at)));
                const auto lane = [&] { return static_cast<std::uint8_t>(prng.below(vls)); };
                const Edge edge{dependencies.channel(link, lane()),
                                dependencies.channel(next, lane())};
                if (prng.chance(1, 8)) {
                    dependencies.remove(edge.first, edge.second);
                    edges.erase(edge);
                    continue;
                }
                const bool closes = reaches(edges, edge.second, edge.first);
                EXPECT_EQ(dependencies.add(edge.first, edge.second), !closes);
                refused += closes ? 1 : 0;
                if (!closes) {
                    edges.insert(edge);
                }
                EXPECT_EQ(dependencies.has(edge.first, edge.second), edges.contains(edge));
            }
            EXPECT_GT(refused, 5) << "the test should see some";
        }
    }
}

TEST(AcyclicDependencies, RemembersARefusal) {
    const Graph graph = make_graph(torus({3}));
    AcyclicDependencies dependencies(graph, 1);
    std::vector<std::uint32_t> ring;  // The links from switch 0 to 1, 1 to 2 and 2 to 0.
    for (std::uint32_t sw = 0; sw < 3; ++sw) {
        for (std::uint32_t i = 0; i < graph.degree(sw); ++i) {
            if (graph.links(sw)[i].peer == (sw + 1) % 3) {
                ring.push_back(graph.first_link(sw) + i);
            }
        }
    }
    EXPECT_TRUE(dependencies.add_for_good(ring[0], ring[1]));
    EXPECT_TRUE(dependencies.add_for_good(ring[1], ring[2]));
    EXPECT_FALSE(dependencies.add_for_good(ring[2], ring[0]));
    EXPECT_FALSE(dependencies.add_for_good(ring[2], ring[0]));
    EXPECT_TRUE(dependencies.add_for_good(ring[0], ring[1])) << "is there already";
    EXPECT_FALSE(dependencies.add(ring[1], ring[1]));
}

}  // namespace
}  // namespace softib::routing
