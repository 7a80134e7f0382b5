// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/rates.h"

#include <gtest/gtest.h>

#include "telemetry/test_fabric.h"

namespace softib::telemetry {
namespace {

class Rates : public testing::Test {
  protected:
    std::shared_ptr<const Inventory> inventory_ =
        std::make_shared<const Inventory>(test_inventory());
    Snapshot before_ = test_snapshot(1, 0, inventory_);
    Snapshot now_ = test_snapshot(2, 2, inventory_);
    std::vector<PortRate> rates() {
        return rates_between(*inventory_, before_.sample, now_.sample);
    }
};

TEST_F(Rates, WordsAreBytesPerSecond) {
    before_.sample.counts[0].xmit_words = 1000;
    now_.sample.counts[0].xmit_words = 3000;
    EXPECT_FLOAT_EQ(rates()[0].xmit_bytes, 4000);
    EXPECT_FLOAT_EQ(rates()[1].xmit_bytes, 0);
}

TEST_F(Rates, TicksOfWaitingAreAShareOfTime) {
    // 32 bits at 400 Gbit/s take 80 ps: half of two seconds.
    now_.sample.counts[2].xmit_wait = 12'500'000'000;
    EXPECT_NEAR(rates()[2].wait_share, 0.5, 1e-4);
}

TEST_F(Rates, ACounterThatWentBackCountsFromZero) {
    before_.sample.counts[0].rcv_packets = 1'000'000;
    now_.sample.counts[0].rcv_packets = 10;
    EXPECT_FLOAT_EQ(rates()[0].rcv_packets, 5);
}

TEST_F(Rates, APortThatDidNotAnswerHasNone) {
    now_.sample.counts[0].xmit_words = 3000;
    now_.sample.fresh[0] = 0;
    EXPECT_FLOAT_EQ(rates()[0].xmit_bytes, 0);
}

TEST_F(Rates, ErrorsOfAllKindsAreAddedUp) {
    now_.sample.counts[3].symbol_errors = 4;
    now_.sample.counts[3].xmit_discards = 2;
    EXPECT_FLOAT_EQ(rates()[3].errors, 3);
}

TEST_F(Rates, APortIsNotBlamedForPacketsThatAnotherOneBroke) {
    now_.sample.counts[3].rcv_remote_physical_errors = 4;
    EXPECT_FLOAT_EQ(rates()[3].errors, 0);
}

TEST_F(Rates, LoadIsThatOfTheBusierDirection) {
    EXPECT_FLOAT_EQ(load_of(inventory_->ports[0], {.xmit_bytes = 5e9F, .rcv_bytes = 25e9F}), 0.5F);
}

}  // namespace
}  // namespace softib::telemetry
