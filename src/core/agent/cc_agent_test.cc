// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/cc_agent.h"

#include <gtest/gtest.h>

#include "core/wire/cc/congestion_info.h"
#include "core/wire/cc/congestion_log.h"
#include "core/wire/format/timestamp.h"
#include "core/wire/mad/class_port_info.h"

namespace softib::agent {
namespace {

using wire::CcAttribute;
using wire::Method;
namespace status = wire::mad_status;

constexpr std::uint64_t kKey = 0x1234'5678'9ABC'DEF0;
constexpr std::uint64_t kSecond = 1'000'000'000;

wire::MadBytes request(Method method, CcAttribute attribute, std::uint64_t key = 0,
                       std::uint32_t modifier = 0) {
    wire::MadBytes mad{};
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kCongestion;
    header.class_version = wire::kCcClassVersion;
    header.method = method;
    header.transaction_id = 77;
    header.attribute_id = static_cast<std::uint16_t>(attribute);
    header.attribute_modifier = modifier;
    header.emit(wire::Mad<std::uint8_t>(mad));
    wire::Cc<std::uint8_t>(mad).set_cc_key(key);
    return mad;
}

std::uint16_t status_of(const std::optional<wire::MadBytes>& answer) {
    return answer ? wire::Mad<const std::uint8_t>(*answer).status() : std::uint16_t{0xFFFF};
}

template <wire::Attribute T>
T read(CongestionAgent& agent, CcAttribute attribute, std::uint64_t key = 0,
       std::uint32_t modifier = 0, std::uint64_t now_ns = 0) {
    const auto answer = agent.answer(request(Method::kGet, attribute, key, modifier), now_ns);
    EXPECT_EQ(status_of(answer), status::kOk);
    return answer ? wire::parse<T>(wire::Cc<const std::uint8_t>(*answer).data()) : T{};
}

template <wire::Attribute T>
std::uint16_t write(CongestionAgent& agent, CcAttribute attribute, const T& value,
                    std::uint64_t key = 0, std::uint32_t modifier = 0, std::uint64_t now_ns = 0) {
    wire::MadBytes mad = request(Method::kSet, attribute, key, modifier);
    wire::emit(value, wire::Cc<std::uint8_t>(mad).data());
    return status_of(agent.answer(mad, now_ns));
}

TEST(CongestionAgent, SaysWhatItIs) {
    CongestionAgent adapter = CongestionAgent::of_adapter();
    CongestionAgent sw = CongestionAgent::of_switch(8);
    EXPECT_EQ(read<wire::ClassPortInfo>(sw, CcAttribute::kClassPortInfo).class_version, 2);
    EXPECT_EQ(read<wire::CongestionInfo>(adapter, CcAttribute::kCongestionInfo).control_table_cap,
              CongestionAgent::kTableBlocks);
    EXPECT_EQ(read<wire::CongestionInfo>(sw, CcAttribute::kCongestionInfo).control_table_cap, 0);
    EXPECT_EQ(write(sw, CcAttribute::kCongestionInfo, wire::CongestionInfo{}),
              status::kUnsupportedMethod);
}

TEST(CongestionAgent, AnswersOnlyItsOwnKindOfRequest) {
    CongestionAgent sw = CongestionAgent::of_switch(8);
    wire::MadBytes mad = request(Method::kGet, CcAttribute::kCongestionInfo);
    const wire::Mad<std::uint8_t> header(mad);
    header.set_method(Method::kGetResp);
    EXPECT_FALSE(sw.answer(mad, 0));
    header.set_method(Method::kGet);
    header.set_mgmt_class(wire::MgmtClass::kPerf);
    EXPECT_FALSE(sw.answer(mad, 0));
    header.set_mgmt_class(wire::MgmtClass::kCongestion);
    header.set_class_version(1);
    EXPECT_EQ(status_of(sw.answer(mad, 0)), status::kUnsupportedClass);
    header.set_class_version(wire::kCcClassVersion);
    header.set_attribute_id(0x99);
    EXPECT_EQ(status_of(sw.answer(mad, 0)), status::kUnsupportedAttribute);
}

TEST(CongestionAgent, SwitchAndAdapterHaveEachTheirSettings) {
    CongestionAgent adapter = CongestionAgent::of_adapter();
    CongestionAgent sw = CongestionAgent::of_switch(8);
    const auto get = [](CongestionAgent& agent, CcAttribute attribute) {
        return status_of(agent.answer(request(Method::kGet, attribute), 0));
    };
    for (const auto attribute :
         {CcAttribute::kSwitchCongestionSetting, CcAttribute::kSwitchPortCongestionSetting}) {
        EXPECT_EQ(get(sw, attribute), status::kOk);
        EXPECT_EQ(get(adapter, attribute), status::kUnsupportedAttribute);
    }
    for (const auto attribute :
         {CcAttribute::kCaCongestionSetting, CcAttribute::kCongestionControlTable}) {
        EXPECT_EQ(get(sw, attribute), status::kUnsupportedAttribute);
        EXPECT_EQ(get(adapter, attribute), status::kOk);
    }
}

TEST(CongestionAgent, SwitchSettingChangesWhatTheMapNames) {
    CongestionAgent sw = CongestionAgent::of_switch(8);
    wire::SwitchCongestionSetting all{.control_map = 0x1F,
                                      .threshold = 9,
                                      .packet_size = 4,
                                      .cs_threshold = 3,
                                      .cs_return_delay = 0x4001,
                                      .marking_rate = 7};
    all.victim_mask[31] = 0xFE;
    all.credit_mask[30] = 1;
    ASSERT_EQ(write(sw, CcAttribute::kSwitchCongestionSetting, all), status::kOk);
    EXPECT_EQ(read<wire::SwitchCongestionSetting>(sw, CcAttribute::kSwitchCongestionSetting), all);
    const wire::SwitchCongestionSetting rate{.control_map = wire::switch_control_map::kMarkingRate,
                                             .marking_rate = 100};
    ASSERT_EQ(write(sw, CcAttribute::kSwitchCongestionSetting, rate), status::kOk);
    all.control_map = rate.control_map;
    all.marking_rate = 100;
    EXPECT_EQ(read<wire::SwitchCongestionSetting>(sw, CcAttribute::kSwitchCongestionSetting), all);
}

TEST(CongestionAgent, SwitchPortsAreWrittenByBlock) {
    CongestionAgent sw = CongestionAgent::of_switch(64);
    wire::SwitchPortCongestionSetting wanted;
    wanted.entry[16] = {.valid = true,
                        .control_type = true,
                        .threshold = 5,
                        .packet_size = 6,
                        .cong_parm_marking_rate = 7};
    wanted.entry[17].valid = true;  // There is no port 65.
    ASSERT_EQ(write(sw, CcAttribute::kSwitchPortCongestionSetting, wanted, 0, 1), status::kOk);
    const auto block = [&](std::uint32_t index) {
        return read<wire::SwitchPortCongestionSetting>(
            sw, CcAttribute::kSwitchPortCongestionSetting, 0, index);
    };
    EXPECT_EQ(block(1).entry[16], wanted.entry[16]);
    EXPECT_FALSE(block(1).entry[17].valid);
    EXPECT_EQ(block(0), wire::SwitchPortCongestionSetting{});
    EXPECT_EQ(write(sw, CcAttribute::kSwitchPortCongestionSetting, wanted, 0, 2),
              status::kInvalidField);
    EXPECT_EQ(write(sw, CcAttribute::kSwitchPortCongestionSetting, wanted, 0, UINT32_MAX),
              status::kInvalidField);
}

TEST(CongestionAgent, AdapterSettingChangesTheServiceLevelsNamed) {
    CongestionAgent adapter = CongestionAgent::of_adapter();
    wire::CaCongestionSetting wanted;
    wanted.port_control = wire::kCongestionPortControlSl;
    wanted.control_map = 0x3;
    for (auto& entry : wanted.entry) {
        entry = {.ccti_timer = 150, .ccti_increase = 1, .trigger_threshold = 2, .ccti_min = 3};
    }
    ASSERT_EQ(write(adapter, CcAttribute::kCaCongestionSetting, wanted), status::kOk);
    const auto now = read<wire::CaCongestionSetting>(adapter, CcAttribute::kCaCongestionSetting);
    EXPECT_EQ(now.port_control, wire::kCongestionPortControlSl);
    EXPECT_EQ(now.entry[1], wanted.entry[1]);
    EXPECT_EQ(now.entry[2], wire::CaCongestionEntry{});
}

TEST(CongestionAgent, TableHasAnEnd) {
    CongestionAgent adapter = CongestionAgent::of_adapter();
    wire::CongestionControlTable wanted;
    wanted.ccti_limit = 127;
    wanted.entry[63] = {.cct_shift = 2, .cct_multiplier = 1000};
    ASSERT_EQ(write(adapter, CcAttribute::kCongestionControlTable, wanted, 0, 1), status::kOk);
    const auto block = [&](std::uint32_t index) {
        return read<wire::CongestionControlTable>(adapter, CcAttribute::kCongestionControlTable, 0,
                                                  index);
    };
    EXPECT_EQ(block(1), wanted);
    EXPECT_EQ(block(0).ccti_limit, 127);
    EXPECT_EQ(block(0).entry[63], wire::CongestionControlTableEntry{});
    EXPECT_EQ(write(adapter, CcAttribute::kCongestionControlTable, wanted, 0, 2),
              status::kInvalidField);
    wanted.ccti_limit = 128;
    EXPECT_EQ(write(adapter, CcAttribute::kCongestionControlTable, wanted, 0, 0),
              status::kInvalidField);
    EXPECT_EQ(block(0).ccti_limit, 127);
}

TEST(CongestionAgent, LogIsEmptyAndHasTheTime) {
    CongestionAgent adapter = CongestionAgent::of_adapter();
    CongestionAgent sw = CongestionAgent::of_switch(8);
    const auto log = [](CongestionAgent& agent) {
        return *agent.answer(request(Method::kGet, CcAttribute::kCongestionLog), 10 * 1024);
    };
    wire::SwitchCongestionLog empty_switch;
    wire::CaCongestionLog empty_adapter;
    empty_switch.current_time_stamp = empty_adapter.current_time_stamp = 10;
    EXPECT_EQ(wire::parse<wire::SwitchCongestionLog>(wire::Cc<const std::uint8_t>(log(sw)).log()),
              empty_switch);
    EXPECT_EQ(wire::parse<wire::CaCongestionLog>(wire::Cc<const std::uint8_t>(log(adapter)).log()),
              empty_adapter);
    EXPECT_EQ(read<wire::Timestamp>(sw, CcAttribute::kTimestamp, 0, 0, 2048).timestamp, 2U);
}

wire::CongestionKeyInfo key_info(CongestionAgent& agent, std::uint64_t key,
                                 std::uint64_t now_ns = 0) {
    return read<wire::CongestionKeyInfo>(agent, CcAttribute::kCongestionKeyInfo, key, 0, now_ns);
}

TEST(CongestionKey, StrangersChangeNothingAndAreCounted) {
    CongestionAgent sw = CongestionAgent::of_switch(8);
    ASSERT_EQ(write(sw, CcAttribute::kCongestionKeyInfo,
                    wire::CongestionKeyInfo{.cc_key = kKey, .cc_key_protect_bit = true}),
              status::kOk);
    const wire::SwitchCongestionSetting wanted{.control_map = 0x1F, .threshold = 9};
    EXPECT_EQ(write(sw, CcAttribute::kSwitchCongestionSetting, wanted), 0xFFFF);
    EXPECT_EQ(write(sw, CcAttribute::kSwitchCongestionSetting, wanted, kKey + 1), 0xFFFF);
    EXPECT_EQ(read<wire::SwitchCongestionSetting>(sw, CcAttribute::kSwitchCongestionSetting),
              wire::SwitchCongestionSetting{});
    EXPECT_EQ(key_info(sw, kKey).cc_key_violations, 2);
    EXPECT_EQ(write(sw, CcAttribute::kSwitchCongestionSetting, wanted, kKey), status::kOk);
    // A counter is reset by zero and by nothing else.
    wire::CongestionKeyInfo same{.cc_key = kKey, .cc_key_violations = 9};
    ASSERT_EQ(write(sw, CcAttribute::kCongestionKeyInfo, same, kKey), status::kOk);
    EXPECT_EQ(key_info(sw, kKey).cc_key_violations, 2);
    same.cc_key_violations = 0;
    ASSERT_EQ(write(sw, CcAttribute::kCongestionKeyInfo, same, kKey), status::kOk);
    EXPECT_EQ(key_info(sw, kKey).cc_key_violations, 0);
}

TEST(CongestionKey, IsShownToStrangersOnlyWithoutTheProtectBit) {
    CongestionAgent sw = CongestionAgent::of_switch(8);
    wire::CongestionKeyInfo info{.cc_key = kKey};
    ASSERT_EQ(write(sw, CcAttribute::kCongestionKeyInfo, info), status::kOk);
    EXPECT_EQ(key_info(sw, 0).cc_key, kKey);
    info.cc_key_protect_bit = true;
    ASSERT_EQ(write(sw, CcAttribute::kCongestionKeyInfo, info, kKey), status::kOk);
    EXPECT_EQ(key_info(sw, 0).cc_key, 0U);
    EXPECT_EQ(key_info(sw, kKey).cc_key, kKey);
}

TEST(CongestionKey, LeaseEndsTheProtection) {
    CongestionAgent sw = CongestionAgent::of_switch(8);
    const wire::CongestionKeyInfo info{
        .cc_key = kKey, .cc_key_protect_bit = true, .cc_key_lease_period = 10};
    ASSERT_EQ(write(sw, CcAttribute::kCongestionKeyInfo, info), status::kOk);
    const wire::SwitchCongestionSetting wanted{.control_map = 0x1F, .threshold = 9};
    const auto intrude = [&](std::uint64_t now_ns) {
        EXPECT_EQ(write(sw, CcAttribute::kSwitchCongestionSetting, wanted, 1, 0, now_ns), 0xFFFF);
    };
    // A request with the right key stops the lease.
    intrude(kSecond);
    EXPECT_TRUE(key_info(sw, kKey, 10 * kSecond).cc_key_protect_bit);
    EXPECT_TRUE(key_info(sw, 0, 12 * kSecond).cc_key_protect_bit);
    intrude(20 * kSecond);
    intrude(25 * kSecond);  // The lease began with the first wrong key; this one does not renew it.
    EXPECT_TRUE(key_info(sw, 0, 30 * kSecond - 1).cc_key_protect_bit);
    const auto after = key_info(sw, 0, 30 * kSecond);
    EXPECT_FALSE(after.cc_key_protect_bit);
    EXPECT_EQ(after.cc_key, kKey);
}

}  // namespace
}  // namespace softib::agent
