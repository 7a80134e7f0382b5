// SPDX-License-Identifier: BSD-2-Clause
#include "plan/expect/diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/prng.h"
#include "plan/cluster/presets.h"
#include "plan/validation.h"

namespace softib::plan {
namespace {

constexpr double kNoise = 0.02;
constexpr double kNoiseOfLinks = 0.005;

/// Returns a factor near 1: the sum of uniform numbers has about a normal distribution.
double noise(Prng& prng, double deviation) {
    double sum = 0;
    constexpr int kParts = 12;
    for (int i = 0; i < kParts; ++i) {
        sum += static_cast<double>(prng.below(1'000'001)) / 1e6;
    }
    return std::exp(deviation * (sum - kParts / 2.0));
}

struct Case {
    const char* fault;
    double level;
    const char* cluster;
    std::vector<const char*> benchmarks;
    bool collnet = false;
    std::uint32_t per_node = 8;
};

const Fault& fault_of(const char* name) {
    return *std::ranges::find(faults(), std::string_view(name), &Fault::name);
}

Setting setting_of(const Case& with) {
    Setting setting{.cluster = find_preset(with.cluster).value(), .collnet = with.collnet};
    if (std::string_view(with.fault) == "oversubscription" ||
        std::string_view(with.fault) == "static-routes") {
        // Four nodes a leaf, so that messages cross the switches above.
        setting.cluster.fabric.spec.radix = 8;
    }
    if (std::string_view(with.fault) == "rails-crossed") {
        // A change of rails costs nothing where the switches above have as many cables as hosts.
        setting.cluster.fabric.spec.oversubscription = {4, 1};
    }
    return setting;
}

/// Returns what benchmarks print on a cluster with the fault; with none if `planted` is false.
std::vector<Run> measured(const Case& with, bool planted, std::uint64_t seed) {
    Prng prng(seed);
    std::vector<Run> runs;
    for (const char* const name : with.benchmarks) {
        const Benchmark& benchmark = *find_benchmark(name);
        const Setting setting = setting_of(with);
        Run run{.table = {.benchmark = &benchmark},
                .nodes = benchmark.is_pair() ? 2 : setting.cluster.nodes(),
                .per_node = with.per_node};
        Setting made = in_run(setting, benchmark.tool, run.nodes, run.per_node);
        if (planted) {
            made = fault_of(with.fault).plant(made, benchmark.tool, with.level).value_or(made);
        }
        const double deviation = benchmark.is_bandwidth() ? kNoiseOfLinks : kNoise;
        const auto expectation = Expectation::make(made, benchmark);
        EXPECT_TRUE(expectation) << expectation.error();
        for (std::uint64_t bytes = 8; bytes <= 8ULL << 30; bytes *= 8) {
            const double value = expectation->of(bytes)->value;
            run.table.rows.push_back(
                {.bytes = bytes,
                 .values = {value * noise(prng, deviation), value * noise(prng, deviation)}});
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

class PlantedFault : public testing::TestWithParam<Case> {};

TEST_P(PlantedFault, IsNamedFirst) {
    const Case& with = GetParam();
    // The largest fabric takes seconds without optimization.
    const std::uint64_t seeds = setting_of(with).cluster.nodes() > 8 ? 1 : 2;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto found = diagnose(setting_of(with), measured(with, true, seed), {});
        ASSERT_TRUE(found) << found.error();
        EXPECT_GT(found->off, 0U);
        ASSERT_FALSE(found->faults.empty());
        std::string others;
        for (const LikelyFault& each : found->faults) {
            others += each.fault->name + std::string(each.as_likely ? "= " : " ") +
                      std::to_string(each.level) + " left " + std::to_string(each.left) + "; ";
        }
        EXPECT_STREQ(found->faults[0].fault->name, with.fault) << others;
        EXPECT_EQ(found->faults[0].level, with.level) << others;
        EXPECT_GT(found->faults[0].explained, 0.9);
    }
}

TEST_P(PlantedFault, IsNotNamedWhereNothingIsOff) {
    const Case& with = GetParam();
    const auto found = diagnose(setting_of(with), measured(with, false, 4), {});
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found->off, 0U);
    EXPECT_TRUE(found->faults.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Diagnosis, PlantedFault,
    testing::Values(
        Case{"slow-link", 0.5, "hgx-h100:4", {"all_reduce_perf", "sendrecv_perf"}},
        Case{"slow-link", 0.25, "hgx-h100:2", {"ib_write_bw"}},
        Case{"rail-missing", 1, "hgx-h100:4", {"all_reduce_perf"}},
        Case{"rail-missing", 2, "hgx-b200:4", {"all_reduce_perf", "all_gather_perf"}},
        Case{"no-gpudirect", 1, "hgx-h100:4", {"all_reduce_perf", "alltoall_perf"}},
        Case{"pcie", 0.25, "hgx-h100:4", {"all_reduce_perf"}},
        Case{"acs", 1, "hgx-h100:4", {"all_reduce_perf", "alltoall_perf", "ib_write_bw"}},
        Case{"no-nvls", 1, "hgx-h100:2", {"all_reduce_perf"}},
        Case{"no-nvls", 1, "hgx-h100:1", {"all_reduce_perf"}},
        Case{"ring", 1, "hgx-h100:2", {"all_reduce_perf"}},
        Case{"tree", 1, "hgx-h100:4", {"all_reduce_perf"}},
        Case{"no-sharp", 1, "hgx-h100:8", {"all_reduce_perf"}, true},
        Case{"sockets", 25, "hgx-h100:2", {"all_reduce_perf"}},
        Case{"channels", 0.25, "hgx-h100:4", {"all_reduce_perf", "reduce_scatter_perf"}},
        Case{"protocol", 1, "hgx-h100:4", {"all_reduce_perf"}},
        Case{"oversubscription", 4, "hgx-h100:8", {"alltoall_perf", "all_reduce_perf"}},
        Case{"static-routes", 1, "hgx-h100:12", {"all_reduce_perf"}},
        Case{"rails-crossed", 1, "hgx-h100:8", {"alltoall_perf", "all_reduce_perf"}},
        Case{"slow-hosts", 16, "hgx-h100:4", {"all_reduce_perf", "osu_latency"}},
        Case{"mtu", 256, "hgx-h100:2", {"ib_write_bw", "osu_bw"}},
        Case{"no-nvlink", 1, "hgx-h100:1", {"all_reduce_perf"}},
        Case{"nvlink-links", 0.5, "hgx-b200:1", {"all_reduce_perf"}}));

/// Returns a run with one row.
Run one_row(const char* name, std::uint32_t nodes, std::uint32_t per_node, std::uint64_t bytes,
            double value) {
    return {.table = {.benchmark = find_benchmark(name),
                      .rows = {{.bytes = bytes, .values = {value, std::nullopt}}}},
            .nodes = nodes,
            .per_node = per_node};
}

/// Returns the published numbers of the rows of this id, in their order.
std::vector<double> published(std::string_view id) {
    std::vector<double> numbers;
    for (const ValidationRow& row : fabric_rows()) {
        if (row.id == id) {
            numbers.push_back(row.expected);
        }
    }
    return numbers;
}

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kMi = 1024 * kKi;
constexpr std::uint64_t kGi = 1024 * kMi;

/// Checks that all-reduces with these busbw, as docs/validation.md has them, are within intervals.
void expect_nothing_off(const Setting& setting, std::uint32_t nodes, std::uint32_t per_node,
                        const std::vector<std::uint64_t>& sizes, const std::vector<double>& busbw) {
    ASSERT_GE(busbw.size(), sizes.size());
    const Benchmark& benchmark = *find_benchmark("all_reduce_perf");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double us = static_cast<double>(sizes[i]) / 1e3 *
                          benchmark.bus_factor(std::uint64_t{nodes} * per_node) / busbw[i];
        const auto judged =
            diagnose(setting, {one_row(benchmark.name, nodes, per_node, sizes[i], us)}, {});
        ASSERT_TRUE(judged) << judged.error();
        EXPECT_EQ(judged->off, 0U) << sizes[i] << " bytes: " << us << " us, expected "
                                   << judged->tables[0].rows[0].expected.low << " to "
                                   << judged->tables[0].rows[0].expected.high;
    }
}

Setting preset(const char* name) {
    return {.cluster = find_preset(name).value()};
}

TEST(Diagnosis, PublishedRowsOfMachinesAreNotOff) {
    Setting rings = preset("hgx-b200:4");
    rings.algorithms = {Algorithm::kRing};
    rings.protocols = {Protocol::kLl, Protocol::kSimple};
    expect_nothing_off(rings, 4, 8, {32 * kKi, kMi, 16 * kMi, 128 * kMi, kGi, 16 * kGi},
                       published("B50"));
    expect_nothing_off(preset("ebay-h100"), 8, 8, {512 * kMi, 8 * kGi}, published("B51"));
    Setting sharp = preset("ebay-h100");
    sharp.collnet = true;
    expect_nothing_off(sharp, 8, 8, {16 * kGi}, published("B52"));
    Setting ring = preset("hgx-h200:2");
    ring.algorithms = {Algorithm::kRing};
    expect_nothing_off(ring, 2, 1, {8 * kGi}, published("B53"));
    Setting tree = preset("hgx-h200:2");
    tree.algorithms = {Algorithm::kTree};
    expect_nothing_off(tree, 2, 1, {2 * kMi, 4 * kMi, 8 * kMi, 16 * kMi, 32 * kMi},
                       published("B61"));
}

TEST(Diagnosis, PublishedRatesAndLatenciesOfLinksAreNotOff) {
    const std::vector<double> floors = published("B14");
    ASSERT_EQ(floors.size(), 3U);
    const topo::Generation generations[] = {topo::Generation::kEdr, topo::Generation::kHdr,
                                            topo::Generation::kNdr};
    for (std::size_t i = 0; i < floors.size(); ++i) {
        Setting setting = preset("hgx-h200:2");
        setting.cluster.fabric.spec.generation = generations[i];
        const auto judged =
            diagnose(setting, {one_row("ib_write_bw", 2, 1, 8 * kMi, floors[i] / 8)}, {});
        ASSERT_TRUE(judged);
        EXPECT_EQ(judged->off, 0U) << floors[i] << " Gb/s";
    }
    // ib_write_lat between cloud nodes of A100 with HDR, from a log of 2026-06.
    const std::pair<std::uint64_t, double> latencies[] = {
        {2, 1.87},          {64, 1.91},       {128, 1.96},      {256, 2.87},
        {1 * kKi, 3.05},    {4 * kKi, 3.85},  {16 * kKi, 4.39}, {64 * kKi, 6.76},
        {256 * kKi, 14.92}, {1 * kMi, 46.92}, {4 * kMi, 175.0}, {8 * kMi, 345.6}};
    for (const auto& [bytes, us] : latencies) {
        const auto judged =
            diagnose(preset("superpod-a100"), {one_row("ib_write_lat", 2, 1, bytes, us)}, {});
        ASSERT_TRUE(judged);
        EXPECT_EQ(judged->off, 0U) << bytes << " bytes: " << us << " us, expected "
                                   << judged->tables[0].rows[0].expected.low << " to "
                                   << judged->tables[0].rows[0].expected.high;
    }
}

/// Half of the rails and links of half the rate give the same curve.
TEST(Diagnosis, FactsOfTheLogDecideBetweenFaultsThatLookAlike) {
    const Case half{"rail-missing", 4, "hgx-b200:4", {"all_reduce_perf"}};
    const auto without = diagnose(setting_of(half), measured(half, true, 1), {});
    ASSERT_TRUE(without && without->faults.size() >= 2);
    EXPECT_STREQ(without->faults[0].fault->name, "slow-link");
    EXPECT_STREQ(without->faults[1].fault->name, "rail-missing");
    EXPECT_TRUE(without->faults[1].as_likely);
    const auto with = diagnose(setting_of(half), measured(half, true, 1),
                               {{FactKind::kInfiniBand, "4", "job.log:7", "NET/IB : Using"}});
    ASSERT_TRUE(with && !with->faults.empty());
    EXPECT_STREQ(with->faults[0].fault->name, "rail-missing");
    EXPECT_EQ(with->faults[0].speaks_for.at(0).place, "job.log:7");
    const auto against = diagnose(setting_of(half), measured(half, true, 1),
                                  {{FactKind::kInfiniBand, "8", "job.log:7", "NET/IB : Using"}});
    ASSERT_TRUE(against && against->faults.size() >= 2);
    EXPECT_STRNE(against->faults[1].fault->name, "rail-missing");
}

TEST(Diagnosis, WrongValuesAreOffWhateverTheTimeIs) {
    auto run = one_row("all_reduce_perf", 2, 8, kGi, 4400);
    run.table.rows[0].wrong = 3;
    const auto judged = diagnose(preset("hgx-h100:2"), {run}, {});
    ASSERT_TRUE(judged);
    EXPECT_EQ(judged->tables[0].rows[0].verdict, Verdict::kWrong);
    EXPECT_EQ(judged->off, 1U);
}

TEST(Diagnosis, WhatNoFaultExplainsHasNoCause) {
    // One size alone is slow.
    auto runs = measured({"ring", 1, "hgx-h100:2", {"all_reduce_perf"}}, false, 1);
    runs[0].table.rows[3].values = {2000.0, 2000.0};
    const auto judged = diagnose(preset("hgx-h100:2"), runs, {});
    ASSERT_TRUE(judged);
    EXPECT_EQ(judged->off, 1U);
    EXPECT_TRUE(judged->faults.empty());
}

TEST(Diagnosis, ARunOfSomeGpusHasTheNicsBesideThem) {
    const Setting run = in_run(preset("hgx-h100:4"), Tool::kNcclTests, 2, 2);
    EXPECT_EQ(run.cluster.nics_per_node(), 2U);
    EXPECT_EQ(run.cluster.nvlink.domain_gpus, 2U);
    const Setting one = in_run(preset("hgx-h100:4"), Tool::kNcclTests, 2, 1);
    EXPECT_EQ(one.cluster.nics_per_node(), 1U);
    EXPECT_EQ(one.cluster.domain_gpus(), 1U);
    EXPECT_EQ(in_run(preset("hgx-h100:4"), Tool::kOsu, 3, 1).cluster.gpus_per_node, 8U);
}

}  // namespace
}  // namespace softib::plan
