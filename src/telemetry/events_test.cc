// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/events.h"

#include <gtest/gtest.h>

namespace softib::telemetry {
namespace {

EventBook::Report report(const char* kind, const char* object, bool alarm = false) {
    return {Severity::kWarning, kind, "test", object, "text", alarm};
}

TEST(EventBook, TheSameWithinAMinuteIsOneEventWithACount) {
    EventBook book;
    const auto first = book.raise(report("link_down", "sw0:1"), 1'000'000);
    EXPECT_EQ(book.raise(report("link_down", "sw0:1"), 30'000'000), first);
    EXPECT_NE(book.raise(report("link_down", "sw0:2"), 30'000'000), first);
    ASSERT_EQ(book.events().size(), 2U);
    EXPECT_EQ(book.events()[0].count, 2U);
    EXPECT_EQ(book.events()[0].first_us, 1'000'000);
    EXPECT_EQ(book.events()[0].last_us, 30'000'000);
}

TEST(EventBook, TheSameAfterAMinuteIsANewEvent) {
    EventBook book;
    book.raise(report("link_up", "sw0:1"), 0);
    book.raise(report("link_up", "sw0:1"), EventBook::kSameForUs);
    EXPECT_EQ(book.events().size(), 2U);
}

TEST(EventBook, AnAlarmIsActiveUntilItIsCleared) {
    EventBook book;
    book.raise(report("congestion", "sw0:1", true), 0);
    EXPECT_TRUE(book.is_active("congestion", "sw0:1"));
    EXPECT_EQ(book.alarms().size(), 1U);
    book.clear("congestion", "sw0:1", 5);
    EXPECT_TRUE(book.alarms().empty());
    EXPECT_EQ(book.events().size(), 1U);
}

TEST(EventBook, OldEventsAreForgottenAtTheBound) {
    EventBook book;
    for (std::size_t i = 0; i < EventBook::kKept + 5; ++i) {
        book.raise(report("e", std::to_string(i).c_str()), 0);
    }
    EXPECT_EQ(book.events().size(), EventBook::kKept);
    EXPECT_EQ(book.events().front().object, "5");
}

TEST(EventBook, ChangesAreFoundByRevision) {
    EventBook book;
    book.raise(report("a", "x", true), 0);
    const std::uint64_t seen = book.revision();
    book.raise(report("b", "x"), 0);
    book.clear("a", "x", 1);
    const auto changed = book.changed_since(seen);
    ASSERT_EQ(changed.size(), 2U);
    EXPECT_FALSE(changed[0].active);
    EXPECT_EQ(changed[1].kind, "b");
}

TEST(EventBook, RestoredAlarmsAreClearedAsOwnOnes) {
    EventBook before;
    before.raise(report("link_down", "sw0:1", true), 0);
    EventBook after;
    after.restore({before.events().begin(), before.events().end()});
    after.clear("link_down", "sw0:1", 1);
    EXPECT_TRUE(after.alarms().empty());
    EXPECT_GT(after.raise(report("x", "y"), 2), before.events().back().id);
}

}  // namespace
}  // namespace softib::telemetry
