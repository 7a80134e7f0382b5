// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/training.h"

#include <gtest/gtest.h>

#include <memory>

#include "plan/trace/test_jobs.h"
#include "plan/train/fabric_communication.h"
#include "plan/train/model.h"

namespace softib::plan::trace {
namespace {

struct Case {
    const char* model;
    Mapping mapping;
};

std::vector<Case> cases() {
    Mapping pipeline{.gpus = 64, .tp = 4, .pp = 4, .interleave = 3, .batch = 64, .sequence = 2048};
    Mapping sharded{.gpus = 32, .tp = 2, .batch = 64, .micro_batch = 1, .sequence = 2048};
    Mapping replicated = sharded;
    replicated.zero = 0;
    replicated.overlap_dp = false;
    Mapping inside = pipeline;
    inside.pp_inside = true;
    inside.overlap_pp = false;
    return {{"megatron-7.5b", pipeline},
            {"megatron-7.5b", inside},
            {"megatron-3.6b", sharded},
            {"megatron-3.6b", replicated}};
}

/// What is exported takes about as long as the planner says, whatever is overlapped.
TEST(TrainingJob, APlayedStepTakesThePlannersTime) {
    for (const Case& each : cases()) {
        const Model model = *find_model(each.model);
        const Cluster cluster = hgx(8);
        const auto network = *FabricCommunication::make(cluster, each.mapping.gpus, {});
        ASSERT_EQ(find_fault(model, cluster, each.mapping), std::nullopt);
        const Step step = time_step(model, cluster, each.mapping, *network);
        const Job job = job_of_step(model, each.mapping, step);
        EXPECT_EQ(find_fault(job), std::nullopt);
        const Playing playing = play(cluster, {job});
        ASSERT_TRUE(playing.run());
        const double seconds = static_cast<double>(playing.makespan()) / 1e12;
        EXPECT_NEAR(seconds, step.seconds, 0.1 * step.seconds)
            << each.model << " " << describe(each.mapping);
    }
}

/// Every stage but the last sends forward once for each micro-batch, and the others backward.
TEST(TrainingJob, StagesSendActivationsAndGradients) {
    const Case each = cases()[0];
    const Model model = *find_model(each.model);
    const Cluster cluster = hgx(8);
    const LinkCommunication network(cluster);
    const Job job =
        job_of_step(model, each.mapping, time_step(model, cluster, each.mapping, network));
    const Summary all = summarise(job);
    const std::uint64_t edges = each.mapping.virtual_stages() - 1;
    const std::uint64_t columns = each.mapping.gpus / each.mapping.pp;
    const auto sends = static_cast<std::size_t>(Kind::kSend);
    EXPECT_EQ(all.count[sends], 2 * edges * each.mapping.micro_batches() * columns);
    const std::uint64_t bytes = 2048ULL * model.hidden * 2 / each.mapping.tp;
    EXPECT_EQ(all.bytes[sends], all.count[sends] * bytes);
    EXPECT_EQ(job.communicators[0].groups.size(), 16U);
    EXPECT_EQ(job.communicators[0].groups[0].size(), 4U);
}

/// Replicas of experts are every ep-th rank of dp x cp, also where neither of cp and ep divides the
/// other.
TEST(TrainingJob, ExpertsHaveGroupsOfTheirOwn) {
    const Model model = *find_model("deepseek-v3");
    const Cluster cluster = hgx(8);
    const Mapping mapping{.gpus = 24, .cp = 6, .ep = 4, .batch = 24, .sequence = 6144};
    ASSERT_EQ(find_fault(model, cluster, mapping), std::nullopt);
    const LinkCommunication network(cluster);
    const Job job = job_of_step(model, mapping, time_step(model, cluster, mapping, network));
    EXPECT_EQ(find_fault(job), std::nullopt);
    const Communicator& experts = job.communicators[1];
    EXPECT_EQ(experts.groups.size(), 4U);
    EXPECT_EQ(experts.groups[1], (std::vector<std::uint32_t>{1, 5, 9, 13, 17, 21}));
}

}  // namespace
}  // namespace softib::plan::trace
