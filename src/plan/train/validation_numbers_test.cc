// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <map>

#include "core/base/test_effort.h"
#include "plan/validation.h"

namespace softib::plan {
namespace {

TEST(TrainingRows, HoldUnlessTheyAreKnownMisses) {
    for (const ValidationRow& row : sample(training_rows(), 4)) {
        SCOPED_TRACE(row.id + ": " + row.claim);
        const double ours = row.ours();
        EXPECT_EQ(holds(row, ours), !row.known_miss)
            << ours << " instead of " << row.expected << " " << row.unit;
        EXPECT_FALSE(row.source.empty());
        EXPECT_TRUE(!row.known_miss || !row.note.empty());
    }
}

TEST(TrainingRows, EachConstantIsFittedOnOneRowAtMost) {
    std::map<std::string, int> fits;
    for (const ValidationRow& row : training_rows()) {
        if (row.fitted) {
            EXPECT_FALSE(row.note.empty());
            EXPECT_EQ(++fits[row.note], 1) << row.note;
        }
    }
}

}  // namespace
}  // namespace softib::plan
