// SPDX-License-Identifier: BSD-2-Clause
// Every key and option x every kind of run: it changes the outcome, or is refused by name. The keys
// come from the tables that the command line, files and libraries have theirs from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "run/execute.h"
#include "run/make.h"
#include "run/options.h"

namespace softib::run {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

/// A value that is not the default, and flags beside which it must show.
struct Sample {
    std::string value;
    Flags beside = {};
};

const Flags kBroken{{"size", "200kB"}, {"fail_link", "leaf0:3@2us"}, {"timeout", "20us"}};
const Flags kIncast{{"traffic", "incast"}, {"size", "200kB"}};
const Flags kManyAtOnce{{"traffic", "random"}, {"repetitions", "12"}, {"outstanding", "6"}};
const Flags kFewContexts{
    {"traffic", "random"}, {"repetitions", "12"}, {"outstanding", "6"}, {"contexts", "1"}};
const Flags kEthernet{{"link_layer", "ethernet"}, {"traffic", "incast"}, {"size", "300kB"}};
const Flags kControlled{{"traffic", "incast"}, {"size", "400kB"}, {"congestion_control", "true"}};
const Flags kTwoSubnets{{"subnets", "2"}, {"routers", "2"}, {"radix", "8"}};
const Flags kDragonfly{{"topology", "dragonfly"}, {"radix", "0"}};

Flags with(Flags flags, const Flags& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
}
const Flags kLossy = with(kEthernet, {{"pfc", "off"}, {"switch_buffer", "100KiB"}});
const Flags kMarked{
    {"link_layer", "ethernet"}, {"traffic", "incast"}, {"size", "4MB"}, {"ecn", "1KiB,4KiB,100%"}};
const Flags kSwift{
    {"link_layer", "ethernet"}, {"traffic", "incast"}, {"size", "1MB"}, {"cc", "swift"}};
const Flags kTwoLanes{
    {"traffic", "incast,sl=0"}, {"traffic", "incast,sl=1"}, {"size", "200kB"}, {"data_vls", "2"}};
const Flags kLanes = with(kTwoLanes, {{"qos", "true"}});

/// Samples of all keys and options. One without a sample fails the test.
const std::map<std::string, Sample, std::less<>> kSamples{
    {"model", {"flow"}},
    {"seed", {"7"}},
    {"until", {"500ns"}},
    {"compare", {"ib,ib+adaptive"}},
    {"adaptive", {"true", {{"traffic", "random"}, {"repetitions", "12"}}}},
    {"congestion_control", {"true", {{"traffic", "incast"}, {"size", "400kB"}}}},
    {"cc_threshold", {"15", kControlled}},
    {"cc_marking_rate", {"9", kControlled}},
    {"cc_timer", {"150", kControlled}},
    {"cc_increase", {"20", kControlled}},
    {"data_vls", {"2", {{"traffic", "shift,sl=2"}}}},
    {"buffer", {"8KiB", kIncast}},
    {"cable", {"100ns"}},
    {"switch_latency", {"500ns"}},
    {"hca_latency", {"100ns"}},
    {"repair_after", {"1us", kBroken}},
    {"mtu", {"1024"}},
    {"window", {"1"}},
    {"ack_every", {"1"}},
    {"burst", {"1", kManyAtOnce}},
    {"injection_rate", {"50Gb/s"}},
    {"message_rate", {"100k", kManyAtOnce}},
    {"pcie_rate", {"50Gb/s"}},
    {"pcie_latency", {"5us", kFewContexts}},
    {"contexts", {"1", kManyAtOnce}},
    {"context_cache", {"512", kManyAtOnce}},
    {"context_bytes", {"4096", with(kManyAtOnce, {{"context_cache", "4KiB"}})}},
    {"context_fetches", {"1", kFewContexts}},
    {"timeout", {"2us", {{"size", "200kB"}, {"fail_link", "leaf0:3@2us"}}}},
    {"retries", {"0", with(kBroken, {{"repair_after", "never"}})}},
    {"ecmp", {"spray", kEthernet}},
    {"pfc", {"off", with(kEthernet, {{"switch_buffer", "1MiB"}})}},
    {"pfc_xoff", {"32KiB", kEthernet}},
    {"pfc_xon", {"8KiB", kEthernet}},
    {"switch_buffer", {"1MiB", with(kEthernet, {{"pfc", "off"}})}},
    {"ecn", {"1KiB,4KiB,100%", kEthernet}},
    {"cc", {"off", kMarked}},
    {"dcqcn_cnp_interval", {"1us", kMarked}},
    {"dcqcn_g", {"50%", kMarked}},
    {"dcqcn_alpha_timer", {"1us", kMarked}},
    {"dcqcn_timer", {"1us", kMarked}},
    {"dcqcn_bytes", {"8kB", kMarked}},
    {"dcqcn_ai", {"30%", with(kMarked, {{"dcqcn_timer", "1us"}, {"dcqcn_cnp_interval", "4us"}})}},
    {"dcqcn_hai",
     {"50%",
      {{"link_layer", "ethernet"},
       {"size", "-"},
       {"traffic", "incast,size=8MB,sources=1"},
       {"traffic", "incast,size=500kB"},
       {"ecn", "1KiB,4KiB,100%"},
       {"dcqcn_timer", "20us"},
       {"dcqcn_cnp_interval", "5us"},
       {"dcqcn_bytes", "10kB"}}}},
    {"dcqcn_min_rate", {"40%", with(kMarked, {{"dcqcn_cnp_interval", "1us"}})}},
    {"swift_target", {"20us", kSwift}},
    {"swift_fs_range", {"20us", kSwift}},
    {"swift_ai", {"0.1", kSwift}},
    {"swift_beta", {"10%", kSwift}},
    {"swift_max_mdf", {"5%", kSwift}},
    {"swift_min_cwnd",
     {"100%", with(kSwift, {{"swift_target", "100ns"}, {"swift_fs_range", "100ns"}})}},
    {"loss_recovery", {"selective", kLossy}},
    {"reorder", {"9", with(kLossy, {{"loss_recovery", "selective"}, {"ecmp", "spray"}})}},
    {"traffic", {"incast"}},
    {"size", {"9kB"}},
    {"among", {"h0-h3"}},
    {"shift", {"3", {{"traffic", "shift"}}}},
    {"target", {"h3", kIncast}},
    {"sources", {"2", kIncast}},
    {"hot", {"90%", {{"traffic", "hotspot"}, {"repetitions", "20"}}}},
    {"pairs", {"PAIRS", {{"traffic", "pairs"}}}},
    {"start", {"5us"}},
    {"repetitions", {"3"}},
    {"outstanding", {"3", {{"repetitions", "4"}}}},
    {"rate", {"10%", {{"repetitions", "4"}}}},
    {"connections", {"9", kFewContexts}},
    {"sl", {"1", {{"data_vls", "2"}, {"traffic", "incast"}, {"traffic", "shift,sl=1"}}}},
    {"fail_link", {"leaf0:3", {{"traffic", "all-to-all"}}}},
    {"fail_switch", {"spine0"}},
    {"fail_router", {"router0", kTwoSubnets}},
    {"fail_random", {"2"}},
    {"topology", {"single-switch", {{"radix", "0"}}}},
    {"hosts", {"4"}},
    {"hcas", {"2", {{"radix", "8"}}}},
    {"radix", {"8"}},
    {"levels", {"3"}},
    {"oversubscription", {"2:1", {{"radix", "6"}}}},
    {"spine_oversubscription", {"2:1", {{"radix", "6"}, {"levels", "3"}, {"hosts", "24"}}}},
    {"dimensions", {"4x2", {{"topology", "torus"}, {"radix", "0"}}}},
    {"hosts_per_switch", {"1"}},
    {"groups", {"4", kDragonfly}},
    {"switches_per_group", {"8", kDragonfly}},
    {"subnets", {"2", {{"routers", "2"}, {"radix", "8"}}}},
    {"routers", {"3", kTwoSubnets}},
    {"planes", {"2"}},
    {"generation", {"EDR"}},
    {"device_pattern",
     {"x{}", {{"hcas", "2"}, {"radix", "8"}, {"traffic", "incast"}, {"target", "h1/x1"}}}},
    {"host_pattern", {"n{}", {{"traffic", "incast"}, {"target", "n3"}}}},
    {"from", {"NETLIST", {{"radix", "-"}}}},
    {"engine",
     {"updn",
      {{"traffic", "all-to-all"}, {"topology", "torus"}, {"dimensions", "4x2"}, {"radix", "0"}}}},
    {"link_layer", {"ethernet"}},
    {"qos", {"true", kTwoLanes}},
    {"max_op_vls", {"1", kLanes}},
    {"high_limit", {"200", with(kLanes, {{"vlarb_high", "0:1"}, {"vlarb_low", "1:255"}})}},
    {"vlarb_high", {"1:255", kLanes}},
    {"vlarb_low", {"0:1,1:255", kLanes}},
    {"sl2vl", {"1,0", kLanes}},
    {"json", {"true"}},
    {"csv", {"x"}},
    {"csv_links", {"x"}},
    {"export", {"csv=x"}},
    {"html", {"x"}},
    {"record", {"x"}},
    {"record_every", {"1us", {{"record", "x"}}}},
    {"serve", {"true"}},
    {"port", {"0", {{"serve", "true"}}}},
    {"threads", {"2"}},
    {"yes", {"true"}},
    {"whatif", {"true"}},
    {"whatif.seeds", {"2", {{"fail_random", "1"}}}},
    {"sweep", {"SWEEP"}},
    {"jobs", {"2"}},
    {"db", {"x"}},
    {"part", {"1/2"}},
    {"merge", {"true"}},
};

/// Values of keys that only running fabrics have; they are refused whatever the rest is.
const std::map<std::string, std::string, std::less<>> kRunning{
    {"sm", "none"},
    {"sm_args", "-f x"},
    {"am", "none"},
    {"partitions", "x"},
    {"lid_file", "x"},
    {"lmc", "1"},
    {"arena", "4G"},
    {"adaptive_routing", "true"},
    {"data_path", "packet"},
    {"roce_address_base", "127.60.0.0"},
    {"link_scale", "0.5"},
    {"roce_addresses", "10.0.0.1=h0"},
    {"site", "1"},
    {"trunk", "s0=127.0.0.1:9000,127.0.0.1:9001"},
    {"telemetry", "true"},
    {"trunk_key", "x"},
    {"addresses", "10.0.0.1=h0"}};

struct KindOfRun {
    std::string name;
    Flags flags;
    std::optional<std::string> text = {};
};
const std::vector<KindOfRun>& kinds() {
    static const std::vector<KindOfRun> kAll{{"single", {}},
                                             {"flow", {{"model", "flow"}}},
                                             {"compare", {{"compare", "ib,roce"}}},
                                             {"whatif", {{"whatif", "true"}}},
                                             {"sweep", {}, "seeds = 1\n"},
                                             {"sharp", {{"traffic", "sharp-allreduce"}}}};
    return kAll;
}

/// Returns all keys and options that the tables have.
std::vector<std::string> all_names() {
    std::vector<std::string> names{"traffic"};
    for (const spec::ScenarioKey& key : spec::scenario_keys()) {
        if (key.name != "pattern") {
            names.emplace_back(key.name);
        }
    }
    for (const spec::ConfigKey& key : spec::config_keys()) {
        if (key.name != "name") {  // No flag.
            names.emplace_back(key.name);
        }
    }
    for (const Option& option : options()) {
        if (!option.flag.empty() || option.name == "whatif") {
            names.emplace_back(option.name);
        }
    }
    return names;
}

class EveryKey : public testing::Test {
  protected:
    void SetUp() override {
        write("pairs", "h0 h1\nh2 h5 8kB\n");
        write("sweep", "seeds = 2\n");
        write("netlist",
              "Switch 4 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\nHca 1 \"H1\"\n[1] "
              "\"S1\"[1]\n\nHca 1 \"H2\"\n[1] \"S1\"[2]\n");
    }

    void write(const std::string& name, const std::string& text) {
        std::ofstream(path(name)) << text;
    }
    static std::string path(const std::string& name) {
        return testing::TempDir() + "every_" + name;
    }
    static std::string value_of(const std::string& text) {
        return text == "PAIRS"     ? path("pairs")
               : text == "SWEEP"   ? path("sweep")
               : text == "NETLIST" ? path("netlist")
                                   : text;
    }

    /// Returns the flags of a run of a kind beside a sample. "-" as the radix leaves the tree out,
    /// and as the size the size.
    static Flags flags_of(const KindOfRun& kind, const Flags& beside) {
        Flags flags{{"topology", "fat-tree"}, {"hosts", "8"}, {"radix", "4"}, {"size", "16kB"}};
        for (const auto& [key, value] : beside) {
            if (key == "radix" && value == "-") {
                flags.erase(flags.begin(), flags.begin() + 3);
            } else if (key == "size" && value == "-") {
                std::erase(flags, std::pair<std::string, std::string>("size", "16kB"));
            } else if (!(kind.name == "compare" && key == "link_layer")) {
                flags.emplace_back(key, value);
            }
        }
        // Ethernet has neither routers nor lanes of a subnet manager.
        const bool ib_only = std::ranges::any_of(beside, [](const auto& flag) {
            return flag.first == "subnets" || flag.first == "qos";
        });
        return with(flags,
                    kind.name == "compare" && ib_only ? Flags{{"compare", "ib"}} : kind.flags);
    }

    struct Seen {
        bool refused = false;
        std::string text = {};  ///< Why, or all that the run shows.
    };

    /// Makes a run and carries it out; only options of the command are not carried out.
    static Seen see(const KindOfRun& kind, const Flags& flags, bool of_command) {
        const auto run = make_run({.text = kind.text, .flags = flags});
        if (!run) {
            return {true, run.error().text};
        }
        if (of_command) {
            const Outputs& out = run->outputs;
            std::string text =
                fmt::format("{} {} {} {} {} {} {} {} {} {}", run->kind.index(), out.json, out.csv,
                            out.csv_links, out.exports.size(), out.html, out.record,
                            out.record_every, out.serve, out.port);
            return {false,
                    fmt::format("{} {} {} {} {} {} {} {}", text, run->place.threads,
                                run->place.any_cost, run->sweep.database, run->sweep.part,
                                run->sweep.jobs, run->sweep.merge,
                                run->kind.index() == 2 ? std::get<WhatIf>(run->kind).draws : 0)};
        }
        Watch watch;
        const auto outcome = execute(*run, watch);
        return {false, outcome ? without_echo(to_json(**outcome)) : outcome.error()};
    }

    /// Drops the lines of what a simulation costs, those that only repeat what was asked for, and
    /// what its figures are worth, which may name a key that changes none of them.
    static std::string without_echo(const std::string& json) {
        constexpr std::string_view kEchoes[] = {
            "cpu_seconds", "\"data_vls\"", "\"adaptive\"",   "\"congestion_control\"",
            "\"qos\"",     "\"seed\"",     "\"link_layer\"", "\"model\""};
        std::istringstream lines(json);
        std::string kept;
        bool in_basis = false;
        for (std::string line; std::getline(lines, line);) {
            in_basis = in_basis || line.contains("\"basis\":");
            if (!in_basis && std::ranges::none_of(kEchoes, [&](std::string_view echo) {
                    return line.contains(echo);
                })) {
                kept += line + "\n";
            }
            in_basis = in_basis && !line.contains(']');
        }
        return kept;
    }

    /// Checks one key in one kind of run. Returns what is wrong; empty: nothing.
    std::string check(const std::string& name, const Sample& sample, const KindOfRun& kind) {
        const bool of_command = find_option(name) != nullptr;
        if (std::ranges::find(kind.flags, std::pair(name, sample.value)) != kind.flags.end()) {
            return "";  // It makes the kind.
        }
        Flags beside = kind.name == "sharp" ? Flags{} : sample.beside;
        if (make_run({.text = kind.text, .flags = flags_of(kind, beside)}).has_value() == false) {
            beside.clear();  // What the key needs is itself refused here.
        }
        const Flags base = flags_of(kind, beside);
        const Seen before = see(kind, base, of_command);
        Flags more = base;
        more.emplace_back(name, value_of(sample.value));
        const Seen after = see(kind, more, of_command);
        if (!after.refused) {
            return after.text != before.text ? "" : "changes nothing";
        }
        const std::string last = name.substr(name.find('.') + 1);  // "seeds" of "whatif.seeds"
        const bool named = after.text.find(name) != std::string::npos ||
                           after.text.find(spec::flag_name(last)) != std::string::npos ||
                           after.text.find("stands alone") != std::string::npos;
        return named ? "" : "is refused without its name: " + after.text;
    }
};

TEST_F(EveryKey, ChangesTheOutcomeOrIsRefusedByName) {
    std::size_t pairs = 0;
    std::set<std::string> known;
    for (const std::string& name : all_names()) {
        known.insert(name);
        const auto running = kRunning.find(name);
        const auto sample = kSamples.find(name);
        ASSERT_TRUE(running != kRunning.end() || sample != kSamples.end())
            << "the key or option '" << name << "' has no sample here";
        for (const KindOfRun& kind : kinds()) {
            ++pairs;
            if (running != kRunning.end()) {
                Flags flags = flags_of(kind, {});
                flags.emplace_back(name, value_of(running->second));
                const auto run = make_run({.text = kind.text, .flags = flags});
                EXPECT_TRUE(!run && run.error().text.find("'" + name + "' is for running") !=
                                        std::string::npos)
                    << name << " x " << kind.name;
                continue;
            }
            const std::string wrong = check(name, sample->second, kind);
            EXPECT_EQ(wrong, "") << name << " x " << kind.name;
        }
    }
    for (const auto& [name, sample] : kSamples) {
        EXPECT_TRUE(known.contains(name)) << "no key or option is called " << name;
    }
    std::cout << "covers " << pairs << " pairs of a key or an option and a kind of run\n";
}

}  // namespace
}  // namespace softib::run
