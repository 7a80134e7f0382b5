// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/measured.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/cluster/presets.h"
#include "plan/train/communication.h"
#include "plan/train/memory.h"
#include "plan/train/step.h"

namespace softib::plan {
namespace {

TEST(MeasuredSteps, EachFileNamesModelsAndClustersThatExistAndMappingsThatWork) {
    std::set<std::string> ids;
    for (const MeasuredStep& step : measured_steps()) {
        SCOPED_TRACE(step.id);
        const StepCase made = case_of(step);
        EXPECT_EQ(find_fault(made.model, made.cluster, made.mapping), std::nullopt);
        EXPECT_GT(made.seconds, 0);
        EXPECT_TRUE(ids.insert(step.id).second);
        EXPECT_FALSE(step.source.empty());
        EXPECT_NEAR(measured_value(step, made.seconds), step.value, 1e-9 * step.value);
    }
}

TEST(MeasuredSteps, TheConstantsOfRatesFitAllSteps) {
    const std::vector<double> fitted = fit_constants();
    for (std::size_t i = 0; i < fitted.size(); ++i) {
        const FittedConstant& constant = fitted_constants()[i];
        for (Rates rates : rates_presets()) {
            if (constant.of_rates(rates)) {
                EXPECT_NEAR(constant.of(rates) / fitted[i], 1, 0.01) << constant.name << rates.name;
            }
        }
    }
}

TEST(MeasuredSteps, ErrorsWithoutEachStepAreThoseThatIntervalsStandOn) {
    const std::vector<StepError> errors = step_errors();
    ASSERT_EQ(errors.size(), known_errors().size());
    for (std::size_t i = 0; i < errors.size(); ++i) {
        EXPECT_EQ(known_errors()[i].id, errors[i].step->id);
        EXPECT_NEAR(known_errors()[i].leave_one_out, errors[i].leave_one_out, 0.002)
            << errors[i].step->id << ": softib plan validate --errors > src/plan/train/errors.toml";
    }
    // What docs/validation.md says of each kind.
    const std::vector<ErrorsOfKind> kinds = by_kind(errors);
    EXPECT_LT(kinds[0].median, 0.05);
    EXPECT_LT(kinds[0].percentile90, 0.12);
    EXPECT_LT(kinds[1].median, 0.05);
    EXPECT_LT(kinds[1].percentile90, 0.15);
    EXPECT_LT(kinds[2].median, 0.12);
    EXPECT_LT(kinds[2].percentile90, 0.25);
}

TEST(MeasuredSteps, NoneIsRefusedForItsMappingOrItsMemory) {
    for (const MeasuredStep& step : measured_steps()) {
        const StepCase made = case_of(step);
        EXPECT_EQ(find_fault(made.model, made.cluster, made.mapping), std::nullopt) << step.id;
        EXPECT_TRUE(memory_use(made.model, made.cluster.gpu, made.mapping).fits()) << step.id;
    }
}

TEST(MeasuredSteps, RatiosOfPairsAreThoseOfTheirSteps) {
    const std::vector<StepError> errors = step_errors();
    const std::vector<StepRatio> ratios = step_ratios(errors);
    ASSERT_EQ(ratios.size(), step_pairs().size());
    const auto first =
        std::ranges::find(ratios, "S43b", [](const StepRatio& ratio) { return ratio.pair->step; });
    EXPECT_NEAR(first->measured, 0.496 / 0.456, 1e-9);
    // Most are met: docs/validation.md names the others.
    EXPECT_GE(std::ranges::count_if(ratios, &StepRatio::met), 9);
}

TEST(MeasuredSteps, EthernetTakesAsLongAsInfiniBandOn64Gpus) {
    const auto step = std::ranges::find(measured_steps(), "S46", &MeasuredStep::id);
    StepCase made = case_of(*step);
    const auto seconds = [&made] {
        return time_step(made.model, made.cluster, made.mapping, LinkCommunication(made.cluster))
            .seconds;
    };
    const double ethernet = seconds();
    made.cluster.fabric.link_layer = LinkLayer::kInfiniBand;
    EXPECT_NEAR(ethernet / seconds(), 1, 0.03);
}

TEST(MeasuredSteps, AConstantIsFittedOnSeveralSteps) {
    for (const FittedConstant& constant : fitted_constants()) {
        const auto used = std::ranges::count_if(measured_steps(), [&](const MeasuredStep& step) {
            return constant.uses(step, case_of(step));
        });
        EXPECT_GE(used, 4) << constant.name;
    }
}

TEST(MeasuredSteps, AnIntervalIsWiderWhereStepsAreFurtherOff) {
    const StepInterval dense = interval_of(10, {.experts = false, .operand_bytes = 1});
    EXPECT_LT(dense.low, 10);
    EXPECT_GT(dense.high, 10);
    EXPECT_GE(dense.steps, 5U);
    EXPECT_EQ(dense.kind, "dense, 8 bits");
    const StepInterval brief =
        interval_of(10, {.experts = false, .operand_bytes = 1, .short_step = true});
    EXPECT_GT(brief.high, dense.high);
    // No FP4 step of experts was measured; then all of experts count.
    const StepInterval experts = interval_of(10, {.experts = true, .operand_bytes = 0.5});
    EXPECT_EQ(experts.kind, "mixture of experts");
    EXPECT_EQ(experts.steps, 9U);
}

}  // namespace
}  // namespace softib::plan
