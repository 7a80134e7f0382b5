// SPDX-License-Identifier: BSD-2-Clause
#include "plan/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/topo/spec.h"
#include "plan/ends.h"

namespace softib::plan {
namespace {

Schedule schedule(const Traffic& traffic, std::uint32_t ends = 16, std::uint64_t seed = 1) {
    auto made = Schedule::make(traffic, ends, seed);
    EXPECT_TRUE(made) << (made ? "" : made.error());
    return *std::move(made);
}

std::vector<std::uint32_t> targets(Schedule& of) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t sender = 0; sender < of.sender_count(); ++sender) {
        all.push_back(of.next(sender).to);
    }
    return all;
}

TEST(Traffic, APermutationReachesEverybodyOnceAndNobodyHimself) {
    for (std::uint64_t seed = 1; seed < 50; ++seed) {
        Schedule of = schedule({.pattern = Pattern::kPermutation}, 5, seed);
        const std::vector<std::uint32_t> to = targets(of);
        EXPECT_EQ(std::set(to.begin(), to.end()).size(), 5U);
        for (std::uint32_t i = 0; i < 5; ++i) {
            EXPECT_NE(to[i], of.end_of(i)) << "seed " << seed;
        }
    }
}

TEST(Traffic, ARingTakesNoRate) {
    const auto made = Schedule::make({.pattern = Pattern::kRing, .rate = 1e9}, 4, 1);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().find("leave the rate out"), std::string::npos) << made.error();
}

TEST(Traffic, AShiftIsLessThanTheHosts) {
    Traffic traffic{.pattern = Pattern::kShift};
    for (const std::uint64_t shift : {0U, 4U, 5U, 99U}) {
        traffic.shift = static_cast<std::uint32_t>(shift);
        EXPECT_FALSE(Schedule::make(traffic, 4, 1)) << shift;
    }
    traffic.shift = 3;
    EXPECT_TRUE(Schedule::make(traffic, 4, 1));
}

TEST(Traffic, TheSeedDecides) {
    Schedule a = schedule({}, 64, 3);
    Schedule b = schedule({}, 64, 3);
    Schedule c = schedule({}, 64, 4);
    const std::vector<std::uint32_t> first = targets(a);
    EXPECT_EQ(first, targets(b));
    EXPECT_NE(first, targets(c));
}

TEST(Traffic, ABisectionPairsTheHalvesBothWays) {
    Schedule of = schedule({.pattern = Pattern::kBisection});
    ASSERT_EQ(of.sender_count(), 16U);
    std::vector<std::uint32_t> partner(16);
    for (std::uint32_t sender = 0; sender < 16; ++sender) {
        partner[of.end_of(sender)] = of.next(sender).to;
    }
    for (std::uint32_t end = 0; end < 16; ++end) {
        EXPECT_NE(partner[end], end);
        EXPECT_EQ(partner[partner[end]], end);
    }
}

TEST(Traffic, AllToAllBeginsWithTheNextOne) {
    Schedule of = schedule({.pattern = Pattern::kAllToAll, .repetitions = 2}, 4);
    EXPECT_EQ(of.messages(), 4U * 3 * 2);
    std::vector<std::uint32_t> to;
    while (of.left(1) != 0) {
        to.push_back(of.next(1).to);
    }
    EXPECT_EQ(to, (std::vector<std::uint32_t>{2, 3, 0, 2, 3, 0}));
}

TEST(Traffic, AnIncastLeavesItsTargetOut) {
    Schedule of = schedule({.pattern = Pattern::kIncast, .target = 1, .sources = 3});
    EXPECT_EQ(of.sender_count(), 3U);
    EXPECT_EQ(of.end_of(0), 0U);
    EXPECT_EQ(of.end_of(1), 2U);
    EXPECT_EQ(targets(of), (std::vector<std::uint32_t>{1, 1, 1}));
    EXPECT_FALSE(Schedule::make({.pattern = Pattern::kIncast, .sources = 16}, 16, 1));
}

TEST(Traffic, AHotspotGetsItsPart) {
    Schedule of =
        schedule({.pattern = Pattern::kHotspot, .target = 5, .hot = 0.5, .repetitions = 1000});
    std::uint32_t hot = 0;
    while (of.left(0) != 0) {
        const std::uint32_t to = of.next(0).to;
        EXPECT_NE(to, 0U);
        hot += to == 5 ? 1 : 0;
    }
    // Half of the messages go to the target, and one in fifteen of the rest.
    EXPECT_NEAR(hot, 500 + 500 / 15, 60);
}

TEST(Traffic, MessagesTakeConnectionsAtRandom) {
    Schedule of = schedule({.repetitions = 1000, .connections = 50});
    std::set<std::uint32_t> used;
    while (of.left(0) != 0) {
        used.insert(of.next(0).connection);
    }
    EXPECT_EQ(used.size(), 50U);
    EXPECT_EQ(*used.rbegin(), 49U);
}

TEST(Traffic, AnOpenLoopKeepsItsRate) {
    Schedule of = schedule({.bytes = 1'000'000, .start = 5, .repetitions = 3, .rate = 100e9});
    const TimePs first = of.next_at(2);
    EXPECT_GE(first, 5U);
    EXPECT_LT(first, 5U + 80'000'000U);
    of.next(2);
    EXPECT_EQ(of.next_at(2), first + 80'000'000U);
    EXPECT_NE(of.next_at(3), first);
}

TEST(Traffic, AGroupShiftGoesToTheSamePlaceOfTheNextGroup) {
    const auto of = Schedule::make(
        {.pattern = Pattern::kGroupShift, .group_of = {0, 0, 0, 1, 1, 2, 2, 2}}, 8, 1);
    ASSERT_TRUE(of);
    std::vector<std::uint32_t> to;
    for (std::uint32_t sender = 0; sender < of->sender_count(); ++sender) {
        EXPECT_EQ(of->end_of(sender), sender);
        to.push_back(Schedule(*of).next(sender).to);
    }
    EXPECT_EQ(to, (std::vector<std::uint32_t>{3, 4, 3, 5, 6, 0, 1, 2}));
    EXPECT_NE(Schedule::make({.pattern = Pattern::kGroupShift}, 8, 1).error().find("dragonfly"),
              std::string::npos);
}

TEST(Traffic, PairsComeFromLines) {
    const auto fabric = topo::generate({.hosts = 3});
    const Ends ends(*fabric);
    const auto find = [&](std::string_view name) { return ends.find(name); };
    const auto pairs = parse_pairs("# who\nh0 h1 2MB\n\nh1  h2\n", find);
    ASSERT_TRUE(pairs) << pairs.error();
    EXPECT_EQ(*pairs, (std::vector<Pair>{{0, 1, 2'000'000}, {1, 2, 0}}));
    EXPECT_EQ(parse_pairs("h0 h1\nh0 h7\n", find).error(),
              "2: there is no host 'h7'; the first is h0, the last h2");
    EXPECT_EQ(parse_pairs("h0\n", find).error(), "1: write a line as FROM TO [SIZE]");
    EXPECT_EQ(parse_pairs("h0 h1 x\n", find).error(),
              "1: the size must be a size as 2MB, 64KiB or 512, not \"x\"");
}

TEST(Traffic, HostsAreListedByNamesAndRanges) {
    const auto fabric = topo::generate({.hosts = 8});
    const Ends ends(*fabric);
    EXPECT_EQ(ends.find_list("h1-h3, h7").value(), (std::vector<std::uint32_t>{1, 2, 3, 7}));
    EXPECT_EQ(ends.find_list("all")->size(), 8U);
    EXPECT_FALSE(ends.find_list("h1-h9"));
    EXPECT_FALSE(ends.find_list(""));
}

TEST(Units, AreReadAsPeopleWriteThem) {
    EXPECT_EQ(parse_size("2MB").value(), 2'000'000U);
    EXPECT_EQ(parse_size("2MiB").value(), 2'097'152U);
    EXPECT_EQ(parse_size("1.5kB").value(), 1500U);
    EXPECT_EQ(parse_time("1.5us").value(), 1'500'000U);
    EXPECT_EQ(parse_rate("100Gb/s").value(), 100e9);
    EXPECT_EQ(parse_rate("12.5GB/s").value(), 100e9);
    EXPECT_EQ(parse_part("30%").value(), 0.3);
    EXPECT_FALSE(parse_part("1.2"));
    EXPECT_FALSE(parse_size("-1"));
    EXPECT_FALSE(parse_time("3"));
    EXPECT_EQ(show_time(41'300'000), "41.3 us");
    EXPECT_EQ(show_size(2'000'000), "2 MB");
    EXPECT_EQ(block_ps(400e9), 1280U);
}

}  // namespace
}  // namespace softib::plan
