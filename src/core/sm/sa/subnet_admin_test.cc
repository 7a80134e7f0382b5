// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/subnet_admin.h"

#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "core/sm/sa/test_subnet.h"
#include "core/wire/mad/class_port_info.h"
#include "core/wire/sa/node_record.h"
#include "core/wire/sa/port_info_record.h"

namespace softib::sm {

using test::Answer;
using test::Client;
using test::kNoAnswer;
using wire::Method;
using wire::SaAttribute;
namespace status = wire::mad_status;
namespace sa_status = wire::sa_status;

struct SubnetAdminTest : testing::Test {
    test::TreeSubnet tree{2, 3, 2};
    SubnetAdmin sa{tree.subnet, {.sm_key = 77}};
    Client client{sa, tree.lid_of_host(0)};
};

TEST_F(SubnetAdminTest, TablesGoByRmppAndSingleRecordsDoNot) {
    const wire::NodeRecord any;
    const Answer table = client.ask(Method::kGetTable, SaAttribute::kNodeRecord, 0, any);
    EXPECT_EQ(table.status, status::kOk);
    EXPECT_EQ(table.mad.method, static_cast<Method>(0x92));
    EXPECT_EQ(table.rmpp.rmpp_flags, wire::rmpp_flag::kActive);
    EXPECT_EQ(table.header.attribute_offset, 14);  // 108 bytes and 4 of padding.
    EXPECT_EQ(table.data.size(), 10 * 112U);
    const wire::NodeRecord own{.lid = client.lid};
    const Answer one =
        client.get(SaAttribute::kNodeRecord, wire::component(&wire::NodeRecord::lid), own);
    EXPECT_EQ(one.mad.method, Method::kGetResp);
    EXPECT_EQ(one.rmpp.rmpp_flags, 0);
    EXPECT_EQ(one.data.size(), wire::kSaDataBytes);
}

TEST_F(SubnetAdminTest, GetWantsExactlyOne) {
    const wire::NodeRecord any{.lid = Lid{4000}};
    EXPECT_EQ(client.get(SaAttribute::kNodeRecord, 0, any).status, sa_status::kTooManyRecords);
    EXPECT_EQ(client.get(SaAttribute::kNodeRecord, 1, any).status, sa_status::kNoRecords);
}

TEST_F(SubnetAdminTest, EmptyTableIsNoError) {
    const wire::NodeRecord none{.lid = Lid{4000}};
    const Answer answer = client.ask(Method::kGetTable, SaAttribute::kNodeRecord, 1, none);
    EXPECT_EQ(answer.status, status::kOk);
    EXPECT_EQ(answer.header.attribute_offset, 0);
    EXPECT_TRUE(answer.data.empty());
    EXPECT_EQ(answer.rmpp.rmpp_flags, wire::rmpp_flag::kActive);
}

TEST_F(SubnetAdminTest, AnswersNobodyWithAWrongKeyOrWithoutAPlace) {
    const wire::NodeRecord own{.lid = client.lid};
    client.sm_key = 9999;
    EXPECT_EQ(client.get(SaAttribute::kNodeRecord, 1, own).status, kNoAnswer);
    client.sm_key = 77;
    const Answer trusted = client.get(SaAttribute::kNodeRecord, 1, own);
    EXPECT_EQ(trusted.status, status::kOk);
    EXPECT_EQ(trusted.header.sm_key, 0U);  // An answer never has the SM_Key.
    client.lid = Lid{4000};
    EXPECT_EQ(client.get(SaAttribute::kNodeRecord, 1, own).status, kNoAnswer);
}

TEST_F(SubnetAdminTest, RefusesWhatItDoesNotKnow) {
    const wire::NodeRecord any;
    EXPECT_EQ(client.get(static_cast<SaAttribute>(0x99), 0, any).status,
              status::kUnsupportedAttribute);
    EXPECT_EQ(client.ask(Method::kSet, SaAttribute::kNodeRecord, 0, any).status,
              status::kUnsupportedAttribute);
    EXPECT_EQ(client.ask(Method::kSet, SaAttribute::kSmInfoRecord, 0, any).status,
              status::kUnsupportedAttribute);
    EXPECT_EQ(client.ask(Method::kReport, SaAttribute::kNotice, 0, any).status,
              status::kUnsupportedMethod);
    EXPECT_EQ(client.ask(Method::kGetMulti, SaAttribute::kNodeRecord, 0, any).status,
              status::kUnsupportedAttribute);
    EXPECT_EQ(client.ask(Method::kGetResp, SaAttribute::kNodeRecord, 0, any).status, kNoAnswer);
    EXPECT_EQ(client.ask(Method::kTrap, SaAttribute::kNotice, 0, any).status, kNoAnswer);
}

TEST_F(SubnetAdminTest, RefusesOtherVersions) {
    std::vector<std::uint8_t> request(wire::kMadBytes);
    request[0] = 1;
    request[1] = 3;
    request[2] = 1;
    request[3] = 1;
    const auto answer = sa.handle(request, client.lid, Qpn{1}, 0);
    ASSERT_TRUE(answer);
    EXPECT_EQ(test::take_apart(*answer).status, status::kUnsupportedClass);
    request.resize(20);
    EXPECT_FALSE(sa.handle(request, client.lid, Qpn{1}, 0));
}

TEST_F(SubnetAdminTest, ClassPortInfoSaysWhatItCan) {
    const Answer answer = client.get(SaAttribute::kClassPortInfo, 0, wire::ClassPortInfo{});
    ASSERT_EQ(answer.status, status::kOk);
    const auto info = answer.records<wire::ClassPortInfo>().at(0);
    EXPECT_EQ(info.class_version, 2);
    EXPECT_NE(info.capability_mask & wire::sa_capability::kIsUDMulticastSupported, 0);
    EXPECT_EQ(client.ask(Method::kGetTable, SaAttribute::kClassPortInfo, 0, info).status,
              status::kUnsupportedAttribute);
}

TEST_F(SubnetAdminTest, TooLongATableIsRefusedWhole) {
    SubnetAdmin small(tree.subnet, {.table_bytes_max = 1000});
    Client asker{small, tree.lid_of_host(0)};
    const wire::PortInfoRecord any;
    EXPECT_EQ(asker.ask(Method::kGetTable, SaAttribute::kPortInfoRecord, 0, any).status,
              sa_status::kNoResources);
}

TEST_F(SubnetAdminTest, SurvivesAnyBytes) {
    Prng prng(5);
    std::size_t answered = 0;
    std::size_t granted = 0;
    for (int round = 0; round < 40'000; ++round) {
        const std::size_t bytes = prng.chance(1, 8) ? prng.below(600) : wire::kMadBytes;
        std::vector<std::uint8_t> request(bytes);
        std::ranges::generate(request, [&] { return static_cast<std::uint8_t>(prng.next()); });
        if (request.size() >= wire::kSaDataOffset && round % 8 != 0) {
            constexpr std::uint8_t kMethods[] = {1, 2, 0x12, 0x13, 0x14, 0x15};
            constexpr std::uint8_t kAttributes[] = {0x01, 0x03, 0x11, 0x12, 0x13, 0x14, 0x15,
                                                    0x17, 0x18, 0x20, 0x30, 0x31, 0x33, 0x35,
                                                    0x36, 0x38, 0x39, 0x3A, 0xF3};
            request[0] = 1;
            request[1] = 3;
            request[2] = 2;
            request[3] = kMethods[prng.below(std::size(kMethods))];
            request[16] = 0;
            request[17] = kAttributes[prng.below(std::size(kAttributes))];
            std::fill_n(request.begin() + wire::kSaHeaderOffset, 8U, std::uint8_t{0});
            request[wire::kSaHeaderOffset + 7] = prng.chance(1, 2) ? 77 : 0;
            if (prng.chance(1, 2)) {  // With few components, some records match.
                std::fill_n(request.begin() + 48, 8, std::uint8_t{0});
                request[55] = static_cast<std::uint8_t>(1U << prng.below(8));
            }
        }
        const Lid from{static_cast<std::uint16_t>(1 + prng.below(12))};
        const auto answer = sa.handle(request, from, Qpn{1}, 0);
        if (answer) {
            ++answered;
            ASSERT_GE(answer->size(), wire::kSaDataOffset);
            granted += test::take_apart(*answer).status == status::kOk ? 1U : 0U;
        }
    }
    EXPECT_GT(answered, 20'000U);
    EXPECT_GT(granted, 1'000U);
}

}  // namespace softib::sm
