// SPDX-License-Identifier: BSD-2-Clause
#include "spec/description.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "core/topo/spec.h"
#include "spec/fabric_name.h"

namespace softib::spec {
namespace {

std::string error_of(const std::string& text) {
    Description description;
    const auto parsed = parse_description(text, "lab.toml", description);
    return parsed ? "" : parsed.error();
}

TEST(Config, EveryKeyIsRead) {
    Description description;
    const auto parsed = parse_description(R"(
        name = "lab"
        topology = "torus"
        hosts = 8
        hcas = 2
        radix = 12
        dimensions = [2, 4]
        hosts-per-switch = 2
        generation = "hdr"
        device_pattern = "ib{}"
        host_pattern = "node{}"
        arena = "4GiB"
        engine = "updn"
        [sm]
        partitions = "p.conf"
        lid_file = "lids"
        qos = true
        max_op_vls = 3
        high_limit = 10
        vlarb_high = "0:1"
        vlarb_low = "1:2,0:3"
        sl2vl = "0,1"
    )",
                                          "lab.toml", description);
    ASSERT_TRUE(parsed) << parsed.error();
    const topo::Spec& spec = description.spec;
    EXPECT_EQ(spec.name, "lab");
    EXPECT_EQ(spec.shape, topo::Shape::kTorus);
    EXPECT_EQ(spec.hosts, 8U);
    EXPECT_EQ(spec.hcas_per_host, 2U);
    EXPECT_EQ(spec.radix, 12U);
    EXPECT_EQ(spec.dimensions, (std::vector<std::uint32_t>{2, 4}));
    EXPECT_EQ(spec.hosts_per_switch, 2U);
    EXPECT_EQ(spec.generation, topo::Generation::kHdr);
    EXPECT_EQ(spec.device_pattern, "ib{}");
    EXPECT_EQ(spec.host_pattern, "node{}");
    EXPECT_EQ(description.arena_bytes, std::uint64_t{4} << 30);
    EXPECT_EQ(description.engine, "updn");
    EXPECT_EQ(description.partitions, "p.conf");
    EXPECT_EQ(description.lid_file, "lids");
    EXPECT_TRUE(description.qos.on);
    EXPECT_EQ(description.qos.max_op_vls, 3);
    EXPECT_EQ(description.qos.high_limit, 10);
    EXPECT_EQ(sm::to_string(description.qos.vlarb_high), "0:1");
    EXPECT_EQ(sm::to_string(description.qos.vlarb_low), "1:2,0:3");
    ASSERT_TRUE(description.qos.sl2vl);
    EXPECT_EQ(description.qos.sl2vl->vl[15], 1);
}

TEST(Config, WrittenDescriptionReadsBackTheSame) {
    Description before;
    before.spec.name = "lab";
    before.spec.shape = topo::Shape::kDragonfly;
    before.spec.hosts = 12;
    before.spec.groups = 3;
    before.spec.oversubscription = {.down = 3, .up = 2};
    before.spec.spine_oversubscription = {.down = 7, .up = 1};
    before.spec.switches_per_group = 2;
    before.spec.hosts_per_switch = 2;
    before.spec.device_pattern = "a\"b\\{}";
    before.spec.dimensions = {3, 3};
    before.arena_bytes = std::uint64_t{8} << 30;
    before.partitions = "partitions.conf";
    before.lid_file = "/var/lids";
    before.addresses = "10.0.0.1=h0";
    before.qos.on = true;
    before.qos.max_op_vls = 2;
    before.qos.high_limit = 255;
    before.qos.vlarb_high = {{3, 4}};
    before.qos.vlarb_low = {{1, 2}, {0, 1}};
    before.qos.sl2vl = *sm::parse_sl2vl("3,2,15");
    Description after;
    const auto parsed = parse_description(to_toml(before), "again", after);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(to_toml(after), to_toml(before));
    EXPECT_EQ(after.spec.device_pattern, before.spec.device_pattern);
    EXPECT_EQ(after.spec.oversubscription, before.spec.oversubscription);
    EXPECT_EQ(after.spec.spine_oversubscription, before.spec.spine_oversubscription);
    EXPECT_EQ(after.spec.dimensions, before.spec.dimensions);
    EXPECT_EQ(after.partitions, before.partitions);
    EXPECT_EQ(after.lid_file, before.lid_file);
    EXPECT_EQ(after.addresses, before.addresses);
    EXPECT_EQ(after.qos, before.qos);
}

TEST(Config, FabricFromAFile) {
    Description description;
    ASSERT_TRUE(parse_description("name = \"lab\"\nfrom = \"a/b.net\"\n", "lab.toml", description));
    EXPECT_EQ(description.from, "a/b.net");
    description.netlist = "Switch 2 \"s\"\n[1] \"h\"[1]\nHca 1 \"h\"\n[1] \"s\"[1]\n";
    const auto fabric = generate(description);
    ASSERT_TRUE(fabric) << fabric.error();
    EXPECT_EQ(fabric->name, "lab");
    EXPECT_EQ(fabric->hosts.size(), 1U);
    Description again;
    ASSERT_TRUE(parse_description(to_toml(description), "again", again));
    EXPECT_EQ(to_toml(again), to_toml(description));
    EXPECT_EQ(again.from, "a/b.net");
    again.netlist = "rubbish\n";
    EXPECT_TRUE(generate(again).error().starts_with("a/b.net: no node in it"));
}

TEST(Config, FabricFromAFileIsNotGeneratedAsWell) {
    Description description;
    ASSERT_TRUE(parse_description("from = \"b.net\"\nhosts = 4\n", "lab.toml", description));
    EXPECT_EQ(generate(description).error(),
              "lab.toml:2:9: 'hosts' is for a fabric that is generated, but b.net has one already: "
              "leave out one of the two");
    for (const ConfigKey& key : config_keys()) {
        Description both;
        both.from = "b.net";
        both.netlist = "Ca 1 \"h\"\n";
        both.origins["from"] = "--from";
        both.origins[std::string(key.name)] = flag_name(key.name);
        constexpr std::string_view kGoTogether[] = {"from",
                                                    "name",
                                                    "arena",
                                                    "sm",
                                                    "sm_args",
                                                    "am",
                                                    "engine",
                                                    "partitions",
                                                    "lid_file",
                                                    "lmc",
                                                    "qos",
                                                    "max_op_vls",
                                                    "high_limit",
                                                    "vlarb_high",
                                                    "vlarb_low",
                                                    "sl2vl",
                                                    "addresses",
                                                    "data_path",
                                                    "link_scale",
                                                    "link_layer",
                                                    "roce_address_base",
                                                    "roce_addresses",
                                                    "trunk",
                                                    "trunk_key",
                                                    "site",
                                                    "adaptive_routing",
                                                    "telemetry"};
        const bool goes_together =
            std::ranges::find(kGoTogether, key.name) != std::end(kGoTogether);
        EXPECT_EQ(generate(both).has_value(), goes_together) << key.name;
    }
}

TEST(Config, FileToTakeTheFabricFromMustBeReadable) {
    Description description;
    ASSERT_TRUE(apply_flag("from", "/nonexistent/b.net", description));
    EXPECT_EQ(load_netlist(description).error(),
              "cannot read /nonexistent/b.net: No such file or directory");
    description.from = "/dev/zero";
    EXPECT_EQ(load_netlist(description).error(),
              "/dev/zero is larger than 256 MiB: is it the right file?");
}

class PartitionsFile : public testing::Test {
  protected:
    PartitionsFile() : path_(testing::TempDir() + "softib-config-test-partitions") {}
    ~PartitionsFile() override { std::remove(path_.c_str()); }
    void write(const char* text) { std::ofstream(path_) << text; }
    std::string path_;
};

TEST_F(PartitionsFile, IsReadAndCheckedAtOnce) {
    Description description;
    ASSERT_TRUE(apply_flag("partitions", path_, description));
    write("a=1 : ALL;\n");
    ASSERT_TRUE(load_partitions(description));
    EXPECT_EQ(description.partitions_text, "a=1 : ALL;\n");
    ASSERT_TRUE(description.partition_rules);
    EXPECT_EQ(description.partition_rules->size(), 1U);
    EXPECT_TRUE(generate(description));
    write("a=1 : ALL;\nb=0 : ALL;\n");
    EXPECT_EQ(load_partitions(description).error(),
              path_ + ":2: '0' is no P_Key: write 0x0001 to 0x7fff");
    description.manager = "opensm";
    const auto generated = generate(description);
    ASSERT_FALSE(generated) << "OpenSM has partitions of its own";
    EXPECT_TRUE(generated.error().ends_with("partitions need --sm softib, not --sm opensm"))
        << generated.error();
}

TEST(Config, QosIsOnOrOff) {
    Description description;
    EXPECT_TRUE(apply_flag("qos", "true", description));
    EXPECT_TRUE(description.qos.on);
    EXPECT_EQ(error_of("qos = 1"), "lab.toml:1:7: 'qos' must be true or false, not 1");
    EXPECT_EQ(
        error_of("vlarb_low = \"15:1\""),
        "lab.toml:1:13: 'vlarb_low' must be up to 64 pairs of a lane (0 to 14) and its weight "
        "(0 to 255), as \"0:4,1:8\", not \"15:1\"");
    EXPECT_EQ(error_of("sl2vl = 3").substr(0, 34), "lab.toml:1:9: 'sl2vl' must be the ");
    EXPECT_EQ(error_of("max_op_vls = 6"),
              "lab.toml:1:14: 'max_op_vls' must be a whole number from 1 to 5, not 6");
}

TEST(Config, OnlyKeysOfTheManagerStandInItsSection) {
    EXPECT_TRUE(error_of("[sm]\nhosts = 3\n")
                    .starts_with("lab.toml:2:1: 'hosts' is no key of the subnet manager; they are "
                                 "engine, partitions, "));
    EXPECT_EQ(error_of("sm = \"none\"\nqos = true\n"), "");
}

TEST(Config, UnknownKeyIsNamedWithItsPlaceAndTheNearestKey) {
    EXPECT_EQ(error_of("topology = \"torus\"\nhost = 4\n"),
              "lab.toml:2:1: unknown key 'host'; did you mean 'hosts'?");
    EXPECT_EQ(error_of("colour = 1").substr(0, 42), "lab.toml:1:1: unknown key 'colour'; the ke");
}

TEST(Config, WrongTypeIsNamedWithItsPlace) {
    EXPECT_EQ(error_of("\nhosts = \"many\""),
              "lab.toml:2:9: 'hosts' must be a whole number from 1 to 393208, not \"many\"");
    EXPECT_EQ(error_of("hosts = 2.5"),
              "lab.toml:1:9: 'hosts' must be a whole number from 1 to 393208, not a "
              "floating-point number");
    EXPECT_EQ(
        error_of("topology = true"),
        "lab.toml:1:12: 'topology' must be one of single-switch, fat-tree, "
        "rail-optimized, rail-only, superpod, torus, hyperx, dragonfly or dragonfly-plus, not "
        "true");
}

TEST(Config, ValueOutOfRangeIsNamedWithItsPlace) {
    EXPECT_EQ(error_of("hosts = 0"),
              "lab.toml:1:9: 'hosts' must be a whole number from 1 to 393208, not 0");
    EXPECT_EQ(error_of("generation = \"TDR\""),
              "lab.toml:1:14: 'generation' must be SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR "
              "or GDR, not \"TDR\"");
    EXPECT_EQ(error_of("arena = \"1M\""),
              "lab.toml:1:9: 'arena' must be a size from 2GiB to 16TiB, not \"1M\"");
}

TEST(Config, BrokenTomlIsNamedWithItsPlace) {
    EXPECT_TRUE(error_of("hosts = \n").starts_with("lab.toml:1:9: ")) << error_of("hosts = \n");
    EXPECT_TRUE(error_of("hosts = 1\nhosts = 2\n").starts_with("lab.toml:2:"));
}

TEST(Config, WhatTheGeneratorRefusesIsTracedToTheFile) {
    Description description;
    ASSERT_TRUE(parse_description("hosts = 4\nlevels = 2\n", "lab.toml", description));
    const auto fabric = generate(description);
    ASSERT_FALSE(fabric);
    EXPECT_TRUE(fabric.error().starts_with("lab.toml:2:10: levels belongs to fat-tree"))
        << fabric.error();
}

TEST(Config, FlagsTakeTheSameValues) {
    Description description;
    EXPECT_TRUE(apply_flag("hosts", "7", description));
    EXPECT_TRUE(apply_flag("dimensions", "2x3", description));
    EXPECT_EQ(description.spec.hosts, 7U);
    EXPECT_EQ(description.spec.dimensions, (std::vector<std::uint32_t>{2, 3}));
    const auto refused = apply_flag("hosts_per_switch", "few", description);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(),
              "--hosts-per-switch must be a whole number from 0 to 254, not \"few\"");
}

TEST(Config, SizesHaveUnits) {
    EXPECT_EQ(parse_bytes("65536"), 65536U);
    EXPECT_EQ(parse_bytes("4k"), 4096U);
    EXPECT_EQ(parse_bytes("3GiB"), std::uint64_t{3} << 30);
    EXPECT_FALSE(parse_bytes(""));
    EXPECT_FALSE(parse_bytes("G"));
    EXPECT_FALSE(parse_bytes("4X"));
    EXPECT_FALSE(parse_bytes("99999999T"));
}

TEST(FabricName, OnlyWhatIsSafeAsAFileName) {
    EXPECT_TRUE(check_fabric_name("lab-2.b_c"));
    for (const char* const bad : {"", ".", "..", ".x", "a/b", "-x", "a b", "ä"}) {
        EXPECT_FALSE(check_fabric_name(bad)) << bad;
    }
    EXPECT_FALSE(check_fabric_name(std::string(49, 'a')));
}

TEST(Config, PortsOnEthernetAreKept) {
    Description description;
    ASSERT_TRUE(apply_flag("link_layer", "ethernet", description));
    ASSERT_TRUE(apply_flag("roce_address_base", "127.60.0.0", description));
    ASSERT_TRUE(apply_flag("roce_addresses", "10.0.0.1=h0", description));
    EXPECT_FALSE(apply_flag("link_layer", "token-ring", description));
    Description again;
    ASSERT_TRUE(parse_description(to_toml(description), "x.toml", again));
    EXPECT_EQ(again.link_layer, hca::LinkLayer::kEthernet);
    EXPECT_EQ(again.ethernet.base, "127.60.0.0");
    EXPECT_EQ(again.ethernet.addresses, "10.0.0.1=h0");
    EXPECT_TRUE(generate(again));
    ASSERT_TRUE(apply_flag("sm", "opensm", again));
    EXPECT_NE(generate(again).error().find("--link-layer"), std::string::npos);
}

TEST(Config, ManagerAndItsArgumentsAreKept) {
    Description description;
    ASSERT_TRUE(apply_flag("sm", "opensm", description));
    ASSERT_TRUE(apply_flag("sm_args", "-R ftree -a 'my roots'", description));
    Description again;
    ASSERT_TRUE(parse_description(to_toml(description), "x.toml", again));
    EXPECT_EQ(again.manager, "opensm");
    EXPECT_EQ(again.manager_args, description.manager_args);
    EXPECT_FALSE(apply_flag("sm", "me", description));
    EXPECT_EQ(again.aggregation, "softib");
    ASSERT_TRUE(apply_flag("am", "none", description));
    ASSERT_TRUE(parse_description(to_toml(description), "x.toml", again));
    EXPECT_EQ(again.aggregation, "none");
    EXPECT_FALSE(apply_flag("am", "opensm", description));
}

TEST(Config, AKeyThatIsThereTwiceIsRefused) {
    Description description;
    EXPECT_EQ(
        parse_description("max-op-vls = 2\nmax_op_vls = 3\n", "lab.toml", description).error(),
        "lab.toml:2:14: 'max_op_vls' is there twice, also at lab.toml:1:14");
    EXPECT_FALSE(parse_description("engine = \"updn\"\n[sm]\nengine = \"ftree\"\n", "lab.toml",
                                   description));
}

}  // namespace
}  // namespace softib::spec
