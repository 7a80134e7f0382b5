// SPDX-License-Identifier: BSD-2-Clause
#include "plan/compare/comparison.h"

#include <gtest/gtest.h>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

CompareRequest small_request() {
    CompareRequest request;
    request.cluster = with_nodes(*find_preset("hgx-h200"), 8);
    request.cluster.fabric.spec.radix = 16;
    request.bytes = 64 << 20;
    return request;
}

TEST(Comparison, LessBandwidthAboveLeavesIsNeverFasterAndNeedsFewerCables) {
    const Comparison table = compare_oversubscription(small_request());
    ASSERT_EQ(table.rows.size(), 4U);
    const std::size_t cables = table.columns.size() - 1;
    for (std::size_t i = 1; i < table.rows.size(); ++i) {
        ASSERT_EQ(table.rows[i].values.size(), table.columns.size()) << table.rows[i].note;
        EXPECT_LE(table.rows[i].values[1], 1.001 * table.rows[0].values[1]);
        EXPECT_LE(table.rows[i].values[cables], table.rows[0].values[cables]);
    }
}

TEST(Comparison, ShapesThatCannotBeBuiltSayWhy) {
    for (const ComparisonRow& row : compare_topology(small_request()).rows) {
        EXPECT_TRUE(!row.values.empty() || !row.note.empty()) << row.name;
    }
}

TEST(Comparison, MoreRailsMoveAKvCacheFaster) {
    CompareRequest request = small_request();
    request.bytes = 1ULL << 30;
    const Comparison table = compare_kv_cache(request);
    ASSERT_EQ(table.rows.size(), 4U);
    for (std::size_t i = 1; i < table.rows.size(); ++i) {
        EXPECT_NEAR(table.rows[i - 1].values[0] / table.rows[i].values[0], 2, 0.05);
    }
}

TEST(Comparison, AnUnknownOneNamesTheNearest) {
    EXPECT_EQ(compare("topologies", {}).error(),
              "unknown comparison 'topologies'; did you mean 'topology'?");
}

}  // namespace
}  // namespace softib::plan
