// SPDX-License-Identifier: BSD-2-Clause
// Vendors' options (ECE) travel with the messages that make a connection.
#include <gtest/gtest.h>

#include "core/cm/test_pair.h"

namespace softib::cm {
namespace {

constexpr Ece kAsked{0x0215B3, 0x80000001};
constexpr Ece kAnswered{0x0215B3, 0x00000001};

Command connect_with(const TestPair& pair, IdHandle id, Ece ece) {
    Command connect = pair.command(Operation::kConnect, id);
    connect.parameters.qpn = Qpn{100};
    connect.parameters.ece = ece;
    return connect;
}

TEST(CmEce, BothSidesLearnTheOthersOptions) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    ASSERT_EQ(pair.execute(pair.a, connect_with(pair, id, kAsked)).status, 0);
    const Event* const request = pair.b.last(EventType::kConnectRequest);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->parameters.ece, kAsked);

    Command accept = pair.command(Operation::kAccept, request->id);
    accept.parameters.qpn = Qpn{500};
    accept.parameters.ece = kAnswered;
    ASSERT_EQ(pair.execute(pair.b, accept).status, 0);
    const Event* const response = pair.a.last(EventType::kConnectResponse);
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->parameters.ece, kAnswered);
    // The vendor ID is in bytes next to the QPN, which must be unharmed.
    EXPECT_EQ(response->parameters.qpn, Qpn{500});
}

TEST(CmEce, AVendorsNameHasThreeBytes) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    ASSERT_EQ(pair.execute(pair.a, connect_with(pair, id, {0xFF123456, 0})).status, 0);
    const Event* const request = pair.b.last(EventType::kConnectRequest);
    ASSERT_NE(request, nullptr);
    EXPECT_EQ(request->parameters.ece, (Ece{0x123456, 0}));
    EXPECT_EQ(request->parameters.qpn, Qpn{100});
}

TEST(CmEce, OptionsCanBeRefused) {
    TestPair pair;
    pair.listener(pair.b, kPort);
    const IdHandle id = pair.resolved(pair.a, pair.b, kPort);
    ASSERT_EQ(pair.execute(pair.a, connect_with(pair, id, kAsked)).status, 0);
    Command reject = pair.command(Operation::kReject, pair.b.last(EventType::kConnectRequest)->id);
    reject.reason = static_cast<std::uint8_t>(wire::RejectReason::kVendorOptionNotSupported);
    ASSERT_EQ(pair.execute(pair.b, reject).status, 0);
    const Event* const rejected = pair.a.last(EventType::kRejected);
    ASSERT_NE(rejected, nullptr);
    EXPECT_EQ(rejected->status, 35);
}

}  // namespace
}  // namespace softib::cm
