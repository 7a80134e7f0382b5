// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/step.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <numeric>

#include "core/base/test_effort.h"
#include "plan/cluster/presets.h"
#include "plan/train/timeline.h"

namespace softib::plan {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

struct Job {
    Model model;
    Mapping mapping;
};

/// Jobs that use every kind of parallelism.
std::vector<Job> jobs() {
    Mapping dense;
    dense.gpus = 1024;
    dense.tp = 8;
    dense.pp = 8;
    dense.interleave = 3;
    dense.batch = 1536;
    dense.sequence = 2048;
    Mapping unfused = dense;
    unfused.attention = AttentionKernel::kUnfused;
    unfused.sequence_parallel = false;
    unfused.recompute = Recompute::kFull;
    unfused.overlap_dp = false;
    unfused.overlap_pp = false;
    unfused.zero = 0;
    Mapping sharded;
    sharded.gpus = 512;
    sharded.batch = 512;
    sharded.sequence = 8192;
    sharded.zero = 3;
    sharded.recompute = Recompute::kFull;
    Mapping context = sharded;
    context.zero = 1;
    context.tp = 8;
    context.cp = 4;
    context.pp = 4;
    context.sequence = 32'768;
    context.batch = 64;
    Mapping experts;
    experts.gpus = 2048;
    experts.pp = 16;
    experts.ep = 64;
    experts.batch = 1920;
    experts.sequence = 4096;
    experts.uneven = true;
    return {{*find_model("gpt3-175b"), dense},
            {*find_model("gpt3-175b"), unfused},
            {*find_model("llama3.1-70b"), sharded},
            {*find_model("llama3.1-70b"), context},
            {*find_model("deepseek-v3"), experts}};
}

class Steps : public testing::Test {
  protected:
    Step step(const Job& job) const {
        return time_step(job.model, cluster_, job.mapping, LinkCommunication(cluster_));
    }
    double seconds(const Job& job, const LinkRates& rates) const {
        return time_step(job.model, cluster_, job.mapping,
                         LinkCommunication(cluster_.domain_gpus(), rates))
            .seconds;
    }
    Cluster cluster_ = *find_preset("superpod-h100");
};

TEST_F(Steps, PartsSumToTheStep) {
    for (const Job& job : jobs()) {
        SCOPED_TRACE(describe(job.mapping));
        ASSERT_EQ(find_fault(job.model, cluster_, job.mapping), std::nullopt);
        const Step result = step(job);
        EXPECT_NEAR(result.parts.seconds() / result.seconds, 1, 1e-6);
        EXPECT_GT(result.mfu, 0.05);
        EXPECT_LT(result.mfu, result.hfu + 1e-12);
    }
}

TEST_F(Steps, MoreBandwidthOrLessLatencyNeverSlows) {
    const LinkRates rates = link_rates(cluster_);
    for (const Job& job : jobs()) {
        SCOPED_TRACE(describe(job.mapping));
        double last = kForever;
        for (const double factor : {0.1, 0.3, 1.0, 2.0, 8.0}) {
            LinkRates quicker = rates;
            quicker.fabric_bytes_per_s *= factor;
            const double fabric = seconds(job, quicker);
            quicker.nvlink_bytes_per_s *= factor;
            quicker.fabric_step_s /= factor;
            quicker.nvlink_step_s /= factor;
            const double all = seconds(job, quicker);
            EXPECT_LE(all, last);
            if (factor >= 1) {
                EXPECT_LE(all, fabric);
            }
            last = all;
        }
    }
}

TEST_F(Steps, WithLinksThatTakeNoTimeOnlyComputingAndBubblesRemain) {
    const LinkRates free{kForever, kForever, 0, 0, 0};
    for (const Job& job : jobs()) {
        SCOPED_TRACE(describe(job.mapping));
        const Step result = time_step(job.model, cluster_, job.mapping,
                                      LinkCommunication(cluster_.domain_gpus(), free));
        for (const double exposed : result.parts.exposed) {
            EXPECT_NEAR(exposed, 0, 1e-9);
        }
        EXPECT_LE(result.seconds, step(job).seconds);
    }
}

TEST_F(Steps, MoreMicroBatchesNeverRaiseTheBubblesShare) {
    Job job = jobs()[0];
    double last = 1;
    for (std::uint32_t rounds = 1; rounds < 10; ++rounds) {
        job.mapping.batch = job.mapping.dp() * job.mapping.pp * rounds;
        const double share = step(job).bubble_share;
        EXPECT_LE(share, last);
        last = share;
    }
}

TEST_F(Steps, TensorParallelBytesAreFourAllReducesOfALayer) {
    Job job = jobs()[1];
    job.mapping.recompute = Recompute::kNone;
    const Step result = step(job);
    const double activations = 2.0 * job.mapping.sequence * job.model.hidden;
    const double ring = 2.0 * 7 / 8 * activations;
    // Two all-reduces in each direction of a layer, and those of embedding and logits.
    const double passes = (4.0 * job.model.layers + 2) / job.mapping.pp;
    const LinkBytes& bytes = result.bytes[static_cast<std::size_t>(Dimension::kTensor)];
    EXPECT_NEAR(bytes.nvlink / (ring * passes * job.mapping.micro_batches()), 1, 1e-9);
    EXPECT_EQ(bytes.fabric, 0);
}

TEST_F(Steps, GradientsOfReplicasOnOneRailGoOverTheFabricAlone) {
    const Step result = step(jobs()[0]);
    const LinkBytes& bytes = result.bytes[static_cast<std::size_t>(Dimension::kData)];
    EXPECT_EQ(bytes.nvlink, 0);
    EXPECT_GT(bytes.fabric, 0);
}

TEST_F(Steps, OverlapNeverSlows) {
    for (Job job : jobs()) {
        SCOPED_TRACE(describe(job.mapping));
        const double as_is = step(job).seconds;
        job.mapping.overlap_dp = true;
        job.mapping.overlap_pp = true;
        job.mapping.overlap_ep = true;
        job.mapping.tp_overlap = TensorOverlap::kAll;
        EXPECT_LE(step(job).seconds, as_is);
    }
}

/// The formula of the paper on sequence parallelism: s b h (34 + 5 a s / h) / t.
TEST_F(Steps, ActivationsAreThoseOfTheFormula) {
    const Model model = *find_model("megatron-22b");
    Mapping mapping;
    mapping.gpus = 8;
    mapping.tp = 8;
    mapping.batch = 4;
    mapping.micro_batch = 4;
    mapping.sequence = 2048;
    mapping.zero = 0;
    mapping.attention = AttentionKernel::kUnfused;
    const double unit = 2048.0 * 4 * model.hidden;
    const double scores = 5.0 * model.heads * 2048 / model.hidden;
    const auto kept = [&] { return memory_use(model, cluster_.gpu, mapping).activations; };
    EXPECT_NEAR(kept() / (model.layers * unit * (34 + scores) / 8), 1, 1e-9);
    mapping.sequence_parallel = false;
    EXPECT_NEAR(kept() / (model.layers * unit * (10 + (24 + scores) / 8)), 1, 1e-9);
    mapping.recompute = Recompute::kFull;
    EXPECT_NEAR(kept() / (model.layers * unit * 2), 1, 1e-9);
}

TEST_F(Steps, StatesTakeEighteenBytesAParameterUnlessTheyAreDivided) {
    const Model model = *find_model("megatron-7.5b");
    Mapping mapping;
    mapping.gpus = 64;
    mapping.batch = 64;
    mapping.sequence = 2048;
    const double parameters =
        held_parameters(model, mapping, first_layers(model, mapping), 0).shared;
    const auto states = [&](std::uint32_t zero) {
        mapping.zero = zero;
        const MemoryUse use = memory_use(model, cluster_.gpu, mapping);
        return (use.weights + use.gradients + use.optimizer) / parameters;
    };
    EXPECT_NEAR(states(0), 18, 1e-9);
    EXPECT_NEAR(states(1), 6 + 12.0 / 64, 1e-9);
    EXPECT_NEAR(states(2), 2 + 16.0 / 64, 1e-9);
    EXPECT_NEAR(states(3), 18.0 / 64, 1e-9);
}

TEST_F(Steps, AModelThatDoesNotFitSaysHowMuchIsMissingAndWhatHelps) {
    const Model model = *find_model("gpt3-175b");
    Mapping mapping;
    mapping.gpus = 64;
    mapping.tp = 8;
    mapping.pp = 2;
    mapping.batch = 64;
    mapping.sequence = 2048;
    const auto result = estimate_step(model, cluster_, mapping, LinkCommunication(cluster_));
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().starts_with("gpt3-175b does not fit on H100 with tp 8, pp 2, dp 4"))
        << result.error();
    EXPECT_NE(result.error().find("GiB of 79.6 GiB; try --pp 4"), std::string::npos)
        << result.error();
    mapping.pp = 8;
    EXPECT_TRUE(estimate_step(model, cluster_, mapping, LinkCommunication(cluster_)));
}

TEST_F(Steps, DaysAreTokensByTheirRate) {
    const Job job = jobs()[0];
    const Step result = step(job);
    const TrainingRun run = run_for(result, job.mapping, 300e9);
    EXPECT_NEAR(run.days * 86'400 * result.tokens_per_s, 300e9, 1);
    EXPECT_NEAR(run.gpu_hours, run.days * 24 * job.mapping.gpus, 1e-3);
}

/// Returns when the last event of a trace ends, in microseconds.
double end_of(const std::string& trace) {
    double end = 0;
    for (std::size_t at = trace.find("\"ts\":"); at != trace.npos;
         at = trace.find("\"ts\":", at + 1)) {
        const double start = std::strtod(trace.c_str() + at + 5, nullptr);
        const std::size_t dur = trace.find("\"dur\":", at);
        end = std::max(end, start + std::strtod(trace.c_str() + dur + 6, nullptr));
    }
    return end;
}

TEST_F(Steps, TheTimelineEndsWithTheStep) {
    for (const Job& job : sample(jobs(), 3)) {
        SCOPED_TRACE(describe(job.mapping));
        const Step result = step(job);
        EXPECT_DOUBLE_EQ(static_cast<double>(result.end) * 1e-12, result.seconds);
        EXPECT_NEAR(end_of(chrome_trace(result)), result.seconds * 1e6, 0.01);
        for (const SideEvent& event : result.side) {
            EXPECT_LE(event.start, event.end);
            EXPECT_LE(event.end, result.end);
        }
    }
}

TEST_F(Steps, NoStageDoesTwoThingsAtOnce) {
    for (const Job& job : jobs()) {
        SCOPED_TRACE(describe(job.mapping));
        const Step result = step(job);
        std::vector<TimePs> free(job.mapping.pp, 0);
        for (const PassEvent& event : result.played.events) {
            EXPECT_GE(event.start, free[event.stage]);
            free[event.stage] = event.end;
        }
        for (const SideEvent& event : result.side) {
            if (event.work == SideWork::kOptimizer) {
                EXPECT_GE(event.start, free[event.stage]);
            }
        }
    }
}

// The exposed time of a dimension is by how much shorter the step would be without its exchanges.
TEST_F(Steps, SendsThatNothingHidesAreThePipelinesAndNotTheBubbles) {
    Job job = jobs()[0];
    LinkRates rates = link_rates(cluster_);
    const auto at = [&](double fabric) {
        rates.fabric_bytes_per_s = fabric;
        return time_step(job.model, cluster_, job.mapping,
                         LinkCommunication(cluster_.domain_gpus(), rates));
    };
    const Step quick = at(50e9);
    const Step slow = at(1e9);
    const auto sends = [](const Step& result) {
        return result.parts.exposed[static_cast<std::size_t>(Dimension::kPipeline)];
    };
    EXPECT_GT(sends(slow), 2 * sends(quick));
    EXPECT_NEAR(slow.parts.bubble, quick.parts.bubble, 1e-6);
}

TEST_F(Steps, TheSameStepTwiceGivesTheSameTimeline) {
    const Job job = jobs()[0];
    const std::string trace = chrome_trace(step(job));
    EXPECT_EQ(trace, chrome_trace(step(job)));
    EXPECT_NE(trace.find("\"name\":\"F0.0\""), std::string::npos);
    EXPECT_NE(trace.find("\"name\":\"gradients\""), std::string::npos);
}

}  // namespace
}  // namespace softib::plan
