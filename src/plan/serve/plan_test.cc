// SPDX-License-Identifier: BSD-2-Clause
#include "plan/serve/plan.h"

#include <gtest/gtest.h>

#include "plan/cluster/presets.h"
#include "plan/serve/kv.h"

namespace softib::plan {
namespace {

ServeRequest small(const char* model = "llama3.1-70b", const char* cluster = "hgx-h200") {
    return {.model = *find_model(model),
            .cluster = with_nodes(*find_preset(cluster), 8),
            .prefill_nodes = 4,
            .decode_nodes = 1,
            .requests_per_s = 6,
            .prompt = {.mean = 4096},
            .answer = {.mean = 64},
            .requests = 200,
            .seeds = 2};
}

TEST(ServePlan, MoreRailsLeaveLessOfTheFirstTokenToTheFabric) {
    const auto answer = plan_service(small());
    ASSERT_TRUE(answer) << answer.error();
    ASSERT_EQ(answer->rows.size(), 4U);
    for (std::size_t i = 1; i < answer->rows.size(); ++i) {
        EXPECT_LT(answer->rows[i].fabric_share.middle, answer->rows[i - 1].fabric_share.middle);
        EXPECT_LT(answer->rows[i].transfer[0].middle, answer->rows[i - 1].transfer[0].middle);
    }
    for (const ServeRow& row : answer->rows) {
        EXPECT_GT(row.first_token[0].middle, row.parts.prefill);
        EXPECT_LE(row.first_token[0].middle, row.first_token[2].middle);
        EXPECT_LE(row.first_token[2].low, row.first_token[2].middle);
        double sum = 0;
        for (const double each : row.senders) {
            sum += each;
        }
        EXPECT_NEAR(sum, 1, 1e-9);
    }
}

TEST(ServePlan, TheNicsOfDecodeNodesCarryWhatIsSent) {
    ServeRequest request = small();
    request.rails = 8;
    const auto answer = plan_service(request);
    ASSERT_TRUE(answer) << answer.error();
    EXPECT_NEAR(answer->prompt_kv_bytes, 4096 * kv_bytes_per_token(request.model), 1);
    EXPECT_NEAR(answer->sent_bytes, 2 * 200 * answer->prompt_kv_bytes, 1e3);
    // Tier 0 has all NICs; those of one decode node of eight receive, those of four nodes send.
    EXPECT_GT(answer->rows[0].load.tiers[0].mean, 0);
    EXPECT_GT(answer->rows[0].nic_load, 0);
    EXPECT_LT(answer->rows[0].nic_load, 1);
}

TEST(ServePlan, AReusedPrefixIsNotComputedAndOneOfTheDecodePoolNotSent) {
    ServeRequest request = small();
    request.rails = 8;
    const double whole = plan_service(request)->rows[0].parts.prefill;
    request.reuse = 0.5;
    const auto reused = plan_service(request);
    EXPECT_LT(reused->rows[0].parts.prefill, 0.6 * whole);
    EXPECT_NEAR(reused->prompt_kv_bytes, 4096 * 327'680.0, 1);
    request.decode_reuse = 0.5;
    EXPECT_NEAR(plan_service(request)->prompt_kv_bytes, 2048 * 327'680.0, 1);
}

TEST(ServePlan, WhatCannotWorkIsRefusedWithWhatWould) {
    const auto refusal = [](ServeRequest request) {
        const auto answer = plan_service(request);
        return answer ? "no refusal" : answer.error();
    };
    ServeRequest request = small();
    request.requests_per_s = 1000;
    EXPECT_TRUE(refusal(request).contains("prefill nodes compute at most")) << refusal(request);
    request = small();
    request.answer = {.mean = 100'000};
    EXPECT_TRUE(refusal(request).contains("decode nodes compute at most")) << refusal(request);
    request = small();
    request.prefill_nodes = 9;
    EXPECT_TRUE(refusal(request).contains("more than the 8 nodes")) << refusal(request);
    request = small();
    request.decode.tp = 3;
    EXPECT_TRUE(refusal(request).contains("decode pool: an instance of 3")) << refusal(request);
    request = small("llama3.1-405b");
    request.prefill.tp = 4;
    EXPECT_TRUE(refusal(request).contains("take more GPUs")) << refusal(request);
    request = small();
    request.rails = 9;
    EXPECT_TRUE(refusal(request).contains("has 8 NICs, not 9")) << refusal(request);
    request = small();
    request.cluster = *find_preset("nvl72-ndr");
    EXPECT_TRUE(refusal(request).contains("NVLink domains")) << refusal(request);
}

TEST(ServePlan, ARowWhoseNicsCannotCarryTheKvCachesSaysSo) {
    ServeRequest request = small("gpt3-175b");
    request.prompt = {.mean = 2048};
    request.prefill_nodes = 7;
    request.requests_per_s = 6;
    request.requests = 50;
    const auto answer = plan_service(request);
    ASSERT_TRUE(answer) << answer.error();
    EXPECT_TRUE(answer->rows[0].why.contains("the NICs carry")) << answer->rows[0].why;
    EXPECT_TRUE(answer->rows[3].why.empty());
}

TEST(ServeTimes, AStepReadsTheWeightsAndItsContext) {
    const Cluster cluster = *find_preset("hgx-h200");
    const Model model = *find_model("llama3.1-70b");
    const auto times = ServeTimes::make(model, cluster, {});
    ASSERT_TRUE(times) << times.error();
    const double rate = cluster.gpu.memory_bytes_per_s;
    EXPECT_GT((*times)->step(1, 0), (*times)->weight_bytes() * 0.97 / rate);
    EXPECT_LT((*times)->step(1, 0), 5 * (*times)->weight_bytes() / rate);
    const double context = (*times)->step(1, 1e6) - (*times)->step(1, 0);
    EXPECT_NEAR(context, 1e6 * 327'680 / 8 / (rate * cluster.gpu.rates.memory), context * 1e-9);
    // Twice the new tokens take about twice as long, and known ones less than new ones.
    const double one = (*times)->prefill(4096, 0);
    EXPECT_GT((*times)->prefill(8192, 0), 1.9 * one);
    EXPECT_GT((*times)->prefill(4096, 4096), one);
    EXPECT_LT((*times)->prefill(4096, 4096), (*times)->prefill(8192, 0));
}

}  // namespace
}  // namespace softib::plan
