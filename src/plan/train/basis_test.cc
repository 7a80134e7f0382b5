// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/basis.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/cluster/presets.h"
#include "plan/validation.h"

namespace softib::plan {
namespace {

std::string validation(const char* model, const char* cluster) {
    return basis_of(*find_model(model), *find_preset(cluster), "flow").back();
}

TEST(TrainBasis, MeasuredStepsAreRowsOfTheValidation) {
    const auto rows = training_rows();
    for (const MeasuredSteps& measured : measured_steps()) {
        for (std::size_t at = 0; at < measured.rows.size(); at += 4) {  // "M2, M4"
            const std::string_view id = measured.rows.substr(at, 2);
            EXPECT_TRUE(std::ranges::any_of(rows, [&](const ValidationRow& row) {
                return row.id == id && row.claim.contains(measured.gpu);
            })) << id;
        }
    }
}

TEST(TrainBasis, AnAnswerNamesTheNearestRowsOrThatNoneValidatesIt) {
    EXPECT_TRUE(validation("gpt3-175b", "superpod-a100").starts_with("validated: GPT"));
    EXPECT_TRUE(validation("deepseek-v3", "h800-2048").contains("(rows M9 of"));
    EXPECT_TRUE(validation("deepseek-v3", "nvl72-xdr").starts_with("not validated: "));
    EXPECT_TRUE(validation("deepseek-v3", "nvl72-xdr").contains("the nearest are M9"));
    EXPECT_TRUE(validation("llama3.1-70b", "hgx-b200").contains("the nearest are M6, M7"));
    EXPECT_TRUE(validation("deepseek-v3", "superpod-h100").contains("the nearest are M6, M7"));
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
