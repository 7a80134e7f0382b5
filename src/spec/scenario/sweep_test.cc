// SPDX-License-Identifier: BSD-2-Clause
#include "spec/scenario/sweep.h"

#include <gtest/gtest.h>

#include <set>

namespace softib::spec {
namespace {

/// Returns what a file asks for, or an error.
std::expected<RunWish, std::string> parse(std::string_view text, const std::string& file) {
    Scenario scenario;
    RunWish wish;
    const Result read =
        parse_scenario(text, file, std::filesystem::path(file).parent_path(), scenario, wish);
    return read ? std::expected<RunWish, std::string>(std::move(wish))
                : std::unexpected(read.error());
}

Sweep parsed(std::string_view text) {
    auto wish = parse(text, "s.toml");
    EXPECT_TRUE(wish) << (wish ? "" : wish.error());
    return *std::move(wish->sweep);
}

/// Returns the error for a text, by itself or on a scenario of one traffic.
std::string refused(std::string_view text) {
    const auto wish = parse(text, "s.toml");
    if (!wish) {
        return wish.error();
    }
    Scenario base;
    base.traffics.emplace_back();
    const Result checked = check_sweep(*wish->sweep, base);
    return checked ? "nothing is wrong" : checked.error();
}

TEST(Sweep, IsTheProductOfItsListsAndSeedsTurnFastest) {
    const Sweep sweep =
        parsed("seeds = 2\n[vary]\nsize = [\"1kB\", \"1MB\"]\nhosts = [8, 16, 32]\n");
    ASSERT_EQ(sweep.point_count(), 12U);
    EXPECT_EQ(sweep.point(0), (SweepPoint{{"size", "1kB"}, {"hosts", "8"}, {"seed", "1"}}));
    EXPECT_EQ(sweep.point(1), (SweepPoint{{"size", "1kB"}, {"hosts", "8"}, {"seed", "2"}}));
    EXPECT_EQ(sweep.point(11), (SweepPoint{{"size", "1MB"}, {"hosts", "32"}, {"seed", "2"}}));
    std::set<SweepPoint> all;
    for (std::uint64_t i = 0; i < sweep.point_count(); ++i) {
        all.insert(sweep.point(i));
    }
    EXPECT_EQ(all.size(), 12U);
}

TEST(Sweep, SetsKeysOfEverySection) {
    const Sweep sweep = parsed(
        "[vary]\nsize = [\"2kB\"]\nhosts = [16]\nadaptive = [true]\nmtu = [1024]\nmodel = "
        "[\"flow\"]\ntraffic = [\"shift,shift=3\"]\nfail_random = [2]\n");
    Scenario scenario;
    ASSERT_TRUE(apply_point(sweep, sweep.point(0), scenario));
    EXPECT_EQ(scenario.fabric.spec.hosts, 16U);
    EXPECT_TRUE(scenario.options.hosts.adaptive);
    EXPECT_EQ(scenario.options.hosts.mtu, 1024);
    EXPECT_EQ(scenario.model, net::ModelKind::kFlow);
    ASSERT_EQ(scenario.traffics.size(), 1U);
    EXPECT_EQ(scenario.traffics[0].traffic.shift, 3U);
    EXPECT_EQ(scenario.traffics[0].traffic.bytes, 2000U);
    EXPECT_EQ(scenario.failures.size(), 1U);
}

TEST(Sweep, AKeyOfTrafficIsForAllTraffics) {
    const Sweep sweep = parsed("[vary]\nsize = [\"2kB\"]\n");
    Scenario scenario;
    scenario.traffics.resize(2);
    ASSERT_TRUE(apply_point(sweep, sweep.point(0), scenario));
    EXPECT_EQ(scenario.traffics[0].traffic.bytes, 2000U);
    EXPECT_EQ(scenario.traffics[1].traffic.bytes, 2000U);
}

TEST(Sweep, TheBaseIsFoundFromTheSweep) {
    const auto wish = parse("base = \"b.toml\"\nseeds = 1\n", "some/where/s.toml");
    ASSERT_FALSE(wish);
    EXPECT_EQ(wish.error(), "cannot read some/where/b.toml: No such file or directory");
}

TEST(Sweep, ErrorsHaveLineAndRemedy) {
    EXPECT_EQ(refused("[vary]\nhostes = [1]\n"),
              "s.toml:2:1: unknown key 'hostes'; did you mean 'hosts'?");
    EXPECT_EQ(refused("[vary]\nhosts = 8\n"),
              "s.toml:2:9: 'hosts' must be a list of values, as [64, 128]");
    EXPECT_EQ(refused("[vary]\nhosts = []\n"),
              "s.toml:2:9: 'hosts' must be a list of values, as [64, 128]");
    EXPECT_EQ(refused("[vary]\nhosts = [8, 8]\n"),
              "s.toml:2:13: 'hosts' has the value 8 twice; leave one out");
    EXPECT_EQ(refused("seeds = 0\n"),
              "s.toml:1:9: 'seeds' must be a whole number from 1 to 10000; lists of seeds are "
              "'seed' in [vary]");
    EXPECT_EQ(refused("seeds = 2\n[vary]\nseed = [1]\n"),
              "s.toml:1:9: take either 'seeds' or 'seed' in [vary], not both");
    EXPECT_EQ(refused("[vary]\nsize = [\"1kB\",\n \"much\"]\n"),
              "s.toml:3:2: 'size' must be a size as 2MB, 64KiB or 512, not \"much\"");
    EXPECT_EQ(refused("[vary]\nmtu = [1000]\n"),
              "s.toml:2:8: 'mtu' must be 256, 512, 1024, 2048 or 4096, not \"1000\"");
    EXPECT_TRUE(
        refused("[vary]\nhosts = [\"many\"]\n").starts_with("s.toml:2:10: 'hosts' must be"));
    EXPECT_TRUE(refused("[vary\n").starts_with("s.toml:1:"));
}

TEST(Sweep, TooManyPointsAreRefused) {
    std::string text = "seeds = 10000\n[vary]\nhosts = [";
    for (int i = 1; i <= 101; ++i) {
        text += std::to_string(i) + ", ";
    }
    EXPECT_TRUE(refused(text + "]\n").starts_with("s.toml: more than 1000000 points"));
}

}  // namespace
}  // namespace softib::spec
