// SPDX-License-Identifier: BSD-2-Clause
#include "entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "entries_hold.h"

namespace softib::fuzz {

TEST(FuzzEntries, HoldOnRandomBytes) {
    expect_random_bytes_hold();
}

TEST(FuzzEntries, HoldOnBytesOfOneValue) {
    expect_bytes_of_one_value_hold();
}

TEST(FuzzEntries, HaveDifferentNames) {
    std::vector<std::string_view> names;
    std::ranges::transform(entries(), std::back_inserter(names), &Entry::name);
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_GT(names.size(), 90U);
}

}  // namespace softib::fuzz
