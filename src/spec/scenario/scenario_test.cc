// SPDX-License-Identifier: BSD-2-Clause
#include "spec/scenario/scenario.h"

#include <gtest/gtest.h>

#include "spec/scenario/sweep.h"

namespace softib::spec {
namespace {

Result parse(std::string_view text, Scenario& scenario) {
    RunWish wish;
    return parse_scenario(text, "a.toml", "", scenario, wish);
}

std::string error_of(std::string_view text) {
    Scenario scenario;
    if (auto parsed = parse(text, scenario); !parsed) {
        return parsed.error();
    }
    const auto prepared = prepare(scenario);
    return prepared ? "" : prepared.error();
}

TEST(Scenario, AFileHoldsAllOfIt) {
    Scenario scenario;
    const auto parsed = parse(R"(
seed = 7
until = "2ms"
[fabric]
topology = "fat-tree"
hosts = 32
radix = 8
engine = "ftree"
[network]
adaptive = true
congestion_control = true
buffer = "32KiB"
[hosts]
mtu = 2048
pcie_rate = "256Gb/s"
context_cache = "2MiB"
[[traffic]]
pattern = "incast"
target = "h3"
sources = 5
size = "1MB"
[[traffic]]
pattern = "random"
among = ["h8-h15", "h31"]
rate = "50%"
repetitions = 10
start = "5us"
[[fail]]
link = "leaf0:5"
at = "50us"
[[fail]]
random = 2
)",
                              scenario);
    ASSERT_TRUE(parsed) << parsed.error();
    const auto made = prepare(scenario);
    ASSERT_TRUE(made) << made.error();
    EXPECT_EQ(made->fabric.hosts.size(), 32U);
    EXPECT_EQ(made->options.engine, "ftree");
    EXPECT_TRUE(made->options.hosts.adaptive);
    EXPECT_TRUE(made->options.congestion);
    EXPECT_EQ(made->options.plant.buffer_bytes, 32768U);
    EXPECT_EQ(made->options.hosts.mtu, 2048U);
    EXPECT_EQ(made->options.hosts.pcie_block_ps, 2000U);
    EXPECT_EQ(made->options.hosts.context_entries, 4096U);
    ASSERT_EQ(made->schedules.size(), 2U);
    EXPECT_EQ(made->schedules[0].sender_count(), 5U);
    EXPECT_EQ(made->schedules[0].traffic().target, 3U);
    EXPECT_EQ(made->schedules[1].sender_count(), 9U);
    EXPECT_NEAR(made->schedules[1].traffic().rate, 200e9, 1e9);
    ASSERT_EQ(made->options.failures.size(), 3U);
    EXPECT_EQ(made->options.failures[0].at, 50'000'000U);
    EXPECT_EQ(made->options.failures[1].at, 0U);
    EXPECT_EQ(scenario.until, 2'000'000'000U);
    EXPECT_EQ(scenario.seed, 7U);
}

TEST(Scenario, AnErrorNamesLineAndRemedy) {
    EXPECT_EQ(error_of("sed = 7\n"),
              "a.toml:1:1: unknown key 'sed' outside of the sections fabric, network, hosts, "
              "traffic, fail, vary and whatif; the keys are model, seed, until, compare, base, "
              "seeds");
    EXPECT_EQ(error_of("[fabric]\nhosts = 0\n"),
              "a.toml:2:9: 'hosts' must be a whole number from 1 to 393208, not 0");
    EXPECT_EQ(error_of("[fabric]\nhostes = 3\n"),
              "a.toml:2:10: unknown key 'hostes'; did you mean 'hosts'?");
    EXPECT_EQ(error_of("[[traffic]]\nsize = \"much\"\n"),
              "a.toml:2:8: 'size' must be a size as 2MB, 64KiB or 512, not \"much\"");
    EXPECT_EQ(error_of("[[traffic]]\npattern = \"incast\"\ntarget = \"h9\"\n"),
              "a.toml:1:1: there is no host 'h9'; the first is h0, the last h1");
    EXPECT_EQ(
        error_of("[[traffic]]\npattern = \"chaos\"\n"),
        "a.toml:2:11: 'pattern' must be one of permutation, shift, group-shift, bisection, incast, "
        "all-to-all, random, hotspot, pairs, ring, sharp-allreduce, not \"chaos\"");
    EXPECT_EQ(error_of("[[fail]]\nlink = \"sw0:9\"\n"),
              "a.toml:1:1: there is no port 'sw0:9': write SWITCH:PORT or HOST; softib topo shows "
              "them");
    EXPECT_EQ(error_of("[[fail]]\nat = \"5us\"\n"),
              "a.toml:1:1: say what fails: link, switch, router or random");
    EXPECT_EQ(error_of("[[fail]]\nlink = \"sw0:1\"\nat = 50\n"),
              "a.toml:1:1: 'at' must be a time as 50us or 1.5ms, not \"50\"");
    EXPECT_EQ(error_of("[[fail]]\nrandom = 0\n"),
              "a.toml:1:1: 'random' must be a number of cables, not \"0\"");
    EXPECT_EQ(error_of("[network]\ncable = \"1s\"\n"),
              "a.toml:2:9: 'cable' must be from 0 ps to 100 us");
    EXPECT_EQ(error_of("[[fail]]\nlink = \"sw0:1\"\nat = {}\n"),
              "a.toml:3:6: 'at' must be a text, a number, true or false");
    EXPECT_EQ(error_of("[[fail]]\nlink = \"sw0:1\"\nswitch = \"sw0\"\n"),
              "a.toml:3:1: a [[fail]] has one of link, switch, router and random: write another "
              "[[fail]] for the second");
    EXPECT_EQ(error_of("traffic = 3\n"), "a.toml:1:11: write each as a section [[traffic]]");
    EXPECT_EQ(error_of("[network]\nadaptive = 3\n"),
              "a.toml:2:12: 'adaptive' must be true or false, not \"3\"");
}

TEST(Scenario, NoMoreCablesFailThanThereAre) {
    EXPECT_EQ(error_of("[fabric]\ntopology = \"fat-tree\"\nhosts = 8\nradix = 4\n"
                       "[[fail]]\nrandom = 1000\n"),
              "a.toml:5:1: 1000 cables cannot fail: there are 8 between switches and of routers");
}

constexpr char kSmallTree[] = "[fabric]\ntopology = \"fat-tree\"\nhosts = 8\nradix = 4\n";

TEST(Scenario, NothingFailsTwice) {
    const std::string tree(kSmallTree);
    EXPECT_EQ(error_of(tree + "[[fail]]\nlink = \"leaf0:3\"\n[[fail]]\nlink = \"spine0:1\"\n"),
              "a.toml:7:1: spine0:1 fails already: leave it out");
    // Cables of a lost switch are lost with it, in whatever order a file says so.
    const std::string cable = "[[fail]]\nlink = \"spine0:1\"\n";
    EXPECT_EQ(error_of(tree + cable + "[[fail]]\nswitch = \"leaf0\"\n"),
              "a.toml:5:1: spine0:1 fails already: leave it out");
    EXPECT_EQ(error_of(tree + cable + "[[fail]]\nswitch = \"leaf0\"\nat = \"5us\"\n"), "");
    EXPECT_EQ(error_of(tree + "[[fail]]\nrandom = 7\n[[fail]]\nswitch = \"leaf0\"\n"),
              "a.toml:5:1: 7 cables cannot fail: there are 6 between switches and of routers that "
              "do not fail already");
    EXPECT_EQ(error_of(tree + "[[fail]]\nswitch = \"leaf0\"\n[[fail]]\nswitch = \"leaf0\"\n"),
              "a.toml:7:1: leaf0 fails already: leave it out");
    EXPECT_EQ(error_of(tree + "[[fail]]\nrandom = 5\n[[fail]]\nrandom = 4\n"),
              "a.toml:7:1: 4 cables cannot fail: there are 3 between switches and of routers that "
              "do not fail already");
    EXPECT_EQ(error_of(tree + "[[fail]]\nlink = \"leaf0\"\n"),
              "a.toml:5:1: there is no port 'leaf0': write SWITCH:PORT or HOST; softib topo shows "
              "them");
}

TEST(Scenario, WhatBeginsAfterTheEndOfTheRunIsRefused) {
    EXPECT_EQ(error_of("until = \"1us\"\n[[traffic]]\nstart = \"5us\"\n"),
              "a.toml:2:1: this traffic begins at 5 us, and the run stops at 1 us (until)");
    EXPECT_EQ(error_of("until = \"1us\"\n[[fail]]\nlink = \"sw0:1\"\nat = \"1us\"\n"),
              "a.toml:2:1: this failure comes at 1 us, and the run stops at 1 us (until)");
}

TEST(Scenario, AHostTakesPartOnce) {
    EXPECT_EQ(error_of("[[traffic]]\namong = \"h0-h1,h0\"\n"), "a.toml:1:1: h0 is there twice");
}

TEST(Scenario, EthernetHasKeysOfItsOwn) {
    Scenario scenario;
    const auto parsed = parse(R"(
seed = 9
[fabric]
hosts = 4
link_layer = "ethernet"
[network]
ecmp = "spray"
pfc = "off"
pfc_xoff = "100KiB"
switch_buffer = "8MiB"
ecn = "6400,64000,25%"
[hosts]
dcqcn_timer = "100us"
dcqcn_ai = "2%"
loss_recovery = "selective"
)",
                              scenario);
    ASSERT_TRUE(parsed) << parsed.error();
    const auto made = prepare(scenario);
    ASSERT_TRUE(made) << made.error();
    ASSERT_TRUE(made->options.roce);
    const net::RoceOptions& roce = *made->options.roce;
    EXPECT_EQ(roce.ecmp, net::RoceOptions::Ecmp::kSpray);
    EXPECT_FALSE(roce.links.lossless);
    EXPECT_EQ(roce.links.xoff_bytes, 102'400U);
    EXPECT_EQ(roce.links.xon_bytes, 76'800U) << "three quarters";
    EXPECT_EQ(roce.links.buffer_bytes, 8U << 20);
    EXPECT_EQ(roce.links.ecn.low_blocks, 100U);
    EXPECT_EQ(roce.links.ecn.high_blocks, 1000U);
    EXPECT_DOUBLE_EQ(roce.links.ecn.most, 0.25);
    EXPECT_EQ(roce.links.seed, 9U);
    EXPECT_EQ(roce.hosts.algorithm, link::find_congestion_algorithm("dcqcn"));
    EXPECT_EQ(roce.hosts.congestion.dcqcn.increase_period_ps, 100'000'000U);
    EXPECT_DOUBLE_EQ(roce.hosts.congestion.dcqcn.additive, 0.02);
    EXPECT_TRUE(roce.hosts.selective);
    EXPECT_EQ(roce.hosts.reorder_packets, 64U) << "sprayed packets overtake each other";
}

TEST(Scenario, TheAlgorithmOfCongestionControlIsAKey) {
    Scenario scenario;
    ASSERT_TRUE(
        parse("[fabric]\nlink_layer = \"ethernet\"\nhosts = 4\n[hosts]\n"
              "cc = \"swift\"\nswift_target = \"700ns\"\nswift_ai = 2\n",
              scenario));
    const auto made = prepare(scenario);
    ASSERT_TRUE(made) << made.error();
    EXPECT_EQ(made->options.roce->hosts.algorithm->title, "Swift");
    EXPECT_EQ(made->options.roce->hosts.congestion.swift.queueing_ps, 700'000U);
    EXPECT_DOUBLE_EQ(made->options.roce->hosts.congestion.swift.additive, 2);
}

TEST(Scenario, AVariantHasTheKeysThatItsLinkLayerKnows) {
    Scenario scenario;
    ASSERT_TRUE(
        parse("compare = [\"ib\", \"roce+ecmp=spray+hosts=3\"]\n"
              "[network]\ncongestion_control = true\nswitch_buffer = \"4MiB\"\n",
              scenario));
    ASSERT_EQ(scenario.compare.size(), 2U);
    const auto ib = prepare(*choose_variant(scenario, scenario.compare[0]));
    ASSERT_TRUE(ib) << ib.error();
    EXPECT_FALSE(ib->options.roce);
    EXPECT_TRUE(ib->options.congestion);
    const auto roce = prepare(*choose_variant(scenario, scenario.compare[1]));
    ASSERT_TRUE(roce) << roce.error();
    ASSERT_TRUE(roce->options.roce);
    EXPECT_EQ(roce->options.roce->links.buffer_bytes, 4U << 20);
    EXPECT_EQ(roce->options.roce->ecmp, net::RoceOptions::Ecmp::kSpray);
    EXPECT_EQ(roce->fabric.hosts.size(), 3U);
    EXPECT_EQ(apply_scenario_flag("compare", "ib,ib", scenario).error(),
              "--compare must not have \"ib\" twice");
    EXPECT_EQ(apply_scenario_flag("compare", "fddi", scenario).error(),
              "--compare must be a list of ib and roce, each with keys behind it as "
              "ib+adaptive,roce+ecmp=spray, not \"fddi\"");
}

TEST(Scenario, FlagsSayTheSame) {
    Scenario scenario;
    ASSERT_TRUE(add_traffic("incast,size=2MB,target=h1", {{"size", "1MB"}}, "--traffic", scenario));
    ASSERT_TRUE(add_traffic("shift", {{"size", "1MB"}}, "--traffic", scenario));
    EXPECT_EQ(scenario.traffics[0].traffic.bytes, 2'000'000U);
    EXPECT_EQ(scenario.traffics[1].traffic.bytes, 1'000'000U);
    EXPECT_EQ(add_traffic("incast,size=1kB,size=2kB", {}, "--traffic", scenario).error(),
              "--traffic incast,size=1kB,size=2kB: 'size' is there twice");
    EXPECT_EQ(add_traffic("incast,2MB", {}, "--traffic", scenario).error(),
              "--traffic incast,2MB: write it as PATTERN,KEY=VALUE,...");
    EXPECT_EQ(apply_scenario_flag("mtu", "3000", scenario).error(),
              "--mtu must be 256, 512, 1024, 2048 or 4096, not \"3000\"");
    ASSERT_TRUE(add_failure("fail_random", "3@1ms", "--fail-random", scenario));
    EXPECT_EQ(scenario.failures[0].count, 3U);
    EXPECT_EQ(scenario.failures[0].at, 1'000'000'000U);
    EXPECT_EQ(add_failure("fail_link", "a:1@soon", "--fail-link", scenario).error(),
              "--fail-link: the time must be a time as 50us or 1.5ms, not \"soon\"");
}

}  // namespace
}  // namespace softib::spec
