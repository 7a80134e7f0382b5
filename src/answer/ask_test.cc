// SPDX-License-Identifier: BSD-2-Clause
#include "answer/ask.h"

#include <gtest/gtest.h>

#include "answer/cluster.h"
#include "answer/collective.h"
#include "answer/comparison.h"
#include "answer/expect.h"
#include "answer/train.h"

namespace softib::answer {
namespace {

constexpr char kJob[] = "model = \"llama3.1-8b\"\ncluster = \"hgx-h200:2\"\ntp = 2\n";

std::expected<std::string, std::string> ask_for(const std::string& kind, const std::string& keys) {
    return ask("ask = \"" + kind + "\"\n" + kJob + keys, "").value();
}

TEST(Ask, AnswersAreThoseOfTheCommand) {
    const spec::TrainQuestion question{
        .model = "llama3.1-8b", .cluster = "hgx-h200:2", .wish = {.tp = 2}};
    EXPECT_EQ(ask_for("train", "").value(), to_json(time_step(question)->report));
    EXPECT_TRUE(ask_for("search", "top = 2\n").value().contains("\"open\": 0"));
}

/// Returns the answer to a question that is not about training.
std::expected<std::string, std::string> plan(const std::string& text) {
    return ask(text, "").value();
}

TEST(Ask, ClustersCollectivesAndNetworksAreAnsweredToo) {
    EXPECT_EQ(plan("ask = \"presets\"").value(), presets_json());
    EXPECT_EQ(plan("ask = \"models\"").value(), models_json());
    EXPECT_EQ(plan("ask = \"show\"\ncluster = \"hgx-h200:16\"\nnodes = 2\n").value(),
              to_json(*show({.cluster = "hgx-h200:16", .nodes = 2})));
    CollectiveQuestion question{
        .cluster = "hgx-b200:4", .sizes = "1G,2G", .algorithms = "ring,tree"};
    EXPECT_EQ(plan("ask = \"collective\"\ncluster = \"hgx-b200:4\"\nsizes = [\"1G\", \"2G\"]\n"
                   "algorithms = [\"ring\", \"tree\"]\ncollnet = false\n")
                  .value(),
              to_json(time_collective(question)->report));
    EXPECT_EQ(
        plan("ask = \"compare\"\nwhat = \"sharp\"\ncluster = \"hgx-h200:4\"\nsize = \"8MB\"\n")
            .value(),
        to_json(*compare({.what = "sharp", .cluster = "hgx-h200:4", .size = "8MB"})));
}

TEST(Ask, AClusterAndAModelMayStandInTheQuestion) {
    const std::string job = "ask = \"train\"\ntp = 2\n";
    const std::string texts =
        "model = \"base = 'llama3.1-8b'\\nname = 'mine'\\nlayers = 16\\n\"\n"
        "cluster = \"base = 'hgx-h200:2'\\nname = 'ours'\\ngpu = 'B200'\\n\"\n";
    const std::string tables =
        "[model]\nbase = \"llama3.1-8b\"\nname = \"mine\"\nlayers = 16\n"
        "[cluster]\nbase = \"hgx-h200:2\"\nname = \"ours\"\ngpu = \"B200\"\n";
    const std::string answer = plan(job + texts).value();
    EXPECT_TRUE(answer.contains("\"layers\": 16"));
    EXPECT_TRUE(answer.contains("\"gpu\": \"B200\""));
    EXPECT_EQ(plan(job + tables).value(), answer);
    EXPECT_TRUE(plan("ask = \"collective\"\nsizes = 1000000\n[cluster]\nname = \"ours\"\n")
                    .value()
                    .contains("\"cluster\": \"ours\""));
    EXPECT_EQ(plan(job + "model = \"llama3.1-8b\"\n[cluster]\nnodse = 2\n").error().substr(0, 67),
              "a cluster given as text:1:1: unknown key 'nodse'; did you mean 'nod");
    EXPECT_EQ(plan("ask = \"show\"\nnodes = 3\n[cluster]\nnodes = 2\nname = \"ours\"\n").error(),
              "--nodes: there are only 2 nodes in ours, not 3");
}

TEST(Ask, ADescriptionHasWhatTheBaseHas) {
    const std::string model =
        plan("ask = \"describe\"\n[model]\nbase = \"llama3.1-8b\"\nlayers = 16\n").value();
    EXPECT_TRUE(model.contains("\"layers\": 16")) << model;
    EXPECT_TRUE(model.contains("\"hidden\": 4096")) << model;
    const std::string cluster =
        plan("ask = \"describe\"\n[cluster]\nbase = \"nvl72-xdr\"\nnvlink = {nvls = false}\n")
            .value();
    EXPECT_TRUE(cluster.contains("\"nvls\": false")) << cluster;
    EXPECT_TRUE(cluster.contains("\"domain_gpus\": 72")) << cluster;
    EXPECT_TRUE(plan("ask = \"describe\"").error().starts_with("say which: cluster = "));
}

TEST(Ask, WhatBenchmarksShouldGiveIsAnsweredWithALogAndWithoutOne) {
    const std::string question =
        "ask = \"expect\"\ncluster = \"hgx-h100:2\"\nbenchmark = \"osu_latency\"\n";
    EXPECT_EQ(
        plan(question + "sizes = [8, \"1M\"]\n").value(),
        to_json(*expect({.cluster = "hgx-h100:2", .benchmark = "osu_latency", .sizes = "8,1M"})));
    const std::string log = "# OSU MPI Latency Test v7.3\\n# Size  Latency (us)\\n8  40.0\\n";
    const std::string slow =
        plan("ask = \"expect\"\ncluster = \"hgx-h100:2\"\ntext = \"" + log + "\"\n").value();
    EXPECT_TRUE(slow.contains("\"off\": 1"));
    EXPECT_TRUE(slow.contains("\"name\": \"slow-hosts\""));
    const auto refused = plan("ask = \"expect\"\ncluster = \"hgx-h100:2\"\nlogs = \"no.log\"\n");
    EXPECT_TRUE(refused.error().contains("cannot read ./no.log")) << refused.error();
    EXPECT_TRUE(plan("ask = \"expect\"\n").error().contains("say which cluster"));
}

TEST(Ask, EveryKeyIsReadAndAWrongOneIsRefusedByName) {
    const std::string ring = "ask = \"collective\"\ncluster = \"hgx-b200:4\"\nsizes = 1000000\n";
    const auto refused = [&](const std::string& more) { return plan(ring + more).error(); };
    EXPECT_TRUE(refused("alogrithms = \"ring\"").contains("did you mean 'algorithms'?"));
    EXPECT_TRUE(refused("alogrithms = \"ring\"").starts_with("a question given as text:4:1: "));
    EXPECT_TRUE(refused("stack = \"nmpi\"").contains("'stack' must be one of nccl|mpi"));
    EXPECT_TRUE(refused("nodes = 0").contains("'nodes' must be 1 to 1000000"));
    EXPECT_TRUE(refused("collnet = 1").contains("'collnet' must be true or false"));
    EXPECT_TRUE(refused("model = true").contains("'model' must be a text or a number"));
    EXPECT_TRUE(refused("html = \"x.html\"").contains("for the command, which writes files"));
    EXPECT_TRUE(refused("seed = 2").starts_with("--seed changes nothing here: it needs"));
    EXPECT_TRUE(refused("seed = -2").contains("'seed' must be a whole number"));
    EXPECT_TRUE(plan(ring + "order = \"random\"\nseed = 2").has_value());
    EXPECT_TRUE(plan("ask = \"collective\"").error().contains("say which cluster"));
    EXPECT_TRUE(plan("ask = \"show\"").error().contains("say which cluster"));
    EXPECT_TRUE(
        plan("ask = \"compare\"\nwhat = \"tests\"").error().contains("'what' must be one of"));
    EXPECT_TRUE(plan("ask = \"show\"\ncluster = \"no-such\"").error().contains("unknown"));
    EXPECT_TRUE(plan("ask = \"presets\"\nnodes = 2").error().contains("leave 'nodes' out"));
}

TEST(Ask, ThreadsDoNotChangeWhatASearchFinds) {
    EXPECT_EQ(ask_for("search", "threads = 1\n"), ask_for("search", "threads = 5\n"));
}

TEST(Ask, AFaultIsASentence) {
    EXPECT_EQ(ask_for("trian", "").error(),
              "a question given as text: unknown ask 'trian'; did you mean 'train'?");
    EXPECT_TRUE(ask_for("train", "pp = 3\n").error().starts_with("pp 3 must divide the 32 layers"));
    EXPECT_TRUE(ask_for("train", "top = 3\n").error().contains("'top' changes nothing here"));
    EXPECT_FALSE(ask("[fabric]\nhosts = 4\n", "").has_value()) << "a scenario";
    EXPECT_FALSE(ask("ask = [", "").has_value()) << "no TOML";
}

}  // namespace
}  // namespace softib::answer
