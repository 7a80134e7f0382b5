// SPDX-License-Identifier: BSD-2-Clause
// Every key of a description x every kind of running fabric: the daemon is told something else, or
// the key is refused by name. The keys come from the table that files and flags have theirs from.
#include "spec/live.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "spec/key_rule.h"

namespace softib::spec {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

struct KindOfFabric {
    std::string name;
    Flags flags;
};
const std::vector<KindOfFabric> kKinds{{"direct", {}},
                                       {"packet", {{"data_path", "packet"}}},
                                       {"ethernet", {{"link_layer", "ethernet"}}},
                                       {"opensm", {{"sm", "opensm"}}},
                                       {"no manager", {{"sm", "none"}}},
                                       {"qos", {{"qos", "true"}}},
                                       {"trunk", {{"data_path", "packet"}, {"trunk", "SWITCH"}}}};
constexpr char kTrunk[] = "sw0=127.0.0.1:9000,127.0.0.1:9001";

/// A value of each key that is not the default. A key without one fails the test.
const std::map<std::string, std::string, std::less<>> kSamples{
    {"name", ""},  // Commands take it from the description, and the daemon from its folder.
    {"from", "fabric.topo"},
    {"topology", "fat-tree"},
    {"hosts", "3"},
    {"hcas", "2"},
    {"radix", "8"},
    {"levels", "2"},
    {"oversubscription", "2:1"},
    {"spine_oversubscription", "2:1"},
    {"dimensions", "2x2"},
    {"hosts_per_switch", "1"},
    {"groups", "2"},
    {"switches_per_group", "2"},
    {"subnets", "2"},
    {"routers", "2"},
    {"planes", "2"},
    {"generation", "EDR"},
    {"device_pattern", "x{}"},
    {"host_pattern", "n{}"},
    {"arena", "4GiB"},
    {"data_path", "packet"},
    {"link_layer", "ethernet"},
    {"roce_address_base", "127.60.0.0"},
    {"roce_addresses", "10.0.0.1=h0"},
    {"trunk", kTrunk},
    {"trunk_key", "key"},
    {"site", "1"},
    {"link_scale", "0.5"},
    {"telemetry", "true"},
    {"addresses", "10.0.0.1=h0"},
    {"sm", "none"},
    {"sm_args", "-v"},
    {"am", "none"},
    {"engine", "updn"},
    {"partitions", "partitions.conf"},
    {"lid_file", "lids"},
    {"lmc", "1"},
    {"adaptive_routing", "true"},
    {"qos", "true"},
    {"max_op_vls", "2"},
    {"high_limit", "9"},
    {"vlarb_high", "1:9"},
    {"vlarb_low", "1:9"},
    {"sl2vl", "1,0"},
};

Description describe(const Flags& flags) {
    Description description;
    for (const auto& [key, value] : flags) {
        const auto set = apply_flag(key, value == "SWITCH" ? kTrunk : value, description);
        EXPECT_TRUE(set) << set.error();
    }
    return description;
}

TEST(EveryKeyOfAFabric, IsToldToTheDaemonOrIsRefusedByName) {
    std::size_t pairs = 0;
    std::set<std::string_view> refused;
    for (const ConfigKey& key : config_keys()) {
        const auto sample = kSamples.find(key.name);
        ASSERT_NE(sample, kSamples.end()) << "the key '" << key.name << "' has no sample here";
        bool acts = sample->second.empty();
        for (const KindOfFabric& kind : kKinds) {
            ++pairs;
            Flags flags = kind.flags;
            const bool is_kind = std::ranges::find(flags, key.name, [](const auto& flag) {
                                     return std::string_view(flag.first);
                                 }) != flags.end();
            if (is_kind || sample->second.empty()) {
                acts = true;
                continue;
            }
            const Description before = describe(flags);
            EXPECT_TRUE(check_live(before)) << kind.name;
            flags.emplace_back(key.name, sample->second);
            const Description after = describe(flags);
            if (const auto checked = check_live(after); !checked) {
                // Or it takes from a key of the kind what that one needs.
                const auto blamed = std::ranges::find_if(flags, [&](const auto& flag) {
                    return checked.error().starts_with(flag_name(flag.first) +
                                                       " changes nothing here: ");
                });
                ASSERT_NE(blamed, flags.end()) << key.name << ": " << checked.error();
                refused.insert(find_rule(blamed->first)->key.name);
            } else {
                EXPECT_NE(to_toml(after), to_toml(before)) << key.name << " x " << kind.name;
                acts = true;
            }
        }
        EXPECT_TRUE(acts) << key.name << " is refused everywhere";
    }
    fmt::print("covers {} pairs of a key and a kind of fabric\n", pairs);
    EXPECT_EQ(kSamples.size(), config_keys().size()) << "a sample of a key that there is not";
    EXPECT_EQ(refused, (std::set<std::string_view>{
                           "data_path", "roce_address_base", "roce_addresses", "trunk_key",
                           "link_scale", "sm", "sm_args", "am", "engine", "partitions", "lid_file",
                           "lmc", "adaptive_routing", "qos", "max_op_vls", "high_limit",
                           "vlarb_high", "vlarb_low", "sl2vl"}));
}

TEST(EveryKeyOfAFabric, OfAFileIsRefusedAtItsPlace) {
    Description description;
    ASSERT_TRUE(parse_description("hosts = 2\nsm = \"none\"\nlmc = 1\n", "lab.toml", description));
    EXPECT_EQ(check_live(description).error(),
              "lab.toml:3:7: 'lmc' changes nothing here: it needs our subnet manager, "
              "sm = \"softib\" on InfiniBand");
}

TEST(EveryKeyOfAFabric, OfArbitrationNamesALaneThatPortsHave) {
    const auto check = [](const Flags& flags) {
        Flags all{{"qos", "true"}};
        all.insert(all.end(), flags.begin(), flags.end());
        const auto checked = check_live(describe(all));
        return checked ? std::string() : checked.error();
    };
    EXPECT_EQ(check({{"vlarb_low", "9:1"}}),
              "--vlarb-low gives weights only to lanes that ports do not have: they have 8 data "
              "VLs");
    EXPECT_NE(check({{"max_op_vls", "2"}, {"vlarb_high", "3:1"}}), "");
    EXPECT_EQ(check({{"vlarb_low", "9:1,7:1"}}), "");
    EXPECT_EQ(check({{"max_op_vls", "1"}}), "");
}

TEST(EveryFlagOfADrawing, IsAboutWhatIsDrawn) {
    std::size_t drawn = 0;
    for (const auto& [key, value] : kSamples) {
        if (!value.empty()) {
            const auto checked = check_drawn(describe({{key, value}}), {});
            drawn += checked ? 1U : 0U;
            EXPECT_TRUE(checked || checked.error().find(flag_name(key) + " ") == 0) << key;
        }
    }
    EXPECT_EQ(drawn, 19U);  // The shape's seventeen, from and trunk.
    EXPECT_TRUE(check_drawn(describe({{"lmc", "1"}}), {.lids = true}));
    EXPECT_TRUE(check_drawn(describe({{"site", "1"}}), {.guids = true}));
    EXPECT_FALSE(check_drawn(describe({{"host_pattern", "n{}"}}), {.names = false}));
    Description of_file;
    ASSERT_TRUE(parse_description("lmc = 1\n", "lab.toml", of_file));
    EXPECT_TRUE(check_drawn(of_file, {})) << "a file describes what runs too";
}

}  // namespace
}  // namespace softib::spec
