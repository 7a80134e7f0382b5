// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/mad_dispatcher.h"

#include <gtest/gtest.h>

namespace softib::agent {
namespace {

using wire::Method;
using wire::MgmtClass;

constexpr auto kAggregation = static_cast<MgmtClass>(0x0B);

Delivery mad_at(NodeId node, MgmtClass mgmt_class, Method method, std::uint64_t transaction = 7) {
    Delivery delivery{.at = {node, 1}, .packet = {}};
    wire::MadRepr{.mgmt_class = mgmt_class, .method = method, .transaction_id = transaction}.emit(
        wire::Mad<std::uint8_t>(delivery.packet.mad));
    return delivery;
}

std::uint64_t transaction_of(const Delivery& delivery) {
    return wire::Mad<const std::uint8_t>(delivery.packet.mad).transaction_id();
}

/// A manager at node 1, connection managers and programs at nodes 2 and 3.
struct Services {
    MadDispatcher dispatcher;
    MadToken manager = dispatcher.add(
        {.interests = {{MgmtClass::kSubnAdm}, {MgmtClass::kSubnLidRouted}}, .nodes = {1}});
    MadToken programs = dispatcher.add({.interests = {}, .nodes = {3, 2}});
    MadToken connections = dispatcher.add(
        {.interests = {{.mgmt_class = MgmtClass::kCommMgmt, .method = Method::kSend}},
         .nodes = {2, 3}});

    /// Returns the service that a MAD is handed to; 0 if there is none.
    MadToken taker(const Delivery& delivery) {
        if (!dispatcher.deliver(delivery)) {
            return 0;
        }
        for (const MadToken service : {manager, programs, connections}) {
            if (dispatcher.poll(service)) {
                EXPECT_FALSE(dispatcher.waiting());
                return service;
            }
        }
        return 0;
    }
    /// Returns the answer to a request that this service sends from a node.
    Delivery answer_to(MadToken service, NodeId node, MgmtClass mgmt_class, Method method) {
        Delivery request = mad_at(node, mgmt_class, method);
        dispatcher.stamp(service, request.packet.mad);
        return mad_at(node, mgmt_class, wire::response_to(method), transaction_of(request));
    }
};

TEST(MadDispatcher, RequestsGoByTheirClass) {
    Services s;
    EXPECT_EQ(s.taker(mad_at(1, MgmtClass::kSubnAdm, Method::kGet)), s.manager);
    EXPECT_EQ(s.taker(mad_at(2, MgmtClass::kCommMgmt, Method::kSend)), s.connections);
    EXPECT_EQ(s.taker(mad_at(2, MgmtClass::kCommMgmt, Method::kGet)), s.programs);
    EXPECT_EQ(s.taker(mad_at(3, MgmtClass::kSubnAdm, Method::kGet)), s.programs);
}

TEST(MadDispatcher, AServiceHearsOnlyWhatComesToItsNodes) {
    Services s;
    EXPECT_EQ(s.taker(mad_at(1, MgmtClass::kCommMgmt, Method::kSend)), 0U);
    EXPECT_EQ(s.taker(mad_at(4, MgmtClass::kSubnAdm, Method::kGet)), 0U);
}

TEST(MadDispatcher, AnswersGoToWhoAsked) {
    Services s;
    EXPECT_EQ(s.taker(s.answer_to(s.manager, 1, MgmtClass::kSubnLidRouted, Method::kSet)),
              s.manager);
    // The connection managers ask the SA, and so do programs of the same port.
    EXPECT_EQ(s.taker(s.answer_to(s.connections, 2, MgmtClass::kSubnAdm, Method::kGet)),
              s.connections);
    Delivery program = mad_at(2, MgmtClass::kSubnAdm, Method::kGetResp);
    set_token(program.packet.mad, s.dispatcher.make_token());
    EXPECT_EQ(s.taker(program), s.programs);
    EXPECT_EQ(s.taker(mad_at(2, MgmtClass::kCommMgmt, Method::kGetResp)), s.programs)
        << "nobody's token";
}

TEST(MadDispatcher, AnAnswerThatComesToTheWrongNodeIsNobodys) {
    Services s;
    EXPECT_EQ(s.taker(s.answer_to(s.manager, 2, MgmtClass::kSubnAdm, Method::kGet)), 0U);
}

TEST(MadDispatcher, AServiceNeverSeesItsToken) {
    Services s;
    ASSERT_TRUE(
        s.dispatcher.deliver(s.answer_to(s.connections, 2, MgmtClass::kSubnAdm, Method::kGet)));
    EXPECT_TRUE(s.dispatcher.waiting());
    const auto answer = s.dispatcher.poll(s.connections);
    ASSERT_TRUE(answer);
    EXPECT_EQ(transaction_of(*answer), 7U);
}

TEST(MadDispatcher, WhatIsNotAnsweredKeepsItsTransaction) {
    const Services s;
    for (const Method method : {Method::kSend, Method::kTrapRepress, Method::kGetResp}) {
        Delivery mad = mad_at(2, MgmtClass::kCommMgmt, method, 0xAA0000000007);
        s.dispatcher.stamp(s.connections, mad.packet.mad);
        EXPECT_EQ(transaction_of(mad), 0xAA0000000007U);
    }
}

TEST(MadDispatcher, TokensOfTransactionsAreNoServices) {
    Services s;
    const MadToken first = s.dispatcher.make_token();
    EXPECT_NE(first, 0U);
    EXPECT_NE(s.dispatcher.make_token(), first);
    EXPECT_LT(first, s.manager);
}

TEST(MadDispatcher, AnotherServiceIsOneRegistration) {
    Services s;
    EXPECT_EQ(s.taker(mad_at(2, kAggregation, Method::kSet)), s.programs);
    const MadToken aggregation = s.dispatcher.add({.interests = {{kAggregation}}, .nodes = {2}});
    ASSERT_TRUE(s.dispatcher.deliver(mad_at(2, kAggregation, Method::kSet)));
    EXPECT_TRUE(s.dispatcher.poll(aggregation));
    ASSERT_TRUE(
        s.dispatcher.deliver(s.answer_to(aggregation, 2, MgmtClass::kSubnAdm, Method::kGetTable)));
    EXPECT_TRUE(s.dispatcher.poll(aggregation));
}

TEST(MadDispatcher, ARequestThatNobodyServesIsDeclined) {
    Delivery request = mad_at(1, MgmtClass::kDeviceMgmt, Method::kGet);
    request.packet.slid = Lid{5};
    request.packet.dlid = Lid{6};
    const auto answer = decline(request.packet);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->dlid, Lid{5});
    EXPECT_EQ(wire::Mad<const std::uint8_t>(answer->mad).status(),
              wire::mad_status::kUnsupportedClass);
    EXPECT_FALSE(decline(mad_at(1, MgmtClass::kDeviceMgmt, Method::kGetResp).packet));
    EXPECT_FALSE(decline(mad_at(1, MgmtClass::kSubnLidRouted, Method::kGet).packet));
}

}  // namespace
}  // namespace softib::agent
