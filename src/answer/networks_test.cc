// SPDX-License-Identifier: BSD-2-Clause
#include "answer/networks.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "answer/ask.h"
#include "plan/cluster/presets.h"

namespace softib::answer {
namespace {

TEST(Networks, OneThatIsDroppedIsTakenForTheSameClusterAgain) {
    Networks networks;
    const plan::Cluster cluster = *plan::find_preset("hgx-h200:4");
    auto first = *networks.take(cluster, 32, {});
    const plan::Communication* const kept = first.get();
    EXPECT_NE(networks.take(cluster, 32, {})->get(), kept) << "it has an owner";
    EXPECT_EQ(networks.kept(), 1U);
    first.reset();
    EXPECT_EQ(networks.kept(), 2U);
    EXPECT_EQ(networks.take(cluster, 32, {})->get(), kept);
    EXPECT_EQ(networks.kept(), 2U);
}

TEST(Networks, WhatDiffersInOneThingIsAnother) {
    Networks networks;
    const plan::Cluster cluster = *plan::find_preset("hgx-h200:4");
    plan::Cluster slower = cluster;
    slower.fabric.spec.oversubscription = {2, 1};
    (void)networks.take(cluster, 32, {});
    (void)networks.take(slower, 32, {});
    (void)networks.take(cluster, 16, {});
    (void)networks.take(cluster, 32, {.rails_aligned = false});
    EXPECT_EQ(networks.kept(), 4U);
    (void)networks.take(cluster, 32, {});
    EXPECT_EQ(networks.kept(), 4U);
}

TEST(Networks, OneOnWhichAnExchangeFailedIsNotKept) {
    Networks networks;
    plan::Cluster cluster = *plan::find_preset("hgx-h200:4");
    cluster.fabric.spec.shape = topo::Shape::kRailOnly;
    const std::vector<std::uint32_t> ranks{0, 8, 16, 24};
    for (const bool aligned : {false, true}) {
        const auto network = *networks.take(cluster, 32, {.rails_aligned = aligned});
        network->cost(plan::Exchange::kAllReduce, 1e9, ranks);
        EXPECT_EQ(network->fault().has_value(), !aligned);
    }
    EXPECT_EQ(networks.kept(), 1U);
}

TEST(Networks, OnlySomeAreKept) {
    Networks networks;
    for (std::uint32_t nodes = 1; nodes <= 40; ++nodes) {
        (void)networks.take(plan::with_nodes(*plan::find_preset("hgx-h200:2"), nodes), 8, {});
    }
    EXPECT_EQ(networks.kept(), 32U);
}

TEST(Networks, QuestionsGetTheAnswersOfNewNetworksFromSeveralThreads) {
    constexpr std::array kKeys{"tp = 2\n", "tp = 4\npp = 2\n", "zero = 3\n",
                               "tp = 2\nplacement = \"random\"\n"};
    const auto question = [&](std::size_t i) {
        return std::string("ask = \"train\"\nmodel = \"llama3.1-8b\"\ncluster = \"hgx-h200:4\"\n") +
               kKeys[i % kKeys.size()];
    };
    Networks networks;
    std::vector<std::string> answers(32);
    std::vector<std::thread> threads;
    for (std::size_t first = 0; first < 4; ++first) {
        threads.emplace_back([&, first] {
            for (std::size_t i = first; i < answers.size(); i += 4) {
                answers[i] = ask(question(i / 4 + i), "", networks)->value();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
        EXPECT_EQ(answers[i], ask(question(i / 4 + i), "")->value());
    }
    EXPECT_GT(networks.kept(), 1U);
}

}  // namespace
}  // namespace softib::answer
