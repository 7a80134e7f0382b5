// SPDX-License-Identifier: BSD-2-Clause
#include "net/hosts/psn_ranges.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/prng.h"

namespace softib::net {
namespace {

TEST(PsnRanges, NeighboursBecomeOneRange) {
    PsnRanges ranges;
    ranges.add(5, 6);
    ranges.add(7, 8);
    EXPECT_EQ(ranges.first_missing(5), 6U);
    ranges.add(6, 7);
    EXPECT_EQ(ranges.first_missing(5), 8U);
    EXPECT_EQ(ranges.count(), 3U);
}

TEST(PsnRanges, GapsAreWhatIsMissing) {
    PsnRanges ranges;
    ranges.add(3, 5);
    ranges.add(8, 9);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> gaps;
    ranges.for_each_gap(
        0, 12, [&](std::uint32_t first, std::uint32_t end) { gaps.emplace_back(first, end); });
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted{{0, 3}, {5, 8}, {9, 12}};
    EXPECT_EQ(gaps, wanted);
}

TEST(PsnRanges, IsASetOfNumbers) {
    Prng prng(1);
    PsnRanges ranges;
    std::set<std::uint32_t> model;
    for (int i = 0; i < 20'000; ++i) {
        const auto first = static_cast<std::uint32_t>(prng.below(200));
        switch (prng.below(6)) {
            case 0:
                if (!model.empty()) {
                    EXPECT_EQ(ranges.take_first(), *model.begin());
                    model.erase(model.begin());
                }
                break;
            case 1:
                ranges.drop_below(first / 4);
                model.erase(model.begin(), model.lower_bound(first / 4));
                break;
            default: {
                const auto end = first + 1 + static_cast<std::uint32_t>(prng.below(4));
                ranges.add(first, end);
                for (std::uint32_t psn = first; psn < end; ++psn) {
                    model.insert(psn);
                }
            }
        }
        ASSERT_EQ(ranges.count(), model.size());
        ASSERT_EQ(ranges.contains(first), model.contains(first));
        std::uint32_t missing = first;
        while (model.contains(missing)) {
            ++missing;
        }
        ASSERT_EQ(ranges.first_missing(first), missing);
    }
}

}  // namespace
}  // namespace softib::net
