// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/key_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/prng.h"

namespace softib::net {
namespace {

struct Numbered {
    std::uint64_t key = 0;
    std::uint32_t number = 0;
    friend bool operator==(const Numbered&, const Numbered&) = default;
};

/// Expects that records whose keys differ only in the bits of `mask` are sorted as the standard
/// library sorts them.
void expect_sorted(std::size_t count, std::uint64_t mask, std::uint64_t seed) {
    Prng prng(seed);
    const std::uint64_t same = prng.next() & ~mask;
    std::vector<Numbered> records;
    for (std::uint32_t i = 0; i < count; ++i) {
        records.push_back({same | (prng.next() & mask), i});
    }
    std::vector<Numbered> expected = records;
    std::ranges::stable_sort(expected, {}, &Numbered::key);
    std::vector<Numbered> sorted;
    KeySort<Numbered>().append_sorted(records, sorted);
    EXPECT_EQ(sorted, expected) << count << " keys, mask " << std::hex << mask;
}

TEST(KeySort, SortsAsAStableSortDoes) {
    for (const std::size_t count : {0U, 1U, 2U, 16U, 17U, 100U, 1000U, 5000U}) {
        for (const std::uint64_t mask :
             {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{0x1FF'0007'FFFF},
              std::uint64_t{0x1F'FFFF'0000'0000}, std::uint64_t{0xFFF'000F'FFFF},
              std::uint64_t{0xFFF'001F'FFFF}, ~std::uint64_t{0}}) {
            expect_sorted(count, mask, count ^ mask);
        }
    }
}

TEST(KeySort, AppendsFewerAndMoreAndLeavesTheRest) {
    KeySort<Numbered> sorter;
    std::vector<Numbered> all;
    for (const std::uint32_t count : {300U, 20U, 900U, 5U}) {
        std::vector<Numbered> records;
        for (std::uint32_t i = 0; i < count; ++i) {
            records.push_back({(count - i) * 3U, i});
        }
        const std::vector<Numbered> before = all;
        sorter.append_sorted(records, all);
        ASSERT_EQ(all.size(), before.size() + count);
        const auto added = all.begin() + static_cast<std::ptrdiff_t>(before.size());
        EXPECT_TRUE(std::equal(before.begin(), before.end(), all.begin(), added));
        EXPECT_TRUE(std::ranges::is_sorted(added, all.end(), {}, &Numbered::key));
    }
}

}  // namespace
}  // namespace softib::net
