// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/collector.h"

#include <gtest/gtest.h>

#include "telemetry/clocks.h"
#include "telemetry/test_fabric.h"

namespace softib::telemetry {
namespace {

class CollectorTest : public testing::Test {
  protected:
    CollectorTest() {
        auto source = std::make_unique<TestSource>();
        source_ = source.get();
        collector_ = std::make_unique<Collector>(std::move(source), built_in_rules());
    }
    Reading reading(std::uint64_t seconds) {
        return {inventory_, test_snapshot(1, seconds, inventory_).sample, {}};
    }

    std::shared_ptr<const Inventory> inventory_ =
        std::make_shared<const Inventory>(test_inventory());
    TestSource* source_ = nullptr;
    std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, AQuickSourceIsReadForWhoeverAsks) {
    source_->next = reading(0);
    collector_->step();
    source_->next = reading(1);
    source_->next->sample.counts[0].xmit_words = 5;
    EXPECT_EQ(collector_->fresh()->sample.counts[0].xmit_words, 0U) << "a slow one is not";
    source_->pace_now = Pace::kQuick;
    EXPECT_EQ(collector_->fresh()->sample.counts[0].xmit_words, 5U);
    EXPECT_EQ(collector_->snapshot()->sample.counts[0].xmit_words, 0U)
        << "history and events go on from step to step";
}

TEST_F(CollectorTest, QuestionsThatComeTogetherShareAReading) {
    source_->pace_now = Pace::kQuick;
    source_->next = reading(0);
    source_->next->sample.time_ns = monotonic_ns();
    collector_->step();
    EXPECT_EQ(collector_->fresh(), collector_->snapshot());
    EXPECT_EQ(source_->readings, 1);
}

TEST_F(CollectorTest, NoticesBetweenTwoStepsAreNotLost) {
    source_->pace_now = Pace::kQuick;
    source_->next = reading(0);
    collector_->step();
    source_->next = reading(1);
    source_->next->notices.push_back({.kind = Notice::kTrap,
                                      .trap = 128,
                                      .lid = Lid{3},
                                      .guid = Guid{0x30},
                                      .time_us = 1,
                                      .text = "Trap 128"});
    collector_->fresh();
    const std::size_t before = collector_->events().size();
    source_->next = reading(2);
    collector_->step();
    EXPECT_EQ(collector_->events().size(), before + 1);
}

TEST_F(CollectorTest, AClockThatIsSetBackIsToldAndRatesStayRight) {
    source_->next = reading(0);
    collector_->step();
    source_->next = reading(1);
    source_->next->sample.wall_us -= 3600LL * 1'000'000;
    source_->next->sample.counts[0].xmit_words = 1000;
    const auto snapshot = collector_->step();
    EXPECT_FLOAT_EQ(snapshot->rates[0].xmit_bytes, 4000);
    const auto events = collector_->events();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().kind, "clock_set");
    EXPECT_NE(events.back().text.find("back by 3600.0 s"), std::string::npos);
}

}  // namespace
}  // namespace softib::telemetry
