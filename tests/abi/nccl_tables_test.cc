// SPDX-License-Identifier: BSD-2-Clause
// Sizes and offsets of NCCL's plug-in tables: NCCL was compiled with these numbers.
#include <gtest/gtest.h>

#include <cstddef>

#include "abi/nccl/plugin_abi.h"

namespace softib::abi::nccl {
namespace {

constexpr std::size_t kPointer = 8;

TEST(NcclTables, PropertiesHaveNcclsOffsets) {
    EXPECT_EQ(sizeof(PropertiesV8), 64U);
    EXPECT_EQ(offsetof(PropertiesV8, device.guid), 16U);
    EXPECT_EQ(offsetof(PropertiesV8, link.speed_mbps), 32U);
    EXPECT_EQ(offsetof(PropertiesV8, link.latency_us), 40U);
    EXPECT_EQ(offsetof(PropertiesV8, link.net_device_version), 56U);
    EXPECT_EQ(sizeof(PropertiesV10), 104U);
    EXPECT_EQ(offsetof(PropertiesV10, force_flush), 32U);
    EXPECT_EQ(offsetof(PropertiesV10, link.latency_us), 44U);
    EXPECT_EQ(offsetof(PropertiesV10, virtual_device), 64U);
    EXPECT_EQ(offsetof(PropertiesV10, point_to_point_bytes_max), 88U);
    EXPECT_EQ(offsetof(PropertiesV10, collective_bytes_max), 96U);
    PropertiesV11 newest{};
    EXPECT_EQ(sizeof newest, 112U);
    EXPECT_EQ(reinterpret_cast<std::byte*>(&newest.multi_request_max) -
                  reinterpret_cast<std::byte*>(&newest),
              104);
}

TEST(NcclTables, PartsHaveNcclsOffsets) {
    EXPECT_EQ(sizeof(PartV8), 24U);
    EXPECT_EQ(sizeof(Part), 24U);
    EXPECT_EQ(offsetof(PartV8, bytes), 16U);
}

TEST(NcclTables, FunctionsStandAtNcclsPlaces) {
    EXPECT_EQ(sizeof(NetV8), 19 * kPointer);
    EXPECT_EQ(sizeof(NetV10), 20 * kPointer);
    EXPECT_EQ(sizeof(NetV11), 22 * kPointer);
    EXPECT_EQ(offsetof(NetV8, send), 10 * kPointer);
    EXPECT_EQ(offsetof(NetV11, test), 13 * kPointer);
    EXPECT_EQ(offsetof(NetV11, make_device), 19 * kPointer);
    EXPECT_EQ(sizeof(CollNetV8), 17 * kPointer);
    EXPECT_EQ(sizeof(CollNetV10), 18 * kPointer);
    EXPECT_EQ(sizeof(CollNetV11), 19 * kPointer);
    EXPECT_EQ(offsetof(CollNetV8, all_reduce), 10 * kPointer);
    EXPECT_EQ(offsetof(CollNetV11, flush), 13 * kPointer);
    EXPECT_EQ(offsetof(CollNetV11, finalize), 18 * kPointer);
}

}  // namespace
}  // namespace softib::abi::nccl
