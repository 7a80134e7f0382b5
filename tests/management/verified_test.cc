// SPDX-License-Identifier: BSD-2-Clause
// The subnet manager checks its own routes after it has written them.
#include <algorithm>

#include "rig.h"

namespace softib::sm {
namespace {

constexpr std::uint64_t kMomentNs = 1'000'000;

Manager& bring_up(Rig& rig, const std::string& engine) {
    ManagerConfig config;
    config.engine = engine;
    Manager& manager = rig.add_manager(rig.first_switch(), std::move(config));
    manager.start(rig.now_ns);
    rig.run();
    return manager;
}

std::vector<std::string> warnings(Rig& rig) {
    std::vector<std::string> texts;
    while (const auto event = rig.service(0).poll_event()) {
        if (event->kind == ManagerEvent::kWarning) {
            texts.push_back(event->text);
        }
    }
    return texts;
}

TEST(VerifiedRoutes, AreLookedAtOnceTheyAreWritten) {
    Rig rig(ring());
    Manager& manager = bring_up(rig, "dor");
    EXPECT_TRUE(manager.settled());
    EXPECT_EQ(manager.report(), nullptr) << "who waits for the subnet does not wait for this";
    rig.wait(kMomentNs);
    ASSERT_NE(manager.report(), nullptr);
    EXPECT_TRUE(manager.report()->good());
    EXPECT_EQ(manager.report()->reach.pairs, 5U * 4 + 2 * 5U * 5);
    EXPECT_TRUE(warnings(rig).empty());
}

TEST(VerifiedRoutes, CreditLoopIsToldAtOnce) {
    Rig rig(ring());
    Manager& manager = bring_up(rig, "minhop");
    rig.wait(kMomentNs);
    ASSERT_NE(manager.report(), nullptr);
    EXPECT_FALSE(manager.report()->acyclic());
    const std::vector<std::string> texts = warnings(rig);
    ASSERT_EQ(texts.size(), 1U);
    EXPECT_NE(texts[0].find("minhop: "), std::string::npos) << texts[0];
    EXPECT_NE(texts[0].find("credit loop of 5 channels"), std::string::npos) << texts[0];
}

TEST(VerifiedRoutes, AreLookedAtAgainAfterEachChange) {
    Rig rig(ring());
    Manager& manager = bring_up(rig, "minhop");
    rig.wait(kMomentNs);
    ASSERT_FALSE(manager.report()->acyclic());
    // A ring of switches without one of its cables is a chain.
    const std::uint32_t sw = rig.first_switch();
    std::uint8_t port = 1;
    while (!rig.mesh.node(rig.mesh.peer({sw, port}).node).is_switch()) {
        ++port;
    }
    rig.mesh.set_plugged({sw, port}, false);
    rig.run();
    rig.wait(kMomentNs);
    ASSERT_NE(manager.report(), nullptr);
    EXPECT_TRUE(manager.report()->good());
    rig.mesh.set_plugged({sw, port}, true);
    rig.run();
    rig.wait(kMomentNs);
    ASSERT_NE(manager.report(), nullptr);
    EXPECT_FALSE(manager.report()->acyclic());
}

}  // namespace
}  // namespace softib::sm
