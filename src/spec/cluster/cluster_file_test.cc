// SPDX-License-Identifier: BSD-2-Clause
#include "spec/cluster/cluster_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/topo/spec.h"
#include "plan/cluster/presets.h"
#include "spec/key_rule.h"

namespace softib::spec {
namespace {

std::string refusal(std::string_view text) {
    const auto cluster = parse_cluster(text, "lab.toml");
    return cluster ? "accepted" : cluster.error();
}

TEST(ClusterFile, ChangesThePresetThatItNames) {
    const auto cluster = parse_cluster(R"(
name = "lab"
nodes = 64
base = "superpod-h100:4"
gpu = "H200"
[gpu_rates]
bf16 = 1000
memory_gib = 120
[nvlink]
gbs = 400
nvls = false
[fabric]
oversubscription = "2:1"
generation = "HDR"
link_layer = "roce"
sharp = false
)",
                                       "lab.toml");
    ASSERT_TRUE(cluster) << cluster.error();
    EXPECT_EQ(cluster->name, "lab");
    EXPECT_EQ(cluster->nodes(), 64U);
    EXPECT_EQ(cluster->gpu.name, "H200");
    EXPECT_EQ(cluster->gpu.peak(plan::Precision::kBf16), 1e15);
    EXPECT_EQ(cluster->gpu.memory_bytes, 120ULL << 30);
    EXPECT_EQ(cluster->nvlink.bytes_per_s, 400e9);
    EXPECT_FALSE(cluster->nvlink.nvls);
    EXPECT_EQ(cluster->fabric.spec.oversubscription, (topo::Taper{2, 1}));
    EXPECT_EQ(cluster->fabric.spec.generation, topo::Generation::kHdr);
    EXPECT_EQ(cluster->fabric.link_layer, plan::LinkLayer::kRoce);
    EXPECT_FALSE(cluster->fabric.sharp);
}

TEST(ClusterFile, GdrIsTwiceXdr) {
    const auto cluster =
        parse_cluster("[pcie]\ngbs = 256\n[fabric]\ngeneration = \"GDR\"\n", "lab.toml");
    ASSERT_TRUE(cluster) << cluster.error();
    EXPECT_NEAR(cluster->nic_bytes_per_s(), 200e9 * 0.9937, 1e8);
    const auto held_up =
        parse_cluster("[pcie]\ngbs = 55\n[fabric]\ngeneration = \"GDR\"\n", "lab.toml");
    ASSERT_TRUE(held_up) << held_up.error();
    EXPECT_EQ(held_up->nic_bytes_per_s(), 55e9);
}

TEST(ClusterFile, ErrorsNameLineAndNearestName) {
    EXPECT_EQ(refusal("base = \"superpod-h10\"\n"),
              "lab.toml:1:8: unknown preset 'superpod-h10'; did you mean 'superpod-h100'?");
    EXPECT_EQ(refusal("node = 4\n"), "lab.toml:1:1: unknown key 'node'; did you mean 'nodes'?");
    EXPECT_EQ(refusal("\n[nvlinks]\ngbs = 1\n"),
              "lab.toml:2:2: unknown section 'nvlinks'; did you mean 'nvlink'?");
    EXPECT_EQ(refusal("nodes = 0\n"),
              "lab.toml:1:9: 'nodes' must be a whole number from 1 to 65536");
    EXPECT_EQ(refusal("[nvlink]\nnvls = 3\n"), "lab.toml:2:8: 'nvls' must be true or false");
    EXPECT_EQ(refusal("gpu = \"H300\"\n"),
              "lab.toml:1:7: unknown GPU 'H300'; did you mean 'H100'?");
    EXPECT_NE(refusal("[fabric]\nradix = \"many\"\n").find("lab.toml:2:9: 'radix'"),
              std::string::npos);
    EXPECT_NE(refusal("[nvlink]\ndomain_gpus = 3\n").find("nvlink domain_gpus 3 must divide"),
              std::string::npos);
    EXPECT_NE(refusal("nodes = \n").find("lab.toml:1:"), std::string::npos);
}

/// Every key of a fabric either describes its shape, or is refused by name.
TEST(ClusterFile, KeysOfAFabricThatChangeNothingInAPlanAreRefused) {
    std::size_t refused = 0;
    for (const KeyRule& rule : key_rules()) {
        const std::string key(rule.key.name);
        const bool shape = std::ranges::any_of(
            shape_keys(), [&](const KeyRule& each) { return each.key.name == rule.key.name; });
        const bool acts = key == "engine" || key == "link_layer" ||
                          (shape && key != "hosts" && key != "hcas" && !key.ends_with("_pattern"));
        const std::string said = refusal("[fabric]\n" + key + " = 1\n");
        const bool no_effect = said.contains("'" + key + "' changes nothing in a plan; what does");
        if (key == "hosts" || key == "hcas") {
            EXPECT_TRUE(said.contains("above all sections, for '" + key + "' here")) << said;
        } else {
            EXPECT_EQ(no_effect, !acts) << said;
        }
        refused += acts ? 0 : 1;
    }
    EXPECT_GT(refused, 20U);
}

TEST(ClusterFile, EthernetLosesThePresetsSharpAndRefusesItsOwn) {
    const auto cluster = parse_cluster("[fabric]\nlink_layer = \"roce\"\n", "lab.toml");
    ASSERT_TRUE(cluster) << cluster.error();
    EXPECT_FALSE(cluster->fabric.sharp);
    EXPECT_TRUE(refusal("[fabric]\nlink_layer = \"roce\"\nsharp = true\n")
                    .contains("Ethernet switches do not aggregate"));
}

TEST(ClusterFile, ThePowerOfAGpuReplacesThatOfThePresetsNode) {
    const auto cluster =
        parse_cluster("base = \"superpod-h100:1\"\n[gpu_rates]\npower_w = 300\n", "lab.toml");
    ASSERT_TRUE(cluster) << cluster.error();
    EXPECT_EQ(cluster->node_power_w, 0);
    EXPECT_EQ(parse_cluster("base = \"superpod-h100:1\"\nnode_power_w = 9000\n"
                            "[gpu_rates]\npower_w = 300\n",
                            "lab.toml")
                  ->node_power_w,
              9000);
}

TEST(ClusterFile, WithoutNvlinkItsKeysAreRefused) {
    EXPECT_EQ(refusal("[nvlink]\ndomain_gpus = 1\ngbs = 9\n"),
              "lab.toml:3:7: 'gbs' changes nothing: a domain of one GPU has no NVLink");
    EXPECT_EQ(refusal("[nvlink]\ndomain_gpus = 1\n"), "accepted");
}

TEST(ClusterFile, AFolderIsNoFile) {
    EXPECT_EQ(find_cluster("/tmp/").error(), "cannot read /tmp/: Is a directory");
}

TEST(ClusterFile, PricesAreRanges) {
    const auto prices = parse_prices("nic = [1000, 1200]\n", "prices.toml");
    ASSERT_TRUE(prices) << prices.error();
    const auto nic = std::ranges::find(*prices, "nic", &plan::Price::name);
    ASSERT_NE(nic, prices->end());
    EXPECT_EQ(nic->low, 1000);
    EXPECT_EQ(nic->high, 1200);
    EXPECT_EQ(parse_prices("nick = [1, 2]\n", "p.toml").error(),
              "p.toml:1:1: unknown price 'nick'; did you mean 'nic'?");
    EXPECT_EQ(parse_prices("nic = 5\n", "p.toml").error(),
              "p.toml:1:7: 'nic' must be a range of two numbers and, if you want, where they are "
              "from: [LOW, HIGH, \"source\"]");
    EXPECT_FALSE(parse_prices("nic = [5, 3]\n", "p.toml"));
    EXPECT_FALSE(parse_prices("nic = [1, 2, 3]\n", "p.toml"));
}

std::string figures_of(const plan::Cluster& cluster) {
    const plan::ClusterFabric& fabric = cluster.fabric;
    const topo::Spec& spec = fabric.spec;
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", cluster.name,
                       cluster.title, cluster.source, cluster.gpu.name, cluster.gpus_per_node,
                       cluster.node_power_w, cluster.nvlink.domain_gpus, cluster.nvlink.bytes_per_s,
                       cluster.pcie.bytes_per_s, topo::to_string(spec.shape), spec.hosts,
                       spec.hcas_per_host, topo::link_speed(spec.generation).name, spec.radix,
                       spec.levels, spec.hosts_per_switch, spec.spine_oversubscription.down) +
           fmt::format(" {} {} {} {} {} {}", spec.spine_oversubscription.up,
                       spec.oversubscription.down, plan::to_string(fabric.link_layer), fabric.sharp,
                       fabric.mtu, fabric.engine);
}

TEST(ClusterFile, AFileOfThePlannerIsItsPreset) {
    for (const plan::Preset& preset : plan::presets()) {
        const auto copied =
            find_cluster(fmt::format("{}/clusters/{}.toml", SOFTIB_CLUSTERS, preset.name));
        ASSERT_TRUE(copied) << copied.error();
        EXPECT_EQ(figures_of(*copied), figures_of(*plan::find_preset(preset.name)));
    }
}

TEST(PriceFile, TheFileOfThePlannerIsItsDefaults) {
    const auto prices = load_prices(SOFTIB_CLUSTERS "/prices.toml");
    ASSERT_TRUE(prices) << prices.error();
    EXPECT_EQ(*prices, plan::default_prices());
}

}  // namespace
}  // namespace softib::spec
