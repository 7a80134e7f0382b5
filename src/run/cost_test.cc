// SPDX-License-Identifier: BSD-2-Clause
#include "run/cost.h"

#include <gtest/gtest.h>

#include "run/execute.h"
#include "run/make.h"

namespace softib::run {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

/// Refuses everything, and remembers what it was asked.
class Refuser : public Watch {
  public:
    std::expected<void, std::string> accept(const Cost& cost) override {
        asked.push_back(cost);
        return std::unexpected("too much");
    }
    std::vector<Cost> asked;
};

Run run_of(const Flags& more) {
    Flags flags{{"topology", "fat-tree"}, {"hosts", "16"}, {"radix", "4"}, {"size", "1MB"}};
    flags.insert(flags.end(), more.begin(), more.end());
    auto run = make_run({.flags = flags});
    EXPECT_TRUE(run) << run.error().text;
    return *std::move(run);
}

Cost cost_of_run(const Flags& more) {
    Refuser refuser;
    const auto outcome = execute(run_of(more), refuser);
    EXPECT_EQ(outcome.error(), "too much") << "nothing was simulated";
    EXPECT_EQ(refuser.asked.size(), 1U) << "asked once, for all of it";
    return refuser.asked.front();
}

TEST(Cost, IsAskedForBeforeAnythingIsSimulatedAndGrowsWithTheWork) {
    const Cost one = cost_of_run({});
    EXPECT_GT(one.seconds, 0);
    EXPECT_NEAR(cost_of_run({{"size", "100MB"}}).seconds / one.seconds, 100, 5);
    EXPECT_NEAR(cost_of_run({{"compare", "ib,ib+adaptive,roce"}}).seconds / one.seconds, 3, 0.1);
    EXPECT_NEAR(cost_of_run({{"whatif", "true"}, {"fail_link", "leaf0:3"}}).seconds / one.seconds,
                2, 0.1);
    EXPECT_NEAR(cost_of_run({{"threads", "2"}}).seconds / one.seconds, 0.5, 0.1);
    EXPECT_EQ(cost_of_run({{"model", "flow"}}).seconds, 0) << "not known";
    const Cost many = cost_of_run({{"repetitions", "1000000"}, {"size", "1kB"}});
    EXPECT_GT(many.bytes, 16e6 * 100) << "a record for each message";
    EXPECT_LT(cost_of_run({{"repetitions", "1000000"}, {"size", "1kB"}, {"until", "1us"}}).bytes,
              many.bytes / 10)
        << "the run ends before";
}

TEST(Cost, IsNotAskedForIfTheUserWantsItWhateverItTakes) {
    Refuser refuser;
    EXPECT_TRUE(execute(run_of({{"yes", "true"}}), refuser));
    EXPECT_TRUE(refuser.asked.empty());
}

TEST(Cost, IsToldInHours) {
    EXPECT_EQ(to_text({.bytes = 84.0 * (1 << 30), .seconds = 3 * 3600.0}),
              "84 GiB and about 3 hours");
    EXPECT_EQ(to_text({.bytes = 5, .seconds = 90 * 60}), "less than 1 GiB and about 90 minutes");
    EXPECT_EQ(to_text({.bytes = 4.0 * (1 << 30)}), "4 GiB");
}

TEST(Cost, OfAMeasuredRunIsRight) {
    // Within a factor of three, on figures that differ from those that the estimate was made of.
    const auto run = run_of({{"hosts", "128"}, {"radix", "8"}, {"yes", "true"}});
    Refuser asked;
    auto asks = run;
    asks.place.any_cost = false;
    EXPECT_FALSE(execute(asks, asked));
    Watch watch;
    const auto outcome = execute(run, watch);
    ASSERT_TRUE(outcome && *outcome);
    const auto& report = std::get<Report>(**outcome);
    const double hops = static_cast<double>(report.results.stats.hops);
    const double estimated = asked.asked.front().seconds * 8e6;
    EXPECT_GT(estimated, hops / 3);
    EXPECT_LT(estimated, hops * 3);
}

TEST(Cost, APointOfASweepWithoutMemoryFailsWithASentence) {
    EXPECT_TRUE(fits_memory({.bytes = 1}));
    EXPECT_FALSE(fits_memory({.bytes = 1e18}));
    const auto run =
        make_run({.text = "seeds = 1\n[fabric]\ntopology = \"fat-tree\"\nhosts = 40000\n"
                          "radix = 64\n[[traffic]]\npattern = \"all-to-all\"\n"});
    ASSERT_TRUE(run) << run.error().text;
    Watch watch;
    const auto outcome = execute(*run, watch);
    ASSERT_TRUE(outcome) << outcome.error();
    const PointRow& row = std::get<SweepReport>(**outcome).rows.at(0);
    ASSERT_TRUE(row.outcome && row.outcome->failed);
    EXPECT_NE(row.outcome->error.find("more memory than is free: take fewer hosts"),
              std::string::npos)
        << row.outcome->error;
}

}  // namespace
}  // namespace softib::run
