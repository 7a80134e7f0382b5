// SPDX-License-Identifier: BSD-2-Clause
#include "plan/compare/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

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

std::size_t column_of(const Comparison& table, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(table.columns, name) - table.columns.begin());
}

/// With 64 ports a leaf takes 32, 42, 51 or 56 hosts, so that 256 hosts need 8, 7, 6 or 5 leaves on
/// each of 8 rails. These have 32, 37, 43 or 52 hosts at most and half, a quarter or a seventh as
/// many cables up, rounded up, each to a spine of its own.
TEST(Comparison, OversubscribedTreesNeedFewerOfTheSameSwitches) {
    CompareRequest request;
    request.cluster = *find_preset("hgx-h200:256");
    request.bytes = 64 << 20;
    const Comparison table = compare_oversubscription(request);
    const struct {
        double switches, cables;
        const char* leaf;
    } rows[] = {{8 * 8 + 32, 2048 + 64 * 32, "32 cables down and 32 up at a leaf of 64 ports"},
                {7 * 8 + 19, 2048 + 56 * 19, "37 cables down and 19 up at a leaf of 64 ports"},
                {6 * 8 + 11, 2048 + 48 * 11, "43 cables down and 11 up at a leaf of 64 ports"},
                {5 * 8 + 8, 2048 + 40 * 8, "52 cables down and 8 up at a leaf of 64 ports"}};
    ASSERT_EQ(table.rows.size(), std::size(rows));
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const std::vector<double>& values = table.rows[i].values;
        ASSERT_EQ(values.size(), table.columns.size());
        EXPECT_EQ(values[column_of(table, "switches")], rows[i].switches) << table.rows[i].name;
        EXPECT_EQ(values[column_of(table, "cables")], rows[i].cables) << table.rows[i].name;
        EXPECT_EQ(table.rows[i].note, rows[i].leaf);
        for (const char* const cost : {"M$ from", "M$ to", "kW to"}) {
            const std::size_t column = column_of(table, cost);
            EXPECT_LT(values[column], i == 0 ? 1e9 : table.rows[i - 1].values[column]) << cost;
        }
    }
}

/// 16 NICs at a leaf need 16, 8, 4 and 3 cables up. Three would take three spines; two spines with
/// two cables each are fewer switches. The switches of racks are bought once, with 32 ports.
TEST(Comparison, LeavesOfFewHostsStayTheSameSwitches) {
    CompareRequest request;
    request.cluster = with_nodes(*find_preset("meta-roce-24k"), 24);
    request.bytes = 1 << 20;
    const Comparison table = compare_oversubscription(request);
    const std::string ports = " up at a leaf of 32 ports";
    ASSERT_EQ(table.rows.size(), 4U);
    EXPECT_EQ(table.rows[0].note, "16 cables down and 16" + ports);
    EXPECT_EQ(table.rows[1].note, "16 cables down and 8" + ports);
    EXPECT_EQ(table.rows[2].note, "16 cables down and 4" + ports);
    EXPECT_EQ(table.rows[3].note, "16 cables down and 4" + ports + ", the same tree as with 4:1");
    EXPECT_EQ(table.rows[3].values, table.rows[2].values);
}

/// 96 switches of 64 ports at 180 $ a port, 2,048 NICs at 1,500 $, and cables.
TEST(Comparison, CostsFollowSwitchesNicsAndCables) {
    CompareRequest request;
    request.cluster = *find_preset("hgx-h200:256");
    request.bytes = 1 << 20;
    for (Price& price : request.prices) {
        if (price.name.starts_with("cable") || price.name == "transceiver_w") {
            price.low = price.high = 0;
        }
    }
    const Comparison table = compare_oversubscription(request);
    const std::size_t column = column_of(table, "M$ from");
    EXPECT_NEAR(table.rows[0].values[column], (96 * 64 * 180 + 2048 * 1500) / 1e6, 1e-9);
    EXPECT_NEAR(table.rows[1].values[column], (75 * 64 * 180 + 2048 * 1500) / 1e6, 1e-9);
}

TEST(Comparison, LessBandwidthAboveLeavesIsNeverFasterAndNeedsFewerCables) {
    const Comparison table = compare_oversubscription(small_request());
    ASSERT_EQ(table.rows.size(), 4U);
    const std::size_t cables = column_of(table, "cables");
    for (std::size_t i = 1; i < table.rows.size(); ++i) {
        ASSERT_EQ(table.rows[i].values.size(), table.columns.size()) << table.rows[i].note;
        EXPECT_LE(table.rows[i].values[1], 1.001 * table.rows[0].values[1]);
        EXPECT_LE(table.rows[i].values[4], 1.001 * table.rows[i - 1].values[4]);
        EXPECT_LE(table.rows[i].values[cables], table.rows[0].values[cables]);
    }
}

TEST(Comparison, RowsThatCannotDifferSayWhy) {
    CompareRequest request = small_request();
    request.cluster = with_nodes(request.cluster, 16);
    const auto explained = [](const Comparison& table) {
        return std::ranges::any_of(table.notes, [](const std::string& note) {
            return note.contains("the levels above the leaf switches make no difference");
        });
    };
    EXPECT_FALSE(explained(compare_oversubscription(request)));
    // All eight nodes are at one leaf switch of each rail.
    request = small_request();
    EXPECT_TRUE(explained(compare_oversubscription(request)));
    EXPECT_TRUE(explained(compare_link_layer(request)));
}

const ComparisonRow& row_of(const Comparison& table, std::string_view name) {
    return *std::ranges::find(table.rows, name, &ComparisonRow::name);
}

TEST(Comparison, AFullTreeCarriesMoreOfAnAllToAllThanATorus) {
    const Comparison table = compare_topology(small_request());
    EXPECT_GT(row_of(table, "fat-tree").values[3], row_of(table, "torus").values[3]);
    EXPECT_LT(row_of(table, "rail-only").values[6], row_of(table, "rail-optimized").values[6])
        << "cables";
}

TEST(Comparison, NoGenerationIsSlowerThanTheOneBefore) {
    const Comparison table = compare_generation(small_request());
    ASSERT_EQ(table.rows.size(), 5U);
    for (std::size_t i = 1; i < table.rows.size(); ++i) {
        ASSERT_EQ(table.rows[i].values.size(), table.columns.size()) << table.rows[i].note;
        for (std::size_t column = 0; column < 4; ++column) {
            EXPECT_GE(table.rows[i].values[column], 0.999 * table.rows[i - 1].values[column])
                << table.rows[i].name << " " << table.columns[column];
        }
    }
}

TEST(Comparison, RoceIsNoFasterThanInfiniBandWithAsManyCables) {
    const Comparison table = compare_link_layer(small_request());
    ASSERT_EQ(table.rows.size(), 8U);
    for (std::size_t i = 0; i < table.rows.size(); i += 2) {
        ASSERT_EQ(table.rows[i + 1].values.size(), table.columns.size()) << table.rows[i + 1].note;
        for (std::size_t column = 0; column < 4; ++column) {
            EXPECT_LE(table.rows[i + 1].values[column], 1.001 * table.rows[i].values[column])
                << table.rows[i + 1].name << " " << table.columns[column];
        }
    }
}

TEST(Comparison, RoceByPacketsHasPauseAndMarks) {
    CompareRequest request = small_request();
    request.cluster = with_nodes(request.cluster, 4);
    request.cluster.fabric.spec.radix = 8;
    request.bytes = 1 << 20;
    request.model = net::ModelKind::kPacket;
    const Comparison table = compare_link_layer(request);
    for (std::size_t i = 0; i < 6; ++i) {  // Leaves of 4 nodes are too small for 7:1.
        const ComparisonRow& row = table.rows[i];
        EXPECT_EQ(row.values.size(), table.columns.size()) << row.name << ": " << row.note;
    }
    EXPECT_NE(table.notes.back().find("PFC, ECN with DCQCN"), std::string::npos);
}

TEST(Comparison, SharpGainsMostOnLongVectors) {
    CompareRequest request = small_request();
    request.bytes = 1 << 30;
    const Comparison table = compare_sharp(request);
    ASSERT_GE(table.rows.size(), 3U);
    for (const ComparisonRow& row : table.rows) {
        ASSERT_EQ(row.values.size(), table.columns.size()) << row.note;
    }
    EXPECT_GT(table.rows.back().values.back(), 1) << "against the best by hosts";
}

TEST(Comparison, SpinesThatFailNeverHelp) {
    CompareRequest request = small_request();
    request.cluster = with_nodes(request.cluster, 16);
    const Comparison table = compare_failed_spine(request);
    ASSERT_EQ(table.rows.size(), 3U);
    for (std::size_t i = 1; i < table.rows.size(); ++i) {
        ASSERT_EQ(table.rows[i].values.size(), table.columns.size()) << table.rows[i].note;
        EXPECT_LT(table.rows[i].values[1], 1.001 * table.rows[i - 1].values[1]);
        EXPECT_LT(table.rows[i].values[4], 0.95 * table.rows[i - 1].values[4]) << "half to half";
    }
}

TEST(Comparison, FailedSpinesNeedNodesWhoseTrafficCrossesThem) {
    CompareRequest request = small_request();  // 8 nodes at one leaf switch of 16 ports a rail.
    const auto refused = compare("failed-spine", request);
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error().contains("the 8 nodes of hgx-h200 meet at leaf switches"))
        << refused.error();
    EXPECT_TRUE(refused.error().ends_with("take at least --nodes 10")) << refused.error();
    request.cluster = with_nodes(request.cluster, 10);
    const auto made = compare("failed-spine", request);
    ASSERT_TRUE(made.has_value()) << made.error();
    EXPECT_LT(made->rows[1].values[4], made->rows[0].values[4]) << "half to half";
    request.cluster = with_nodes(request.cluster, 9);  // One node alone at its leaf switches.
    const auto little = compare("failed-spine", request);
    ASSERT_TRUE(little.has_value()) << little.error();
    EXPECT_TRUE(little->notes.back().ends_with("to see a loss, take at least --nodes 10"));
    request.cluster.fabric.spec.shape = topo::Shape::kTorus;
    request.cluster.fabric.spec.radix = 0;
    const auto torus = compare("failed-spine", request);
    ASSERT_FALSE(torus.has_value());
    EXPECT_TRUE(torus.error().contains("no switches above its leaves")) << torus.error();
}

TEST(Comparison, AKvCacheCrossesTheFabricOnlyBetweenNvlinkDomains) {
    CompareRequest request;
    request.cluster = *find_preset("nvl72-xdr:2");
    request.bytes = 1ULL << 30;
    const Comparison two = compare_kv_cache(request);
    ASSERT_EQ(two.rows.size(), 4U);
    EXPECT_EQ(two.rows[0].name, "NVLink");
    EXPECT_GT(two.rows[0].values[1], 4 * two.rows[3].values[1]) << "than by all rails";
    request.cluster = *find_preset("nvl72-xdr:1");
    const Comparison one = compare_kv_cache(request);
    ASSERT_EQ(one.rows.size(), 1U);
    EXPECT_EQ(one.rows[0].values, two.rows[0].values);
    request.bytes *= 2;
    EXPECT_NEAR(compare_kv_cache(request).rows[0].values[0] / one.rows[0].values[0], 2, 0.01);
}

TEST(Comparison, TheLastRowOfAKvCacheHasAllRails) {
    CompareRequest request = small_request();
    request.cluster.fabric.spec.hcas_per_host = 6;
    request.bytes = 1ULL << 30;
    const Comparison table = compare_kv_cache(request);
    ASSERT_EQ(table.rows.size(), 4U);
    EXPECT_EQ(table.rows.back().name, "6");
    EXPECT_NEAR(table.rows[0].values[0] / table.rows[3].values[0], 6, 0.1);
    EXPECT_TRUE(table.notes.front().starts_with("model flow: ")) << table.notes.front();
}

TEST(Comparison, WithoutAnyValueThereIsAnErrorAndNoTable) {
    CompareRequest request = small_request();
    request.cluster = with_nodes(request.cluster, 1);
    const auto alone = compare("sharp", request);
    ASSERT_FALSE(alone.has_value());
    EXPECT_TRUE(alone.error().starts_with("sharp joins domains")) << alone.error();
    const auto pair = compare("kv-cache", request);
    ASSERT_FALSE(pair.has_value());
    EXPECT_TRUE(pair.error().ends_with("take --nodes 2 or more")) << pair.error();
    request.cluster.fabric.spec.shape = topo::Shape::kTorus;
    request.cluster.fabric.spec.radix = 0;
    const auto torus = compare("oversubscription", request);
    ASSERT_FALSE(torus.has_value());
    EXPECT_TRUE(torus.error().starts_with("oversubscription belongs to")) << torus.error();
    request.cluster = *find_preset("meta-roce-24k:1");
    const auto ethernet = compare("sharp", request);
    ASSERT_FALSE(ethernet.has_value());
    EXPECT_TRUE(ethernet.error().contains("do not aggregate")) << ethernet.error();
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
