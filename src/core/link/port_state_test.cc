// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/port_state.h"

#include <gtest/gtest.h>

namespace softib::link {
namespace {

PortState in_initialize() {
    PortState port;
    port.handle_other_end_found();
    port.handle_trained();
    return port;
}

PortState active() {
    PortState port = in_initialize();
    EXPECT_TRUE(port.set_logical(Logical::kArmed));
    EXPECT_TRUE(port.set_logical(Logical::kActive));
    return port;
}

TEST(PortState, TrainingLeadsToInitialize) {
    PortState port;
    EXPECT_EQ(port.physical(), Physical::kPolling);
    port.handle_trained();  // Nobody was found yet.
    EXPECT_EQ(port.logical(), Logical::kDown);
    port = in_initialize();
    EXPECT_EQ(port.physical(), Physical::kLinkUp);
    EXPECT_EQ(port.logical(), Logical::kInitialize);
}

TEST(PortState, OnlyManagementPassesInInitialize) {
    const PortState port = in_initialize();
    EXPECT_TRUE(port.may_send(kVl15));
    EXPECT_TRUE(port.may_receive(kVl15));
    EXPECT_FALSE(port.may_send(0));
    EXPECT_FALSE(port.may_receive(0));
}

TEST(PortState, AnArmedPortReceivesDataAndBecomesActiveByIt) {
    PortState port = in_initialize();
    EXPECT_TRUE(port.set_logical(Logical::kArmed));
    EXPECT_FALSE(port.may_send(0));
    EXPECT_TRUE(port.may_receive(0));
    port.handle_data();
    EXPECT_EQ(port.logical(), Logical::kActive);
    EXPECT_TRUE(port.may_send(0));
}

TEST(PortState, TheManagerCannotSkipArmed) {
    PortState port = in_initialize();
    EXPECT_FALSE(port.set_logical(Logical::kActive));
    EXPECT_EQ(port.logical(), Logical::kInitialize);
    port = active();
    EXPECT_FALSE(port.set_logical(Logical::kArmed));
    EXPECT_FALSE(port.set_logical(Logical::kInitialize));
}

TEST(PortState, RecoveryHoldsDataAndReturnsToActive) {
    PortState port = active();
    port.handle_many_errors();
    EXPECT_EQ(port.logical(), Logical::kActiveDefer);
    EXPECT_FALSE(port.may_send(0));
    port.handle_recovered();
    EXPECT_EQ(port.logical(), Logical::kActive);
    EXPECT_EQ(port.recovered(), 1U);
    EXPECT_EQ(port.downed(), 0U);
}

TEST(PortState, FailedRecoveryAndLostCarrierCountAsDowned) {
    PortState port = active();
    port.handle_many_errors();
    port.handle_recovery_failed();
    EXPECT_EQ(port.logical(), Logical::kDown);
    EXPECT_EQ(port.physical(), Physical::kPolling);
    EXPECT_EQ(port.downed(), 1U);
    port.handle_lost();  // It is down already.
    EXPECT_EQ(port.downed(), 1U);
}

TEST(PortState, ADisabledPortStaysDownUntilItMayPoll) {
    PortState port = active();
    EXPECT_TRUE(port.set_physical(Physical::kDisabled));
    port.handle_other_end_found();
    EXPECT_EQ(port.physical(), Physical::kDisabled);
    EXPECT_TRUE(port.set_physical(Physical::kPolling));
    port.handle_other_end_found();
    port.handle_trained();
    EXPECT_EQ(port.logical(), Logical::kInitialize);
    EXPECT_FALSE(port.set_physical(Physical::kLinkUp));
}

}  // namespace
}  // namespace softib::link
