// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>

#include "run/execute.h"
#include "run/make.h"

namespace softib::run {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

const Flags kTree{{"topology", "fat-tree"}, {"hosts", "8"}, {"radix", "4"}, {"size", "4kB"}};

/// Returns flags on a small tree.
Flags on_tree(const Flags& flags) {
    Flags all = kTree;
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
}

/// Returns why a run is refused; empty if it is not.
std::string why(const Flags& flags, std::optional<std::string> text = {}, bool job = false) {
    const auto run = make_run({.text = std::move(text), .flags = flags, .job = job});
    EXPECT_TRUE(run || run.error().misuse || text) << run.error().text;
    return run ? "" : run.error().text;
}

TEST(Run, KeysOfTheOtherLinkLayerAreRefusedByName) {
    EXPECT_EQ(why({}, "[network]\necn = \"off\"\n"),
              "a scenario given as text:2:7: 'ecn' is for Ethernet: add --link-layer ethernet (in "
              "a file: link_layer = \"ethernet\" in [fabric]), or --compare ib,roce");
    EXPECT_EQ(why({{"link_layer", "ethernet"}, {"cc_timer", "3"}}),
              "--cc-timer: 'cc_timer' is for InfiniBand: leave it out, take cc instead");
}

TEST(Run, AKeyMustActOnOneOfTheNetworksThatAreCompared) {
    EXPECT_EQ(why({{"compare", "ib,roce"}, {"ecn", "off"}, {"congestion_control", "true"}}), "");
    EXPECT_NE(why({{"compare", "ib,ib+adaptive"}, {"ecn", "off"}}).find("is for Ethernet"),
              std::string::npos);
    EXPECT_NE(why({{"compare", "ib+ecn=off,roce"}}).find("--compare ib+ecn=off: 'ecn' is for"),
              std::string::npos);
    EXPECT_NE(why({{"compare", "ib,roce"}, {"link_layer", "ethernet"}}).find("'link_layer' is not"),
              std::string::npos);
}

TEST(Run, AKeyThatAnotherOverridesIsRefused) {
    EXPECT_EQ(why({{"outstanding", "5"}}),
              "--outstanding: 'outstanding' does nothing without a closed loop of several "
              "repetitions: leave rate out, give repetitions");
    EXPECT_EQ(why({{"outstanding", "5"}, {"traffic", "all-to-all"}}), "");
    EXPECT_EQ(why({{"contexts", "4"}, {"context_cache", "4KiB"}}),
              "--contexts: 'contexts' does nothing without context_cache left out, which says the "
              "same");
    EXPECT_EQ(why({}, "[network]\ncongestion_control = false\ncc_timer = 3\n"),
              "a scenario given as text:3:12: 'cc_timer' does nothing without congestion control, "
              "and congestion_control = false turns it off");
}

TEST(Run, AFlagForAllTrafficsMustActOnOne) {
    const Flags own{{"hosts", "4"}, {"traffic", "shift,size=4kB"}, {"size", "5kB"}};
    const auto idle = make_run({.flags = own});
    ASSERT_FALSE(idle);
    EXPECT_EQ(idle.error().text,
              "--size: 'size' changes nothing, since every traffic says it: say it only there");
    Flags two = own;
    two.emplace_back("traffic", "incast");
    EXPECT_TRUE(make_run({.flags = two}));
}

TEST(Run, WhatIsThereTwiceIsRefused) {
    EXPECT_NE(why({{"compare", "ib+mtu=1024+mtu=2048"}}).find("must not have 'mtu' twice"),
              std::string::npos);
    EXPECT_NE(why({}, "[fabric]\nhost-pattern = \"a{}\"\nhost_pattern = \"b{}\"\n")
                  .find("'host_pattern' is there twice"),
              std::string::npos);
}

TEST(Run, WhatIsRefusedInAKindOfRunIsNotSentToTheOtherLinkLayer) {
    EXPECT_EQ(
        why({{"traffic", "sharp-allreduce"}, {"congestion_control", "true"}}),
        "--congestion-control: 'congestion_control' is not for sharp-allreduce: leave it out");
}

TEST(Run, AFileThatIsItsOwnBaseIsRefused) {
    const std::string file = testing::TempDir() + "own_base.toml";
    std::ofstream(file) << "base = \"own_base.toml\"\n";
    const auto run = make_run({.file = file});
    ASSERT_FALSE(run);
    EXPECT_NE(run.error().text.find("none may be its own base"), std::string::npos);
}

TEST(Run, WhatAKindOfRunCannotWriteIsRefusedByName) {
    for (const char* const output : {"csv_links", "export", "record"}) {
        for (const Flags& kind : {Flags{{"whatif", "true"}}, Flags{{"compare", "ib,roce"}},
                                  Flags{{"traffic", "sharp-allreduce"}}}) {
            Flags flags = kind;
            flags.emplace_back(output, std::string(output) == "export" ? "csv=x" : "x");
            EXPECT_NE(why(flags).find("'" + std::string(output) + "' is not for "),
                      std::string::npos)
                << output << why(flags);
        }
    }
    EXPECT_EQ(why({{"whatif", "true"}, {"html", "x"}, {"csv", "y"}}), "");
    EXPECT_NE(why({{"traffic", "sharp-allreduce"}, {"html", "x"}}).find("'html' is not for sharp"),
              std::string::npos);
    EXPECT_NE(why({{"csv", "-"}, {"json", "true"}}).find("would be written twice"),
              std::string::npos);
}

TEST(Run, ASweepsPointsAreSingleSimulations) {
    EXPECT_EQ(why({}, "compare = [\"ib\"]\nseeds = 2\n"),
              "a scenario given as text:1:11: 'compare' is not for a sweep: leave it out");
    EXPECT_NE(why({{"threads", "2"}}, "seeds = 2\n").find("'threads' is not for a sweep"),
              std::string::npos);
    EXPECT_NE(why({{"whatif", "true"}}, "seeds = 2\n").find("'whatif' is not for a sweep"),
              std::string::npos);
    EXPECT_NE(why({{"traffic", "sharp-allreduce"}}, "seeds = 2\n").find("stands alone"),
              std::string::npos);
}

TEST(Run, AKeyOfASweepMustActAtOneOfThePoints) {
    EXPECT_EQ(why({{"reorder", "9"}},
                  "[fabric]\nlink_layer = \"ethernet\"\n"
                  "[vary]\nloss_recovery = [\"gbn\", \"selective\"]\n"),
              "");
    EXPECT_EQ(why({}, "[vary]\necn = [\"off\", \"1KiB:2KiB:5%\"]\n").find("a scenario given"), 0U);
    EXPECT_NE(why({{"size", "1MB"}}, "[vary]\ntraffic = [\"shift\", \"random\"]\n")
                  .find("'size' is replaced at every point"),
              std::string::npos);
}

TEST(Run, TheProcessesOfAJobShareOneSimulation) {
    EXPECT_EQ(why({}, {}, true), "");
    for (const Flags& flags : {Flags{{"compare", "ib,roce"}}, Flags{{"whatif", "true"}},
                               Flags{{"traffic", "sharp-allreduce"}}, Flags{{"model", "flow"}},
                               Flags{{"threads", "2"}}, Flags{{"link_layer", "ethernet"}}}) {
        EXPECT_NE(why(flags, {}, true).find("mpirun"), std::string::npos) << why(flags, {}, true);
    }
    EXPECT_EQ(why({}, "seeds = 2\n", true), "") << "each process has a part of the points";
}

TEST(Run, AKeyOfTrafficIsForItsPatterns) {
    for (const auto& [pattern, key, value] :
         {std::tuple("permutation", "shift", "2"), std::tuple("permutation", "target", "h1"),
          std::tuple("permutation", "sources", "2"), std::tuple("permutation", "hot", "5%"),
          std::tuple("ring", "shift", "2"), std::tuple("ring", "rate", "5%"),
          std::tuple("pairs", "among", "h0"), std::tuple("sharp-allreduce", "start", "1us")}) {
        const std::string text = std::string(pattern) + "," + key + "=" + value;
        EXPECT_NE(why({{"traffic", text}}).find(std::string("'") + key + "' is for the patterns"),
                  std::string::npos)
            << text;
        EXPECT_NE(why({{"traffic", pattern}, {key, value}})
                      .find(std::string("'") + key + "' is for the patterns"),
                  std::string::npos)
            << text;
    }
    EXPECT_EQ(why({{"traffic", "shift"}, {"traffic", "incast"}, {"shift", "3"}, {"target", "h1"}}),
              "")
        << "each acts with one of the traffics";
}

TEST(Run, TheFlowModelTakesOnlyWhatItKnows) {
    for (const auto& [key, value] :
         {std::pair("timeout", "1ms"), std::pair("retries", "3"), std::pair("burst", "4"),
          std::pair("ack_every", "9"), std::pair("buffer", "32KiB"), std::pair("window", "4"),
          std::pair("contexts", "9"), std::pair("congestion_control", "true"),
          std::pair("message_rate", "1M"), std::pair("fail_random", "1@1us")}) {
        EXPECT_NE(why(on_tree({{"model", "flow"}, {key, value}})).find("needs packets"),
                  std::string::npos)
            << key;
    }
}

TEST(Run, AKeyThatNeedsAnotherSaysWhich) {
    EXPECT_EQ(why({{"context_bytes", "64"}}),
              "--context-bytes: 'context_bytes' does nothing without context_cache");
    EXPECT_EQ(why({{"context_bytes", "64"}, {"context_cache", "4KiB"}}), "");
    EXPECT_NE(why({{"repair_after", "9us"}}).find("a failure during the run"), std::string::npos);
    EXPECT_NE(why({{"whatif", "true"}, {"whatif.seeds", "4"}}).find("fail_random"),
              std::string::npos);
    EXPECT_NE(why({{"port", "0"}}).find("does nothing without --serve"), std::string::npos);
    EXPECT_NE(why({{"rate", "5%"}, {"outstanding", "3"}}).find("leave rate out"),
              std::string::npos);
}

TEST(Run, KeysOfRunningFabricsAreRefused) {
    for (const auto& [key, value] : {std::pair("arena", "4G"), std::pair("data_path", "packet"),
                                     std::pair("lmc", "2"), std::pair("telemetry", "true")}) {
        EXPECT_NE(why({{key, value}}).find("is for running fabrics"), std::string::npos) << key;
    }
}

TEST(Run, ASharpAllReduceTakesOnlyWhatActsInIt) {
    for (const auto& [key, value] :
         {std::pair("compare", "ib,roce"), std::pair("congestion_control", "true"),
          std::pair("mtu", "1024"), std::pair("until", "1ns"), std::pair("pcie_rate", "9Gb/s"),
          std::pair("window", "4"), std::pair("timeout", "1us"), std::pair("retries", "2"),
          std::pair("rate", "5%"), std::pair("repetitions", "3"), std::pair("outstanding", "3"),
          std::pair("fail_random", "1"), std::pair("threads", "2"), std::pair("seed", "4")}) {
        const std::string told = why(on_tree({{"traffic", "sharp-allreduce"}, {key, value}}));
        EXPECT_NE(told.find(key == std::string("compare") ? "stands alone"
                                                          : "'" + std::string(key) + "'"),
                  std::string::npos)
            << key << ": " << told;
    }
    EXPECT_EQ(why({}, "[fabric]\nhosts = 4\n[[traffic]]\npattern = \"sharp-allreduce\"\n"), "");
    // Only one of them could be in the report.
    EXPECT_NE(why({{"traffic", "sharp-allreduce"}, {"traffic", "sharp-allreduce,size=8"}})
                  .find("stands alone"),
              std::string::npos);
}

TEST(Run, AListInAVariantBelongsToItsKey) {
    const Flags lanes{
        {"compare", "ib,ib+qos+vlarb-low=0:64,1:192+sl2vl=0,1,roce+ecn=16KiB:64KiB:20%"}};
    const auto run = make_run({.flags = on_tree(lanes)});
    ASSERT_TRUE(run) << run.error().text;
    const auto& variants = std::get<Compare>(run->kind).variants;
    ASSERT_EQ(variants.size(), 3U);
    EXPECT_EQ(variants[1].keys[1].second, "0:64,1:192");
    EXPECT_EQ(variants[1].keys[2].second, "0,1");
    EXPECT_NE(why({{"compare", "ib,rose"}}).find("must be a list of ib and roce"),
              std::string::npos);
}

TEST(Run, KeysOfLanesInADescriptionActOrAreRefused) {
    const std::string file = testing::TempDir() + "lanes.toml";
    std::ofstream(file) << "hosts = 4\ndata_path = \"packet\"\nvlarb_low = \"0:4\"\n";
    const auto refused = [&](const Flags& flags) {
        const auto run = make_run({.config = file, .flags = flags});
        return run ? "" : run.error().text;
    };
    EXPECT_NE(refused({}).find("lanes.toml:3:13: 'vlarb_low' does nothing without qos"),
              std::string::npos);
    EXPECT_EQ(refused({{"qos", "true"}}), "");
    EXPECT_NE(refused({{"qos", "true"}, {"model", "flow"}}).find("needs packets"),
              std::string::npos);
}

TEST(Run, APartOfTheLinkNeedsLinksOfOneSpeed) {
    const std::string file = testing::TempDir() + "speeds.net";
    std::ofstream(file) << "Switch 2 \"s\"\n[1] \"a\"[1] # 4xHDR\n[2] \"b\"[1] # 4xEDR\n"
                           "Hca 1 \"a\"\n[1] \"s\"[1] # 4xHDR\nHca 1 \"b\"\n[1] \"s\"[2] # 4xEDR\n";
    const auto error_of = [&](const std::string& rate) {
        const auto run = make_run({.flags = {{"from", file}, {"rate", rate}, {"size", "4kB"}}});
        EXPECT_TRUE(run) << run.error().text;
        Watch watch;
        const auto outcome = execute(*run, watch);
        return outcome ? "" : outcome.error();
    };
    EXPECT_NE(error_of("50%").find("hosts have links of 200 and of 100 Gb/s"), std::string::npos);
    EXPECT_EQ(error_of("50Gb/s"), "");
}

TEST(Run, ALibraryThatHoldsOneSimulationRefusesTheOtherKinds) {
    const auto refused = [](const std::string& text) {
        const auto run = make_run({.text = text, .one_simulation = true});
        return run ? "" : run.error().text;
    };
    EXPECT_EQ(refused("seed = 2\n"), "");
    EXPECT_EQ(refused("compare = [\"ib\"]\n")
                  .find("a scenario given as text:1:11: 'compare' makes this a comparison"),
              0U);
    EXPECT_NE(refused("[whatif]\n").find("makes this whatif"), std::string::npos);
    EXPECT_NE(refused("seeds = 3\n").find("'seeds' makes this a sweep"), std::string::npos);
    EXPECT_NE(refused("[[traffic]]\npattern = \"sharp-allreduce\"\n").find("'pattern' makes this"),
              std::string::npos);
}

/// Returns the JSON of a run.
std::string outcome_of(const std::string& text) {
    const auto run = make_run({.text = text});
    EXPECT_TRUE(run) << run.error().text;
    Watch watch;
    const auto outcome = execute(*run, watch);
    EXPECT_TRUE(outcome) << outcome.error();
    return to_json(**outcome);
}

TEST(Run, EveryKindIsAKeyOfAFile) {
    const std::string fabric =
        "[fabric]\ntopology = \"fat-tree\"\nhosts = 8\nradix = 4\n[[traffic]]\nsize = \"4kB\"\n";
    EXPECT_NE(outcome_of(fabric).find("\"busiest_links\""), std::string::npos);
    EXPECT_NE(outcome_of("compare = \"ib,roce\"\n" + fabric).find("\"variants\""),
              std::string::npos);
    EXPECT_NE(outcome_of("[whatif]\nseeds = 2\n[[fail]]\nrandom = 1\n" + fabric).find("\"cases\""),
              std::string::npos);
    EXPECT_NE(outcome_of("seeds = 2\n" + fabric).find("\"points\""), std::string::npos);
    EXPECT_NE(outcome_of(fabric + "pattern = \"sharp-allreduce\"\n").find("\"sharp\""),
              std::string::npos);
}

}  // namespace
}  // namespace softib::run
