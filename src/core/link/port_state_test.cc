// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/port_state.h"

#include <gtest/gtest.h>

namespace softib::link {
namespace {

PortStateMachine in_initialize() {
    PortStateMachine port;
    port.handle_other_end_found();
    port.handle_trained();
    return port;
}

PortStateMachine active() {
    PortStateMachine port = in_initialize();
    EXPECT_TRUE(port.set_logical(PortState::kArmed));
    EXPECT_TRUE(port.set_logical(PortState::kActive));
    return port;
}

TEST(PortStateMachine, TrainingLeadsToInitialize) {
    PortStateMachine port;
    EXPECT_EQ(port.physical(), PortPhysicalState::kPolling);
    port.handle_trained();  // Without effect: no other end was found yet.
    EXPECT_EQ(port.logical(), PortState::kDown);
    port = in_initialize();
    EXPECT_EQ(port.physical(), PortPhysicalState::kLinkUp);
    EXPECT_EQ(port.logical(), PortState::kInit);
}

TEST(PortStateMachine, OnlyManagementPassesInInitialize) {
    const PortStateMachine port = in_initialize();
    EXPECT_TRUE(port.may_send(kVl15));
    EXPECT_TRUE(port.may_receive(kVl15));
    EXPECT_FALSE(port.may_send(0));
    EXPECT_FALSE(port.may_receive(0));
}

TEST(PortStateMachine, AnArmedPortReceivesDataAndBecomesActiveByIt) {
    PortStateMachine port = in_initialize();
    EXPECT_TRUE(port.set_logical(PortState::kArmed));
    EXPECT_FALSE(port.may_send(0));
    EXPECT_TRUE(port.may_receive(0));
    port.handle_data();
    EXPECT_EQ(port.logical(), PortState::kActive);
    EXPECT_TRUE(port.may_send(0));
}

TEST(PortStateMachine, TheManagerCannotSkipArmed) {
    PortStateMachine port = in_initialize();
    EXPECT_FALSE(port.set_logical(PortState::kActive));
    EXPECT_EQ(port.logical(), PortState::kInit);
    port = active();
    EXPECT_FALSE(port.set_logical(PortState::kArmed));
    EXPECT_FALSE(port.set_logical(PortState::kInit));
}

TEST(PortStateMachine, RecoveryHoldsDataAndReturnsToActive) {
    PortStateMachine port = active();
    port.handle_many_errors();
    EXPECT_EQ(port.logical(), PortState::kActiveDefer);
    EXPECT_FALSE(port.may_send(0));
    port.handle_recovered();
    EXPECT_EQ(port.logical(), PortState::kActive);
    EXPECT_EQ(port.recovered(), 1U);
    EXPECT_EQ(port.downed(), 0U);
}

TEST(PortStateMachine, FailedRecoveryAndLostCarrierCountAsDowned) {
    PortStateMachine port = active();
    port.handle_many_errors();
    port.handle_recovery_failed();
    EXPECT_EQ(port.logical(), PortState::kDown);
    EXPECT_EQ(port.physical(), PortPhysicalState::kPolling);
    EXPECT_EQ(port.downed(), 1U);
    port.handle_lost();  // Without effect: the port is down already.
    EXPECT_EQ(port.downed(), 1U);
}

TEST(PortStateMachine, ADisabledPortStaysDownUntilItMayPoll) {
    PortStateMachine port = active();
    EXPECT_TRUE(port.set_physical(PortPhysicalState::kDisabled));
    port.handle_other_end_found();
    EXPECT_EQ(port.physical(), PortPhysicalState::kDisabled);
    EXPECT_TRUE(port.set_physical(PortPhysicalState::kPolling));
    port.handle_other_end_found();
    port.handle_trained();
    EXPECT_EQ(port.logical(), PortState::kInit);
    EXPECT_FALSE(port.set_physical(PortPhysicalState::kLinkUp));
}

TEST(PortStateMachine, ASleepingPortWakesWhenTheOtherEndIsFound) {
    PortStateMachine port = active();
    EXPECT_TRUE(port.set_physical(PortPhysicalState::kSleep));
    port.handle_other_end_found();
    port.handle_trained();
    EXPECT_EQ(port.logical(), PortState::kInit);
}

TEST(PortStateMachine, AFollowerGoesWhereTheAgentsMachineWent) {
    PortStateMachine port = in_initialize();
    port.follow(PortState::kActive);  // Two steps at once: the agent's machine took both.
    EXPECT_EQ(port.logical(), PortState::kActive);
    port.follow(PortState::kDown);
    EXPECT_EQ(port.logical(), PortState::kDown);
    EXPECT_EQ(port.downed(), 1U);
    port.follow(PortState::kActive);
    EXPECT_EQ(port.logical(), PortState::kDown) << "its own cable is not trained yet";
}

TEST(PortStateMachine, DataIsAheadOfTheManager) {
    PortStateMachine port = in_initialize();
    port.follow(PortState::kArmed);
    port.handle_data();
    port.follow(PortState::kArmed);
    EXPECT_EQ(port.logical(), PortState::kActive);
}

}  // namespace
}  // namespace softib::link
