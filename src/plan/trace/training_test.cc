// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/training.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string_view>

#include "core/base/test_effort.h"
#include "plan/trace/expand.h"
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
    Mapping pipeline{.gpus = 64, .tp = 4, .pp = 4, .interleave = 3, .batch = 32, .sequence = 2048};
    Mapping sharded{.gpus = 32, .tp = 2, .batch = 64, .micro_batch = 1, .sequence = 2048};
    Mapping replicated = sharded;
    replicated.zero = 0;
    replicated.overlap_dp = false;
    Mapping inside = pipeline;
    inside.pp_inside = true;
    inside.overlap_pp = false;
    Mapping whole = pipeline;
    whole.sequence_parallel = false;
    whole.recompute = Recompute::kFull;
    Mapping contexts{.gpus = 64, .tp = 4, .cp = 4, .batch = 16, .sequence = 16384};
    Mapping fetched{
        .gpus = 32, .tp = 2, .zero = 3, .batch = 64, .micro_batch = 4, .sequence = 2048};
    Mapping experts{.gpus = 64, .pp = 4, .ep = 16, .batch = 32, .sequence = 2048, .uneven = true};
    Mapping hidden = experts;
    hidden.overlap_ep = true;
    return {{"megatron-7.5b", pipeline},   {"megatron-7.5b", inside}, {"megatron-3.6b", sharded},
            {"megatron-3.6b", replicated}, {"megatron-7.5b", whole},  {"llama3.1-8b", contexts},
            {"megatron-3.6b", fetched},    {"deepseek-v3", experts},  {"deepseek-v3", hidden}};
}

/// Returns the job as it is exported, without collective operations.
Job messages_of(const Job& job, const Cluster& cluster) {
    std::vector<std::uint32_t> gpus(job.ranks());
    std::iota(gpus.begin(), gpus.end(), 0U);
    return *expand(job, cluster, gpus);
}

/// Returns the bytes that ranks send in operations of this name, in all or (`far`) to other nodes
/// alone; without messages of one byte, by which ranks only wait.
double sent_bytes(const Job& messages, std::string_view name, bool far = false) {
    constexpr std::uint32_t kGpus = 8;
    double sum = 0;
    for (std::uint32_t rank = 0; rank < messages.ranks(); ++rank) {
        for (const Operation& op : messages.program(rank).operations()) {
            if (op.kind == Kind::kSend && op.bytes > 1 && messages.names[op.name] == name &&
                !(far && rank / kGpus == op.peer / kGpus)) {
                sum += static_cast<double>(op.bytes);
            }
        }
    }
    return sum;
}

/// An exported step takes about as long as the planner says, whatever is overlapped, as collective
/// operations and as messages.
TEST(TrainingJob, APlayedStepTakesThePlannersTime) {
    for (const Case& each : sample(cases(), 3)) {
        const Model model = *find_model(each.model);
        const Cluster cluster = hgx(8);
        const auto network = *FabricCommunication::make(cluster, each.mapping.gpus, {});
        ASSERT_EQ(find_fault(model, cluster, each.mapping), std::nullopt);
        const Step step = time_step(model, cluster, each.mapping, *network);
        const Job job = *job_of_step(model, cluster, each.mapping, step, *network);
        EXPECT_EQ(find_fault(job), std::nullopt);
        const Playing playing = play(cluster, {job});
        ASSERT_TRUE(playing.run());
        const double seconds = static_cast<double>(playing.makespan()) / 1e12;
        EXPECT_NEAR(seconds, step.seconds, 0.1 * step.seconds)
            << each.model << " " << describe(each.mapping);
        const Playing again = play(cluster, {messages_of(job, cluster)});
        ASSERT_TRUE(again.run());
        const double taken = static_cast<double>(again.makespan()) / 1e12;
        EXPECT_NEAR(taken, step.seconds, 0.1 * step.seconds)
            << each.model << " " << describe(each.mapping);
    }
}

double bytes_of(const Step& step, Dimension dimension) {
    const LinkBytes& bytes = step.bytes[static_cast<std::size_t>(dimension)];
    return bytes.nvlink + bytes.fabric;
}

/// Exchanges have the planner's bytes; LL128 has 128 bytes on the wire for each 120 bytes of data.
TEST(TrainingJob, ExchangesWithinPassesAreMessages) {
    const Cluster cluster = hgx(8);
    const LinkCommunication network(cluster);
    for (const Case& each : sample(cases(), 3)) {
        const Model model = *find_model(each.model);
        const Step step = time_step(model, cluster, each.mapping, network);
        const Job job = *job_of_step(model, cluster, each.mapping, step, network);
        const Job messages = messages_of(job, cluster);
        const double gpus = each.mapping.gpus;
        const double tensor = gpus * bytes_of(step, Dimension::kTensor);
        const double expected = sent_bytes(messages, "tensor");
        EXPECT_GE(expected, 0.999 * tensor) << describe(each.mapping);
        // Gathering what comes from another stage counts as pipeline parallelism.
        const double gathered = each.mapping.sequence_parallel ? 0 : tensor;
        EXPECT_LE(expected, 128.0 / 120 * 1.001 * tensor + gathered) << describe(each.mapping);
        const double context = gpus * bytes_of(step, Dimension::kContext);
        EXPECT_NEAR(sent_bytes(messages, "context"), context, 1e-6 * context);
        const LinkBytes& experts = step.bytes[static_cast<std::size_t>(Dimension::kExpert)];
        EXPECT_NEAR(sent_bytes(messages, "expert", true), gpus * experts.fabric,
                    0.01 * gpus * experts.fabric);
        // NVLink also takes data to the receiver's rail.
        EXPECT_GE(sent_bytes(messages, "expert"), gpus * (experts.fabric + experts.nvlink));
    }
}

/// If exchanges of several layers are merged, a step has the same bytes; if they are left out,
/// none. It takes about as long in both cases.
TEST(TrainingJob, ExchangesCanBePutTogetherOrLeftOut) {
    const Cluster cluster = hgx(8);
    for (const std::size_t i : sample(std::vector<std::size_t>{0, 4, 5, 7}, 2)) {
        const Case each = cases()[i];
        const Model model = *find_model(each.model);
        const LinkCommunication network(cluster);
        const Step step = time_step(model, cluster, each.mapping, network);
        const auto job_with = [&](std::uint32_t layers) {
            return messages_of(*job_of_step(model, cluster, each.mapping, step, network,
                                            {.layers_together = layers}),
                               cluster);
        };
        const Job all = job_with(1);
        const Job together = job_with(3);
        const Job without = job_with(0);
        EXPECT_LT(summarise(together).operations, summarise(all).operations);
        EXPECT_LT(summarise(without).operations, summarise(together).operations);
        for (const char* name : {"tensor", "context", "expert"}) {
            const double bytes = sent_bytes(all, name);
            EXPECT_NEAR(sent_bytes(together, name), bytes, 0.07 * bytes);
        }
        const bool gathers = !each.mapping.sequence_parallel;
        EXPECT_EQ(sent_bytes(without, "tensor") > 0, gathers);
        EXPECT_EQ(sent_bytes(without, "context") + sent_bytes(without, "expert"), 0);
        for (const Job* job : {&together, &without}) {
            const Playing playing = play(cluster, {*job});
            ASSERT_TRUE(playing.run());
            EXPECT_NEAR(static_cast<double>(playing.makespan()) / 1e12, step.seconds,
                        0.1 * step.seconds)
                << describe(each.mapping);
        }
    }
}

TEST(TrainingJob, AStepOfTooManyMessagesIsRefused) {
    const Cluster cluster = with_nodes(*find_preset("hgx-h200"), 512);
    const Model model = *find_model("gpt3-175b");
    const Mapping mapping{.gpus = 4096, .tp = 8, .pp = 8, .batch = 4096, .sequence = 2048};
    const LinkCommunication network(cluster);
    const Step step = time_step(model, cluster, mapping, network);
    const auto job = job_of_step(model, cluster, mapping, step, network);
    ASSERT_FALSE(job);
    EXPECT_TRUE(job.error().starts_with("exchanges within the passes of this step are"))
        << job.error();
}

/// For each micro-batch, every stage but the last sends forward once, and every stage but the first
/// sends backward once.
TEST(TrainingJob, StagesSendActivationsAndGradients) {
    const Case each = cases()[0];
    const Model model = *find_model(each.model);
    const Cluster cluster = hgx(8);
    const LinkCommunication network(cluster);
    const Job job = *job_of_step(model, cluster, each.mapping,
                                 time_step(model, cluster, each.mapping, network), network);
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

/// Replicas of an expert are every ep-th rank of dp x cp, even if neither of cp and ep divides the
/// other.
TEST(TrainingJob, ExpertsHaveGroupsOfTheirOwn) {
    const Model model = *find_model("deepseek-v3");
    const Cluster cluster = hgx(8);
    const Mapping mapping{.gpus = 24, .cp = 6, .ep = 4, .batch = 24, .sequence = 6144};
    ASSERT_EQ(find_fault(model, cluster, mapping), std::nullopt);
    const LinkCommunication network(cluster);
    const Job job =
        *job_of_step(model, cluster, mapping, time_step(model, cluster, mapping, network), network);
    EXPECT_EQ(find_fault(job), std::nullopt);
    const Communicator& experts = job.communicators[1];
    EXPECT_EQ(experts.groups.size(), 4U);
    EXPECT_EQ(experts.groups[1], (std::vector<std::uint32_t>{1, 5, 9, 13, 17, 21}));
}

}  // namespace
}  // namespace softib::plan::trace
