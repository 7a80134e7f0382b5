// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/basis.h"

#include <gtest/gtest.h>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

std::string validation(const char* model, const char* cluster) {
    return basis_of(*find_model(model), *find_preset(cluster), "flow").back();
}

TEST(TrainBasis, AnAnswerNamesTheNearestMeasuredStepOrThatNoneValidatesIt) {
    EXPECT_TRUE(validation("gpt3-175b", "superpod-a100").starts_with("validated: gpt3-175b on 64"));
    EXPECT_TRUE(validation("deepseek-v3", "h800-2048").contains("(row M9 of"));
    EXPECT_TRUE(validation("deepseek-v3", "nvl72-xdr").contains("DeepSeek-V3 on 256 GB200"));
    EXPECT_TRUE(validation("llama3.1-70b", "hgx-b200").contains(" more of a dense model on B200"));
    EXPECT_TRUE(validation("deepseek-v3", "superpod-a100").starts_with("not validated: "));
    EXPECT_TRUE(validation("qwen3-30b-a3b", "h800-2048")
                    .contains("the only measured step of a mixture of experts on H800"));
}

TEST(TrainBasis, AnAnswerNamesWhatLimitsItsCluster) {
    Cluster cluster = *find_preset("hgx-b200:4");
    const Model model = *find_model("llama3.1-8b");
    EXPECT_EQ(basis_of(model, cluster, "flow").size(), 3U);
    cluster.fabric.spec.generation = topo::Generation::kXdr;
    EXPECT_TRUE(basis_of(model, cluster, "flow")[2].contains("the key gbs in [pcie]"));
}

}  // namespace
}  // namespace softib::plan
