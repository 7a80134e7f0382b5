// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/base/prng.h"

namespace softib::net {
namespace {

constexpr int kWake = static_cast<int>(EventKind::kWake);
using Seen = std::tuple<TimePs, std::uint32_t, int>;

/// Takes all events, and for each of the first 5,000 pushes a later one, some of them far off.
std::vector<Seen> drain(unsigned width, std::uint64_t seed) {
    EventQueue queue(width, 21);
    Prng prng(seed);
    std::vector<Seen> seen;
    for (std::uint32_t i = 0; i < 200; ++i) {
        queue.push(prng.below(3'000'000), i, EventKind::kWake);
    }
    std::uint32_t link = 1000;
    while (queue.due(kNever)) {
        const Event event = queue.pop();
        seen.emplace_back(queue.now(), event.link(), static_cast<int>(event.kind()));
        if (seen.size() < 5000) {
            // What is pushed depends on the event alone, not on the order of handling.
            Prng own(seed ^ event.key);
            constexpr TimePs kDelays[] = {0, 1, 900, 80'000, 700'000, 5'000'000, 6'000'000'000};
            queue.push(queue.now() + kDelays[own.below(7)], link++, EventKind::kArrival);
        }
    }
    EXPECT_TRUE(queue.empty());
    return seen;
}

TEST(EventQueue, GivesEventsByTimeThenLinkThenKind) {
    EventQueue queue(10, 21);
    queue.push(5000, 7, EventKind::kWake);
    queue.push(5000, 7, EventKind::kArrival);
    queue.push(5000, 3, EventKind::kWake);
    queue.push(4999, 9, EventKind::kWake);
    std::vector<Seen> seen;
    while (queue.due(kNever)) {
        const Event event = queue.pop();
        seen.emplace_back(queue.now(), event.link(), static_cast<int>(event.kind()));
    }
    EXPECT_EQ(seen, (std::vector<Seen>{
                        {4999, 9, kWake}, {5000, 3, kWake}, {5000, 7, 0}, {5000, 7, kWake}}));
}

TEST(EventQueue, TimersOfOnePortAndMomentComeByNumber) {
    for (const bool reversed : {false, true}) {
        EventQueue queue(10, 21);
        for (std::uint32_t i = 0; i < 40; ++i) {
            queue.push(5000, 7, EventKind::kTimer, kNone, reversed ? 39 - i : i);
        }
        for (std::uint32_t i = 0; i < 40; ++i) {
            ASSERT_TRUE(queue.due(kNever));
            EXPECT_EQ(queue.pop().extra, i);
        }
    }
}

TEST(EventQueue, WhatIsPushedIntoTheBucketAtHandTakesItsPlace) {
    EventQueue queue(12, 21);
    for (std::uint32_t link = 0; link < 40; ++link) {
        queue.push(4096 + link * 10, link, EventKind::kWake);
    }
    std::vector<Seen> seen;
    while (queue.due(kNever)) {
        const Event event = queue.pop();
        seen.emplace_back(queue.now(), event.link(), static_cast<int>(event.kind()));
        if (event.link() == 5) {
            queue.push(queue.now() + 55, 100, EventKind::kWake);
            queue.push(queue.now() + 20, 100, EventKind::kWake);
            queue.push(queue.now(), 3,
                       EventKind::kWake);  // It comes next, though it is pushed late.
            queue.push(queue.now() + 900, 100, EventKind::kWake);
            EXPECT_EQ(queue.earliest(), queue.now());
        }
    }
    ASSERT_EQ(seen.size(), 44U);
    EXPECT_EQ(seen[6], (Seen{4146, 3, kWake}));
    EXPECT_EQ(seen[9], (Seen{4166, 100, kWake}));
    EXPECT_EQ(seen[13], (Seen{4201, 100, kWake}));
    EXPECT_EQ(seen[43], (Seen{5046, 100, kWake}));
}

TEST(EventQueue, TimesNeverGoBackAndTheWidthOfBucketsDoesNotShow) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const std::vector<Seen> first = drain(4, seed);
        EXPECT_TRUE(std::ranges::is_sorted(
            first, [](const Seen& a, const Seen& b) { return std::get<0>(a) < std::get<0>(b); }));
        EXPECT_GT(std::get<0>(first.back()), 6'000'000'000U);
        for (const unsigned width : {6U, 9U, 12U, 15U}) {
            EXPECT_EQ(drain(width, seed), first) << "width " << width;
        }
    }
}

TEST(EventQueue, NothingIsDueBeforeItsTime) {
    EventQueue queue;
    queue.push(100'000, 1, EventKind::kWake);
    EXPECT_FALSE(queue.due(99'999));
    queue.set_now(99'999);
    queue.push(99'999, 2, EventKind::kWake);
    EXPECT_TRUE(queue.due(99'999));
    EXPECT_EQ(queue.pop().link(), 2U);
    EXPECT_TRUE(queue.due(100'000));
    EXPECT_EQ(queue.pop().link(), 1U);
}

TEST(EventQueue, GivesMemoryBackOnceNothingIsPending) {
    EventQueue queue;
    const std::size_t before = queue.bytes();
    constexpr TimePs kFarPs = 1'000'000'000;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        queue.push(1'000'000, i, EventKind::kWake);
        queue.push(kFarPs, i, EventKind::kWake);
    }
    const std::size_t full = queue.bytes();
    EXPECT_GT(full, before);
    queue.give_back();
    EXPECT_EQ(queue.bytes(), full) << "something is pending";
    for (std::uint32_t i = 0; i < 200'000; ++i) {
        ASSERT_TRUE(queue.due(kFarPs));
        EXPECT_EQ(queue.pop().link(), i % 100'000);
    }
    queue.give_back();
    EXPECT_EQ(queue.bytes(), before);
    queue.push(kFarPs + 1, 7, EventKind::kWake);
    ASSERT_TRUE(queue.due(kFarPs + 1));
    EXPECT_EQ(queue.pop().link(), 7U);
}

}  // namespace
}  // namespace softib::net
