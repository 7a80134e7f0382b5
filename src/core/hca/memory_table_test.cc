// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/memory_table.h"

#include <gtest/gtest.h>

#include <array>

namespace softib::hca {
namespace {

constexpr Pd kPd{3};
constexpr Qpn kQpn{17};
constexpr std::uint32_t kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kMwBind;

struct Rig {
    std::array<std::uint8_t, 256> bytes{};
    MemoryTable table{4};
    std::uint32_t key = table.add_region(
        {.pd = kPd, .addr = 0x1000, .length = 256, .access = kAll, .bytes = bytes.data()});
};

TEST(MemoryTable, RangeIsExact) {
    Rig r;
    const auto reach = [&](std::uint64_t addr, std::uint32_t length) {
        return r.table.remote(r.key, kPd, kQpn, addr, length, kRemoteWrite).has_value();
    };
    EXPECT_TRUE(reach(0x1000, 256));
    EXPECT_TRUE(reach(0x10FF, 1));
    EXPECT_TRUE(reach(0x1100, 0));
    EXPECT_FALSE(reach(0x1000, 257));
    EXPECT_FALSE(reach(0x0FFF, 1));
    EXPECT_FALSE(reach(0x1100, 1));
    EXPECT_FALSE(reach(0, 1));
    EXPECT_FALSE(reach(~std::uint64_t{0}, 2));
    EXPECT_FALSE(reach(0x1001, 0xFFFFFFFF));
    EXPECT_EQ(r.table.local(r.key, kPd, 0x1010, 4, 0)->bytes, r.bytes.data() + 0x10);
}

TEST(MemoryTable, DomainAndRightsCount) {
    Rig r;
    EXPECT_FALSE(r.table.remote(r.key, Pd{4}, kQpn, 0x1000, 1, kRemoteRead));
    EXPECT_FALSE(r.table.local(r.key, Pd{4}, 0x1000, 1, 0));
    const auto poor = r.table.add_region(
        {.pd = kPd, .addr = 0x1000, .length = 256, .access = kRemoteRead, .bytes = nullptr});
    EXPECT_TRUE(r.table.remote(poor, kPd, kQpn, 0x1000, 1, kRemoteRead));
    EXPECT_FALSE(r.table.remote(poor, kPd, kQpn, 0x1000, 1, kRemoteWrite));
    EXPECT_FALSE(r.table.remote(poor, kPd, kQpn, 0x1000, 1, kRemoteAtomic));
    EXPECT_FALSE(r.table.local(poor, kPd, 0x1000, 1, kLocalWrite));
}

TEST(MemoryTable, RemovedKeyIsGoneAndItsNumberNotTheSameAgain) {
    Rig r;
    r.table.remove(r.key);
    EXPECT_FALSE(r.table.local(r.key, kPd, 0x1000, 1, 0));
    const auto next = r.table.add_region(
        {.pd = kPd, .addr = 0x1000, .length = 256, .access = kAll, .bytes = r.bytes.data()});
    EXPECT_EQ(next >> 8, r.key >> 8);
    EXPECT_NE(next, r.key);
    r.table.remove(r.key);  // Without effect: the old key is not that of the new region.
    EXPECT_TRUE(r.table.local(next, kPd, 0x1000, 1, 0));
}

TEST(MemoryTable, FullTableGivesNoKey) {
    MemoryTable table(1);
    EXPECT_NE(table.add_window(kPd, KeyKind::kWindow2), 0U);
    EXPECT_EQ(table.add_window(kPd, KeyKind::kWindow2), 0U);
    EXPECT_EQ(table.add_region({}), 0U);
}

BindRequest binding(const Rig& r, std::uint32_t window) {
    return {.mw_key = window,
            .new_key = window + 1,
            .mr_lkey = r.key,
            .access = kRemoteWrite,
            .addr = 0x1010,
            .length = 16};
}

TEST(MemoryTable, WindowShowsItsPartToItsQueuePair) {
    Rig r;
    const std::uint32_t window = r.table.add_window(kPd, KeyKind::kWindow2);
    EXPECT_FALSE(r.table.remote(window, kPd, kQpn, 0x1010, 1, kRemoteWrite));
    ASSERT_TRUE(r.table.bind(binding(r, window), kPd, kQpn));
    const std::uint32_t key = window + 1;
    EXPECT_FALSE(r.table.remote(window, kPd, kQpn, 0x1010, 1, kRemoteWrite));
    EXPECT_EQ(r.table.remote(key, kPd, kQpn, 0x1010, 16, kRemoteWrite)->bytes,
              r.bytes.data() + 0x10);
    EXPECT_FALSE(r.table.remote(key, kPd, kQpn, 0x100F, 1, kRemoteWrite));
    EXPECT_FALSE(r.table.remote(key, kPd, kQpn, 0x1010, 17, kRemoteWrite));
    EXPECT_FALSE(r.table.remote(key, kPd, kQpn, 0x1010, 1, kRemoteRead));
    EXPECT_FALSE(r.table.remote(key, kPd, Qpn{18}, 0x1010, 1, kRemoteWrite));
    EXPECT_FALSE(r.table.local(key, kPd, 0x1010, 1, 0));
}

TEST(MemoryTable, WindowEndsWithItsRegionOrItsInvalidation) {
    Rig r;
    const std::uint32_t window = r.table.add_window(kPd, KeyKind::kWindow2);
    ASSERT_TRUE(r.table.bind(binding(r, window), kPd, kQpn));
    EXPECT_FALSE(r.table.invalidate(window, kPd, kQpn));
    EXPECT_FALSE(r.table.invalidate(window + 1, kPd, Qpn{18}));
    EXPECT_FALSE(r.table.invalidate(window + 1, Pd{4}, kQpn));
    EXPECT_FALSE(r.table.invalidate(r.key, kPd, kQpn));
    r.table.remove(r.key);
    EXPECT_FALSE(r.table.remote(window + 1, kPd, kQpn, 0x1010, 1, kRemoteWrite));
    EXPECT_TRUE(r.table.invalidate(window + 1, kPd, kQpn));
    EXPECT_FALSE(r.table.remote(window + 1, kPd, kQpn, 0x1010, 1, 0));
}

TEST(MemoryTable, BadBindingsAreRefused) {
    Rig r;
    const std::uint32_t window = r.table.add_window(kPd, KeyKind::kWindow2);
    const auto refused = [&](auto spoil) {
        BindRequest request = binding(r, window);
        spoil(request);
        return !r.table.bind(request, kPd, kQpn);
    };
    EXPECT_TRUE(refused([](BindRequest& b) { b.mw_key += 1; }));
    EXPECT_TRUE(refused([](BindRequest& b) { b.new_key += 256; }));
    EXPECT_TRUE(refused([](BindRequest& b) { b.mr_lkey += 1; }));
    EXPECT_TRUE(refused([](BindRequest& b) { b.length = 0xF1; }));
    EXPECT_TRUE(refused([](BindRequest& b) { b.length = std::uint64_t{1} << 40; }));
    EXPECT_TRUE(refused([&](BindRequest& b) { b.mr_lkey = window; }));
    EXPECT_FALSE(r.table.bind(binding(r, window), Pd{4}, kQpn));
    EXPECT_FALSE(refused([](BindRequest&) {}));
}

// IBA vol. 1, o10-37.2.30: a window must be free to be bound. o10-37.2.40: a bind of length 0 does
// not free it.
TEST(MemoryTable, BoundWindowOfType2IsFreedByInvalidationOnly) {
    Rig r;
    const std::uint32_t window = r.table.add_window(kPd, KeyKind::kWindow2);
    const std::uint32_t key = window + 1;
    BindRequest request = binding(r, window);
    request.length = 0;
    EXPECT_FALSE(r.table.bind(request, kPd, kQpn));
    ASSERT_TRUE(r.table.bind(binding(r, window), kPd, kQpn));
    EXPECT_FALSE(r.table.bind(binding(r, key), kPd, kQpn));
    request.mw_key = key;
    EXPECT_FALSE(r.table.bind(request, kPd, kQpn));
    EXPECT_TRUE(r.table.remote(key, kPd, kQpn, 0x1010, 16, kRemoteWrite)) << "it is as it was";
    ASSERT_TRUE(r.table.invalidate(key, kPd, kQpn));
    EXPECT_TRUE(r.table.bind(binding(r, key), kPd, Qpn{18}));
}

TEST(MemoryTable, WindowOfType1IsBoundAgainAndUnbound) {
    Rig r;
    const std::uint32_t window = r.table.add_window(kPd, KeyKind::kWindow1);
    ASSERT_TRUE(r.table.bind(binding(r, window), kPd, kQpn));
    ASSERT_TRUE(r.table.bind(binding(r, window + 1), kPd, Qpn{18}));
    EXPECT_TRUE(r.table.remote(window + 2, kPd, kQpn, 0x1010, 16, kRemoteWrite));
    BindRequest unbind = binding(r, window + 2);
    unbind.length = 0;
    ASSERT_TRUE(r.table.bind(unbind, kPd, kQpn));
    EXPECT_FALSE(r.table.remote(window + 3, kPd, kQpn, 0x1010, 1, kRemoteWrite));
}

TEST(MemoryTable, ZeroBasedWindowCountsFromItsStart) {
    Rig r;
    const std::uint32_t window = r.table.add_window(kPd, KeyKind::kWindow2);
    BindRequest request = binding(r, window);
    request.access |= kZeroBased;
    ASSERT_TRUE(r.table.bind(request, kPd, kQpn));
    EXPECT_EQ(r.table.remote(window + 1, kPd, kQpn, 0, 16, kRemoteWrite)->bytes,
              r.bytes.data() + 0x10);
}

// IBA vol. 1, o10-36.2.2.
TEST(MemoryTable, WindowOfType1IsNotZeroBased) {
    Rig r;
    const std::uint32_t window = r.table.add_window(kPd, KeyKind::kWindow1);
    BindRequest request = binding(r, window);
    request.access |= kZeroBased;
    EXPECT_FALSE(r.table.bind(request, kPd, kQpn));
}

TEST(MemoryTable, AtomicsReturnWhatWasThere) {
    Rig r;
    const Place word{r.bytes.data()};
    EXPECT_EQ(r.table.execute(word, {.compare_swap = false, .compare_add = 5}), 0U);
    EXPECT_EQ(r.table.execute(word, {.compare_swap = true, .compare_add = 4, .swap = 9}), 5U);
    EXPECT_EQ(r.table.execute(word, {.compare_swap = true, .compare_add = 5, .swap = 9}), 5U);
    EXPECT_EQ(r.table.execute(word, {.compare_swap = false, .compare_add = ~std::uint64_t{0}}), 9U);
    EXPECT_EQ(r.bytes[0], 8);
}

}  // namespace
}  // namespace softib::hca
