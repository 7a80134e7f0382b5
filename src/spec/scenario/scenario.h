// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A scenario of a simulation: a fabric, properties of its links and hosts, the traffic on it and
// what fails. It comes from a TOML file, from flags, or from both (flags win).
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
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "net/sim/simulation.h"
#include "plan/ends.h"
#include "plan/traffic.h"
#include "spec/description.h"

namespace softib::spec {

/// A traffic as the user gave it, with names of hosts that are not looked up in the fabric yet.
struct TrafficWish {
    plan::Traffic traffic = {};
    std::string among = {};       ///< Names for Traffic::among.
    std::string target = {};      ///< Name for Traffic::target.
    std::string pairs_file = {};  ///< File for Traffic::pairs.
    double rate_part = 0;         ///< Rate as a part of the sender's link; 0: Traffic::rate holds.
    std::string origin = {};      ///< Where it was given: "lab.toml:9:1" or "--traffic".
};

/// A failure as the user gave it, with names that are not looked up in the fabric yet.
struct FailureWish {
    enum class Kind : std::uint8_t { kLink, kSwitch, kRouter, kRandom };
    Kind kind = Kind::kLink;
    std::string name = {};    ///< "leaf3:17", "leaf3" or "router0".
    std::uint32_t count = 0;  ///< Number of random cables that fail.
    plan::TimePs at = 0;      ///< Time of the failure; 0: from the beginning.
    std::string origin = {};  ///< Where it was given: "lab.toml:9:1" or "--fail-link".
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
    /// Bytes of an adapter's cache of connection contexts; 0: options.hosts.context_entries holds.
    std::uint32_t context_cache = 0;
    std::uint32_t context_bytes = 512;  ///< Bytes of one connection's context.
    net::RoceOptions roce = {};         ///< Options that hold if the link layer is Ethernet.
    std::uint32_t pfc_xon = 0;          ///< Bytes below which PFC resumes; 0: 3/4 of XOFF.
    std::vector<Variant> compare = {};  ///< Networks to compare; empty: one run without variants.
    /// A key that the user gave, and where.
    struct Given {
        std::string key;
        std::string value;
        std::string origin;  ///< "lab.toml:3:1" or "--mtu"
        /// Position of the traffic that has the key; kEveryTraffic: a key of all traffics, or none
        /// of traffic.
        std::size_t traffic = kEveryTraffic;
        static constexpr std::size_t kEveryTraffic = ~std::size_t{0};
    };
    /// All keys but those of the fabric, whose places Description::origins has.
    std::vector<Given> given = {};
};

/// Returns the scenario of one variant.
std::expected<Scenario, std::string> choose_variant(const Scenario& scenario,
                                                    const Variant& variant);

/// A key as the user may give it, beside those of the fabric.
struct ScenarioKey {
    enum class Section : std::uint8_t { kTop, kNetwork, kHosts, kTraffic, kFail };
    Section section = Section::kTop;
    std::string_view name;     ///< Name in a file: "repair_after".
    std::string_view operand;  ///< Placeholder of the value in help; empty: it has no value.
    std::string_view help;
    std::string_view initial{};  ///< The default, as a flag's text; empty: none is shown.
};
/// Returns all keys in the order in which help shows them.
const std::vector<ScenarioKey>& scenario_keys();

struct RunWish;
/// Reads a file: the scenario that it names as its base, its own keys on top of that, the netlist
/// that it names, and which kind of run it asks for. Paths in it are relative to its own folder.
Result load_scenario(const std::string& file, Scenario& scenario, RunWish& wish);
/// Does the same with the text of a file. Errors begin with its name `file`, paths in it with
/// `folder`.
Result parse_scenario(std::string_view text, const std::string& file,
                      const std::filesystem::path& folder, Scenario& scenario, RunWish& wish);

/// Sets a key of the top, of [network] or of [hosts] from a flag's text.
Result apply_scenario_flag(std::string_view key, const std::string& value, Scenario& scenario);
/// Keys with their values, in the order in which they were given.
using KeyTexts = std::vector<std::pair<std::string, std::string>>;
/// Adds a traffic: "incast" or "incast,target=h3,size=1MB". The keys of `common` are set before
/// those of the text; the caller adds them to Scenario::given.
Result add_traffic(const std::string& text, const KeyTexts& common, const std::string& origin,
                   Scenario& scenario);
/// Removes all traffics, so that others can take their place.
void forget_traffic(Scenario& scenario);
/// Sets a key of all traffics that the scenario has. The error is the rest of a sentence: "must be
/// ...".
Result set_traffic_key(std::string_view key, const std::string& value, Scenario& scenario);
/// Returns whether a key is one of [[traffic]].
bool is_traffic_key(std::string_view key);
/// Returns where a key acts; nullptr if it is no key of a scenario.
struct Serves;
const Serves* find_serves(std::string_view key);
/// Adds a failure: "leaf3:17" or "leaf3:17@50us"; `key` is fail_link, fail_switch,
/// fail_router or fail_random.
Result add_failure(std::string_view key, const std::string& text, const std::string& origin,
                   Scenario& scenario);

/// What a run of a scenario needs.
struct Experiment {
    topo::Fabric fabric = {};  ///< The fabric before anything fails.
    net::SimulationOptions options = {};
    std::vector<plan::Schedule> schedules = {};
};
/// Generates or reads the fabric, and looks up the hosts, switches and cables that the scenario
/// names.
std::expected<Experiment, std::string> prepare(const Scenario& scenario);

}  // namespace softib::spec
