// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/fair_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"

namespace softib::net::flow {
namespace {

/// Seeds with which each property is tried on random flows.
constexpr std::uint64_t kSeeds = effort(40, 4);

using FlowId = FairRates::FlowId;

struct TestFlow {
    std::vector<Hop> way;
    std::uint32_t weight = 0;
};
using TestFlows = std::map<FlowId, TestFlow>;

std::vector<Hop> over(std::initializer_list<std::uint32_t> links) {
    std::vector<Hop> way;
    for (const std::uint32_t link : links) {
        way.push_back({link, kWhole});
    }
    return way;
}

bool takes(const std::vector<Hop>& way, std::uint32_t link) {
    return std::ranges::find(way, link, &Hop::link) != way.end();
}

/// Adds a flow of weight 1.
FlowId start(FairRates& rates, const std::vector<Hop>& way) {
    const FlowId flow = rates.add(way);
    rates.set_weight(flow, 1);
    return flow;
}

/// Returns the rates by the definition, word by word: all flows from scratch, with a look at all
/// links each time.
std::map<FlowId, Rate> rates_by_definition(const std::vector<Rate>& capacities,
                                           const TestFlows& flows) {
    std::map<FlowId, Rate> settled;
    for (;;) {
        Rate lowest = UINT64_MAX;
        std::uint32_t chosen = kNone;
        for (std::uint32_t link = 0; link < capacities.size(); ++link) {
            std::uint64_t left = capacities[link] * kWhole;
            std::uint64_t weight = 0;
            for (const auto& [id, flow] : flows) {
                for (const Hop& hop : flow.way) {
                    if (hop.link != link) {
                        continue;
                    }
                    if (settled.contains(id)) {
                        left -= std::uint64_t{flow.weight} * hop.share * settled[id];
                    } else {
                        weight += std::uint64_t{flow.weight} * hop.share;
                    }
                }
            }
            if (weight != 0 && left / weight < lowest) {
                lowest = left / weight;
                chosen = link;
            }
        }
        if (chosen == kNone) {
            return settled;
        }
        for (const auto& [id, flow] : flows) {
            if (flow.weight != 0 && !settled.contains(id) && takes(flow.way, chosen)) {
                settled[id] = lowest;
            }
        }
    }
}

TEST(FairRates, ALoneFlowHasTheNarrowestLinkOfItsWay) {
    FairRates rates({100, 40, 70});
    const FlowId flow = rates.add(over({0, 1, 2}));
    EXPECT_TRUE(rates.set_weight(flow, 1));
    EXPECT_TRUE(rates.solve(0).empty());
    EXPECT_EQ(rates.rate(flow), 40U);
    EXPECT_EQ(rates.bound_by(flow), 1U);
}

TEST(FairRates, WhatOneCannotUseIsForTheOthers) {
    // The textbook case: three flows over link 0, one of them held back by link 1.
    FairRates rates({90, 20});
    const FlowId held = start(rates, over({0, 1}));
    const FlowId other = start(rates, over({1}));
    const FlowId a = start(rates, over({0}));
    const FlowId b = start(rates, over({0}));
    rates.solve(0);
    EXPECT_EQ(rates.rate(held), 10U);
    EXPECT_EQ(rates.rate(other), 10U);
    EXPECT_EQ(rates.rate(a), 40U);
    EXPECT_EQ(rates.rate(b), 40U);
    rates.set_weight(other, 0);
    rates.solve(0);
    EXPECT_EQ(rates.rate(held), 20U);
    EXPECT_EQ(rates.rate(a), 35U);
}

TEST(FairRates, AFlowOfWeightThreeIsThreeFlows) {
    FairRates rates({80});
    const FlowId heavy = rates.add(over({0}));
    rates.set_weight(heavy, 3);
    const FlowId light = start(rates, over({0}));
    rates.solve(0);
    EXPECT_EQ(rates.rate(heavy), 20U);
    EXPECT_EQ(rates.rate(light), 20U);
}

TEST(FairRates, AFlowThatIsSplitLoadsEachLinkWithItsShare) {
    FairRates rates({100, 30, 30});
    const FlowId split = start(rates, {{0, kWhole}, {1, kWhole / 2}, {2, kWhole / 2}});
    rates.solve(0);
    EXPECT_EQ(rates.rate(split), 60U);
    const FlowId whole = start(rates, over({1}));
    rates.solve(0);
    EXPECT_EQ(rates.rate(whole), 20U);
    EXPECT_EQ(rates.rate(split), 20U);
}

TEST(FairRates, SolvesOnlyForWhatAChangeCanReach) {
    FairRates rates(std::vector<Rate>(100, 1000));
    std::vector<FlowId> flows;
    for (std::uint32_t link = 0; link < 100; ++link) {
        flows.push_back(start(rates, over({link})));
        flows.push_back(start(rates, over({link})));
    }
    rates.solve(0);
    const std::uint64_t before = rates.settled();
    rates.set_weight(flows[10], 0);
    const auto changed = rates.solve(0);
    EXPECT_EQ(std::vector(changed.begin(), changed.end()), std::vector({flows[11]}));
    EXPECT_EQ(rates.rate(flows[11]), 1000U);
    EXPECT_EQ(rates.settled(), before + 1);
}

TEST(FairRates, ALinkIsFullWhileItBindsFlows) {
    FairRates rates({100, 10});
    const FlowId a = start(rates, over({0}));
    const FlowId b = start(rates, over({0}));
    rates.solve(1000);
    EXPECT_EQ(rates.full_ps(0, 1500), 500U);
    rates.set_weight(a, 0);
    rates.set_weight(b, 0);
    rates.solve(3000);
    EXPECT_EQ(rates.full_ps(0, 9000), 2000U);
    EXPECT_EQ(rates.full_ps(1, 9000), 0U);
    rates.set_weight(a, 1);
    rates.solve(10'000);
    EXPECT_EQ(rates.full_ps(0, 10'100), 2100U);
}

TEST(FairRates, ALinkThatHasOneUserLessIsFreeForTheNext) {
    FairRates rates({100});
    const FlowId first = start(rates, over({0}));
    rates.solve(0);
    rates.set_weight(first, 0);
    rates.solve(0);
    rates.remove(first);
    const FlowId second = start(rates, over({0}));
    rates.solve(0);
    EXPECT_EQ(second, first);
    EXPECT_EQ(rates.rate(second), 100U);
}

/// Flows that come, change and go. After each change all rates must be those of the definition, and
/// an observer that only hears of changes must know them all.
class RandomChanges {
  public:
    struct Kind {
        bool split = false;  ///< Ways are trees, not single paths.
        bool equal = false;  ///< All links are alike, so that there are ties.
    };
    static constexpr Rate kCapacity = rate_of(1280);

    RandomChanges(std::uint64_t seed, std::uint32_t links, const Kind& kind)
        : prng_(seed), kind_(kind) {
        for (std::uint32_t i = 0; i < links; ++i) {
            capacities_.push_back(kCapacity + (kind.equal ? 0 : prng_.below(kCapacity)));
        }
        rates_.emplace_back(capacities_);
    }
    void run(std::uint32_t changes, std::uint32_t flows_max) {
        for (std::uint32_t i = 0; i < changes; ++i) {
            for (std::uint64_t more = 1 + prng_.below(3); more != 0; --more) {
                change(flows_max);
            }
            for (const FlowId flow : rates().solve(0)) {
                heard_[flow] = rates().rate(flow);
            }
            check(i);
            if (testing::Test::HasFailure()) {
                return;
            }
        }
    }

  private:
    FairRates& rates() { return rates_.front(); }
    std::vector<Hop> random_way() {
        std::vector<Hop> way;
        const std::uint64_t length = 1 + prng_.below(4);
        while (way.size() < length) {
            const auto link = static_cast<std::uint32_t>(prng_.below(capacities_.size()));
            if (!takes(way, link)) {
                const bool part = kind_.split && prng_.chance(1, 2);
                way.push_back({link, part ? kWhole / 3 : kWhole});
            }
        }
        return way;
    }
    void change(std::uint32_t flows_max) {
        if (flows_.size() < flows_max && prng_.chance(1, 2)) {
            const std::vector<Hop> way = random_way();
            const FlowId id = rates().add(way);
            const auto weight = static_cast<std::uint32_t>(1 + prng_.below(3));
            flows_[id] = {way, weight};
            set_weight(id, weight);
            return;
        }
        if (flows_.empty()) {
            return;
        }
        const auto place = static_cast<std::ptrdiff_t>(prng_.below(flows_.size()));
        const auto chosen = std::next(flows_.begin(), place);
        if (chosen->second.weight == 0 && !rates().changed(chosen->first) && prng_.chance(1, 2)) {
            rates().remove(chosen->first);
            flows_.erase(chosen);
            return;
        }
        chosen->second.weight = static_cast<std::uint32_t>(prng_.below(4));
        set_weight(chosen->first, chosen->second.weight);
    }
    void set_weight(FlowId flow, std::uint32_t weight) {
        if (rates().set_weight(flow, weight)) {
            heard_[flow] = rates().rate(flow);
        }
    }
    void check(std::uint32_t step) {
        for (const auto& [flow, rate] : rates_by_definition(capacities_, flows_)) {
            const Rate slack = kind_.equal ? 1000 : 0;
            EXPECT_LE(rates().rate(flow), rate + slack) << "flow " << flow << " after " << step;
            EXPECT_GE(rates().rate(flow) + slack, rate) << "flow " << flow << " after " << step;
            EXPECT_EQ(heard_[flow], rates().rate(flow))
                << "flow " << flow << " after change " << step;
        }
    }

    Prng prng_;
    Kind kind_;
    std::vector<Rate> capacities_;
    std::vector<FairRates> rates_;
    TestFlows flows_;
    std::map<FlowId, Rate> heard_;
};

TEST(FairRates, ChangesGiveWhatSolvingFromScratchGives) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        RandomChanges(seed, 40, {}).run(100, 60);
        RandomChanges(seed, 8, {}).run(50, 20);
    }
}

TEST(FairRates, TheSameWhereFlowsAreSplit) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        RandomChanges(seed, 40, {.split = true}).run(100, 60);
    }
}

TEST(FairRates, TheSameButForRoundingWhereLinksAreAlike) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        RandomChanges(seed, 40, {.equal = true}).run(100, 60);
    }
}

TEST(FairRates, EveryFlowHasALinkThatIsFullAndWhereNobodyHasMore) {
    Prng prng(7);
    std::vector<Rate> capacities(30, 1'000'000'000);
    FairRates rates(capacities);
    std::vector<std::vector<Hop>> ways;
    for (std::uint32_t i = 0; i < 100; ++i) {
        const auto a = static_cast<std::uint32_t>(prng.below(10));
        const auto b = static_cast<std::uint32_t>(10 + prng.below(10));
        const auto c = static_cast<std::uint32_t>(20 + prng.below(10));
        ways.push_back(over({a, b, c}));
        start(rates, ways.back());
    }
    rates.solve(0);
    std::vector<Rate> used(30);
    std::vector<Rate> highest(30);
    for (FlowId flow = 0; flow < ways.size(); ++flow) {
        for (const Hop& hop : ways[flow]) {
            used[hop.link] += rates.rate(flow);
            highest[hop.link] = std::max(highest[hop.link], rates.rate(flow));
        }
    }
    for (FlowId flow = 0; flow < ways.size(); ++flow) {
        const std::uint32_t link = rates.bound_by(flow);
        EXPECT_TRUE(takes(ways[flow], link));
        EXPECT_LE(used[link], capacities[link]);
        EXPECT_GT(used[link] + ways.size(), capacities[link]);
        EXPECT_LE(highest[link], rates.rate(flow) + ways.size());
    }
}

}  // namespace
}  // namespace softib::net::flow
