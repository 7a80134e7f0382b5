// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A scenario: a fabric, what is special about its links and hosts, the traffic on it and what
// fails. It comes from a TOML file, from flags, or from both (flags win).
//
//   model = "packet"         # or "flow"
//   seed = 7
//   until = "10ms"
//   [fabric]                 # the keys of a description of a fabric
//   topology = "fat-tree"
//   hosts = 128
//   [network]
//   adaptive = true
//   [hosts]
//   pcie_rate = "256Gb/s"
//   [[traffic]]              # any number of them, at the same time
//   pattern = "permutation"
//   size = "2MB"
//   [[fail]]
//   link = "leaf3:17"
//   at = "50us"
//
// The keys of [network] and [hosts] are long flags with '_' for '-'. Errors are sentences for the
// user; those of a file begin with FILE:LINE:COLUMN, those of a flag with the flag.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "net/simulation.h"
#include "plan/ends.h"
#include "plan/traffic.h"
#include "spec/description.h"

namespace softib::spec {

/// A traffic whose hosts still have names.
struct TrafficWish {
    plan::Traffic traffic = {};
    std::string among = {};
    std::string target = {};
    std::string pairs_file = {};
    double rate_part = 0;     ///< Of the sender's link; 0: traffic.rate says it.
    std::string origin = {};  ///< Where it was given: "lab.toml:9:1" or "--traffic".
};

struct FailureWish {
    enum class Kind : std::uint8_t { kLink, kSwitch, kRouter, kRandom };
    Kind kind = Kind::kLink;
    std::string name = {};    ///< "leaf3:17", "leaf3" or "router0".
    std::uint32_t count = 0;  ///< Of random cables.
    plan::TimePs at = 0;      ///< 0: from the beginning.
    std::string origin = {};
};

/// One of several networks that carry the same traffic.
struct Variant {
    std::string name = {};  ///< As given: "roce+ecmp=spray".
    hca::LinkLayer link_layer = hca::LinkLayer::kInfiniBand;
    std::vector<std::pair<std::string, std::string>> keys = {};
};

struct Scenario {
    net::ModelKind model = net::ModelKind::kPacket;
    Description fabric = {};
    net::SimulationOptions options = {};
    std::vector<TrafficWish> traffics = {};
    std::vector<FailureWish> failures = {};
    plan::TimePs until = plan::kNever;
    std::uint64_t seed = 1;
    std::uint32_t context_cache = 0;    ///< Bytes of an adapter; 0: hosts.context_entries says it.
    std::uint32_t context_bytes = 512;  ///< Of a connection's state.
    net::RoceOptions roce = {};         ///< Where the link layer is Ethernet.
    std::uint32_t pfc_xon = 0;          ///< Bytes; 0: three quarters of XOFF.
    std::vector<Variant> compare = {};  ///< Empty: one run.
    struct Given {
        std::string key;
        std::string origin;
    };
    std::vector<Given> given = {};  ///< Keys of [network] and [hosts], as the user gave them.
};

/// The scenario of one variant. Keys that only the other link layer knows do not count in it.
std::expected<Scenario, std::string> choose_variant(const Scenario& scenario,
                                                    const Variant& variant);

/// A key as the user may give it, beside those of the fabric.
struct ScenarioKey {
    enum class Section : std::uint8_t { kTop, kNetwork, kHosts, kTraffic, kFail };
    Section section = Section::kTop;
    std::string_view name;     ///< As in the file: "repair_after".
    std::string_view operand;  ///< As in the help; empty: the flag alone says all.
    std::string_view help;
    std::string_view initial{};
};
const std::vector<ScenarioKey>& scenario_keys();

/// Reads a scenario on top of `scenario`, and the files that it names from where it is.
Result load_scenario(const std::string& file, Scenario& scenario);
Result parse_scenario(std::string_view text, const std::string& file, Scenario& scenario);

/// Sets a key of the top, of [network] or of [hosts] from a flag's text.
Result apply_scenario_flag(std::string_view key, const std::string& value, Scenario& scenario);
/// Adds a traffic: "incast" or "incast,target=h3,size=1MB". The keys of `common` go first.
Result add_traffic(const std::string& text,
                   const std::vector<std::pair<std::string, std::string>>& common,
                   Scenario& scenario);
/// Sets a key of all traffics there are. The error is the rest of a sentence: "must be ...".
Result set_traffic_key(std::string_view key, const std::string& value, Scenario& scenario);
/// Adds a failure: "leaf3:17" or "leaf3:17@50us"; `key` is fail_link, fail_switch,
/// fail_router or fail_random.
Result add_failure(std::string_view key, const std::string& text, Scenario& scenario);

/// All that a run needs.
struct Experiment {
    topo::Fabric fabric = {};  ///< As described, before anything fails.
    net::SimulationOptions options = {};
    std::vector<plan::Schedule> schedules = {};
};
/// Generates or reads the fabric and finds what the scenario names in it.
std::expected<Experiment, std::string> prepare(const Scenario& scenario);

}  // namespace softib::spec
