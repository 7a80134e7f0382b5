// SPDX-License-Identifier: BSD-2-Clause
// The keys of a scenario, one table for files and flags.
#include "spec/scenario/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "spec/scenario/key_values.h"

namespace softib::spec {

namespace {

using plan::parse_count;
using plan::parse_part;
using plan::parse_rate;
using plan::parse_size;
using plan::parse_time;
using Section = ScenarioKey::Section;

template <auto kField>
Result pace(Scenario& scenario, const std::string& text) {
    const auto rate = parse_rate(text);
    if (!rate) {
        return std::unexpected(rate.error());
    }
    kField(scenario) = plan::block_ps(*rate);
    return {};
}

std::expected<bool, std::string> parse_switch(const std::string& text) {
    if (text != "true" && text != "false") {
        return std::unexpected(fmt::format("must be true or false, not \"{}\"", text));
    }
    return text == "true";
}

Result set_adaptive(Scenario& scenario, const std::string& text) {
    const auto on = parse_switch(text);
    if (!on) {
        return std::unexpected(on.error());
    }
    scenario.options.hosts.adaptive = *on;
    return {};
}

Result set_congestion_control(Scenario& scenario, const std::string& text) {
    const auto on = parse_switch(text);
    if (!on) {
        return std::unexpected(on.error());
    }
    if (!*on) {
        scenario.options.congestion.reset();
    } else if (!scenario.options.congestion) {
        scenario.options.congestion.emplace();
    }
    return {};
}

net::CongestionControl& control(Scenario& scenario) {
    return scenario.options.congestion ? *scenario.options.congestion
                                       : scenario.options.congestion.emplace();
}

Result set_model(Scenario& scenario, const std::string& text) {
    if (text != "packet" && text != "flow") {
        return std::unexpected(fmt::format("must be packet or flow, not \"{}\"", text));
    }
    scenario.model = text == "flow" ? net::ModelKind::kFlow : net::ModelKind::kPacket;
    return {};
}

Result set_message_rate(Scenario& scenario, const std::string& text) {
    const auto rate = plan::parse_message_rate(text);
    if (!rate) {
        return std::unexpected(rate.error());
    }
    scenario.options.hosts.message_gap_ps = static_cast<plan::TimePs>(1e12 / *rate + 0.5);
    return {};
}

Result set_repair(Scenario& scenario, const std::string& text) {
    if (text == "never") {
        scenario.options.repair_ps = plan::kNever;
        return {};
    }
    return time<[](Scenario& s) -> auto& { return s.options.repair_ps; }>(scenario, text);
}

/// Sets the MTU, which must be one of InfiniBand.
Result set_mtu(Scenario& scenario, const std::string& text) {
    const auto bytes = parse_size(text);
    if (!bytes ||
        (*bytes != 256 && *bytes != 512 && *bytes != 1024 && *bytes != 2048 && *bytes != 4096)) {
        return std::unexpected(
            fmt::format("must be 256, 512, 1024, 2048 or 4096, not \"{}\"", text));
    }
    scenario.options.hosts.mtu = static_cast<std::uint16_t>(*bytes);
    return {};
}

// Setters of the keys of a traffic.

template <auto kField, std::uint64_t kLeast = 0, std::uint64_t kLargest = kMost>
Result wish_count(TrafficWish& wish, const std::string& text) {
    return put<kField>(wish, parse_count(text), kLeast, kLargest);
}

template <std::string TrafficWish::* kField>
Result wish_text(TrafficWish& wish, const std::string& text) {
    if (text.empty()) {
        return std::unexpected("must not be empty");
    }
    wish.*kField = text;
    return {};
}

Result set_pattern(TrafficWish& wish, const std::string& text) {
    const auto pattern = plan::parse_pattern(text);
    if (!pattern) {
        return std::unexpected(
            fmt::format("must be one of {}, not \"{}\"", plan::pattern_names(), text));
    }
    wish.traffic.pattern = *pattern;
    return {};
}

Result set_size(TrafficWish& wish, const std::string& text) {
    return put<[](TrafficWish& w) -> auto& { return w.traffic.bytes; }>(wish, parse_size(text), 1,
                                                                        std::uint64_t{1} << 40);
}

Result set_start(TrafficWish& wish, const std::string& text) {
    return put<[](TrafficWish& w) -> auto& { return w.traffic.start; }>(wish, parse_time(text), 0,
                                                                        plan::kNever - 1);
}

Result set_rate(TrafficWish& wish, const std::string& text) {
    if (const auto part = parse_part(text); part && *part > 0) {
        wish.rate_part = *part;
        return {};
    }
    const auto rate = parse_rate(text);
    if (!rate) {
        return std::unexpected(fmt::format(
            "must be a rate as 100Gb/s or a part of the link as 50%, not \"{}\"", text));
    }
    wish.traffic.rate = *rate;
    wish.rate_part = 0;
    return {};
}

Result set_hot(TrafficWish& wish, const std::string& text) {
    const auto part = parse_part(text);
    if (!part) {
        return std::unexpected(part.error());
    }
    wish.traffic.hot = *part;
    return {};
}

using S = Scenario;
using W = TrafficWish;
using plan::Pattern;

constexpr Layers kInfiniBand{hca::LinkLayer::kInfiniBand};
constexpr Patterns kMessages = Patterns::but({Pattern::kSharpAllReduce});
constexpr Serves kEverywhere{};
constexpr Serves kMessagesOnly{.kinds = kOfMessages};
constexpr Serves kPacketsOnly{.kinds = kOfMessages, .models = kPackets};
constexpr Serves kCongestionControl{
    .kinds = kOfMessages, .models = kPackets, .layers = kInfiniBand, .instead = "take cc instead"};
/// Serves of the parameters of congestion control, each of which turns it on.
constexpr Serves kOfControl{
    .kinds = kOfMessages,
    .models = kPackets,
    .layers = kInfiniBand,
    .instead = "take cc instead",
    .acts = [](const S& s, const W*) { return s.options.congestion.has_value(); },
    .acts_with = "congestion control, and congestion_control = false turns it off"};
/// Serves of the key of ACKs, which an algorithm of congestion control may decide.
constexpr Serves kOfAcks{.kinds = kOfMessages,
                         .models = kPackets,
                         .acts =
                             [](const S& s, const W*) {
                                 const link::CongestionAlgorithm* const algorithm =
                                     s.roce.hosts.algorithm;
                                 return s.fabric.link_layer == hca::LinkLayer::kInfiniBand ||
                                        algorithm == nullptr || algorithm->ack_every == 0;
                             },
                         .acts_with = "a cc that leaves it open, as dcqcn"};
/// Serves of keys of the contexts that an adapter holds.
constexpr Serves kOfContexts{
    .kinds = kOfMessages,
    .models = kPackets,
    .acts = [](const S& s,
               const W*) { return s.options.hosts.context_entries != 0 || s.context_cache != 0; },
    .acts_with = "contexts or context_cache"};

bool fails_in_run(const S& s, const W*) {
    return std::ranges::any_of(s.failures, [](const FailureWish& wish) { return wish.at != 0; });
}

/// Serves of keys of what happens when packets are lost. InfiniBand loses none on cables that stay.
constexpr Serves kOfLosses{
    .kinds = kOfMessages,
    .models = kPackets,
    .acts =
        [](const S& s, const W* traffic) {
            return fails_in_run(s, traffic) || s.fabric.link_layer == hca::LinkLayer::kEthernet;
        },
    .acts_with = "packets that are lost: a failure during the run, or link_layer = \"ethernet\""};

/// Returns whether the number of a connection changes anything: where its state is kept apart from
/// that of others.
bool tells_connections_apart(const S& s, const W*) {
    return s.options.hosts.context_entries != 0 || s.context_cache != 0 || s.options.congestion ||
           s.fabric.link_layer == hca::LinkLayer::kEthernet;
}

const std::vector<ScenarioRule> kRules{
    {{Section::kTop, "model", "packet|flow",
      "packet: every packet moves; flow: rates of messages, for long transfers", "packet"},
     set_model,
     kMessagesOnly},
    {{Section::kTop, "seed", "N", "of everything that is drawn at random", "1"},
     count<[](S& s) -> auto& { return s.seed; }, 0, kMost>,
     kMessagesOnly},
    {{Section::kTop, "until", "TIME", "stop at this time (default: when all is done)"},
     time<[](S& s) -> auto& { return s.until; }>,
     kMessagesOnly},
    {{Section::kTop, "compare", "VARIANTS",
      "run the same traffic on each: ib or roce, and keys, as ib,ib+adaptive,roce+ecmp=spray"},
     set_compare,
     {.kinds = {RunKind::kCompare}}},
    {{Section::kNetwork, "adaptive", "", "switches choose among equally good ports by load"},
     set_adaptive,
     {.kinds = kOfMessages, .layers = kInfiniBand, .instead = "take ecmp=load instead"}},
    {{Section::kNetwork, "congestion_control", "",
      "switches mark packets (FECN), adapters slow down (BECN)"},
     set_congestion_control,
     kCongestionControl},
    {{Section::kNetwork, "cc_threshold", "N", "queue from which on switches mark, 1 (long) to 15",
      "1"},
     count<[](S& s) -> auto& { return control(s).marking.threshold; }, 1, 15>,
     kOfControl},
    {{Section::kNetwork, "cc_marking_rate", "N", "packets unmarked between two marked ones", "0"},
     count<[](S& s) -> auto& { return control(s).marking.marking_rate; }, 0, 65535>,
     kOfControl},
    {{Section::kNetwork, "cc_timer", "N", "CCTI_Timer, in units of 1.024 us", "5"},
     count<[](S& s) -> auto& { return control(s).injection.timer; }, 1, 65535>,
     kOfControl},
    {{Section::kNetwork, "cc_increase", "N", "CCTI_Increase", "1"},
     count<[](S& s) -> auto& { return control(s).injection.increase; }, 1, 127>,
     kOfControl},
    {{Section::kNetwork, "data_vls", "N", "virtual lanes for data (default: as the routes need)"},
     count<[](S& s) -> auto& { return s.options.plant.data_vls; }, 1, 15>,
     kPacketsOnly},
    {{Section::kNetwork, "buffer", "SIZE", "of each lane at a receiving port, up to 128KiB",
      "64KiB"},
     size<[](S& s) -> auto& { return s.options.plant.buffer_bytes; }>,
     {.models = kPackets, .layers = kInfiniBand, .instead = "take switch_buffer instead"}},
    {{Section::kNetwork, "cable", "TIME", "how long every cable takes: 5ns a metre", "25ns"},
     time<[](S& s) -> auto& { return s.options.plant.cable_ps; }, 100'000'000>,
     kEverywhere},
    {{Section::kNetwork, "switch_latency", "TIME",
      "first bit in to first bit out (default: by generation)"},
     time<[](S& s) -> auto& { return s.options.plant.switch_ps; }, 100'000'000>,
     kEverywhere},
    {{Section::kNetwork, "hca_latency", "TIME", "last bit in until an adapter acts on it", "0ns"},
     time<[](S& s) -> auto& { return s.options.plant.hca_ps; }, 100'000'000>,
     kEverywhere},
    {{Section::kNetwork, "repair_after", "TIME",
      "from a failure until new routes are there, or never", "100us"},
     set_repair,
     {.kinds = Kinds::but({RunKind::kWhatIf, RunKind::kSharp}),
      .models = kPackets,
      .acts = fails_in_run,
      .acts_with = "a failure during the run, as fail_link = \"leaf0:5@20us\""}},
    {{Section::kHosts, "mtu", "BYTES", "payload of a packet", "4096"}, set_mtu, kMessagesOnly},
    {{Section::kHosts, "window", "N", "packets of a message that may be unacknowledged; 0: any",
      "0"},
     count<[](S& s) -> auto& { return s.options.hosts.window_packets; }>,
     kPacketsOnly},
    {{Section::kHosts, "ack_every", "N", "packets of a message that one ACK covers", "256"},
     count<[](S& s) -> auto& { return s.options.hosts.ack_every; }, 1>,
     kOfAcks},
    {{Section::kHosts, "burst", "N", "packets of a message before it is another's turn", "8"},
     count<[](S& s) -> auto& { return s.options.hosts.burst_packets; }, 1, 255>,
     kPacketsOnly},
    {{Section::kHosts, "injection_rate", "RATE",
      "what an adapter sends at most (default: its link)"},
     pace<[](S& s) -> auto& { return s.options.hosts.inject_block_ps; }>,
     kMessagesOnly},
    {{Section::kHosts, "message_rate", "MESSAGES",
      "messages that an adapter begins in a second at most, as 200M (default: any number)"},
     set_message_rate,
     kPacketsOnly},
    {{Section::kHosts, "pcie_rate", "RATE", "what its bus carries each way (default: enough)"},
     pace<[](S& s) -> auto& { return s.options.hosts.pcie_block_ps; }>,
     kMessagesOnly},
    {{Section::kHosts, "pcie_latency", "TIME", "a round trip on the bus", "700ns"},
     time<[](S& s) -> auto& { return s.options.hosts.pcie_round_trip_ps; }>,
     kOfContexts},
    {{Section::kHosts, "contexts", "N",
      "connections whose state an adapter holds; others cost a round trip on the bus (default: "
      "any)"},
     count<[](S& s) -> auto& { return s.options.hosts.context_entries; }, 1>,
     {.kinds = kOfMessages,
      .models = kPackets,
      .acts = [](const S& s, const W*) { return s.context_cache == 0; },
      .acts_with = "context_cache left out, which says the same"}},
    {{Section::kHosts, "context_cache", "SIZE",
      "the same as the memory that an adapter has for them"},
     size<[](S& s) -> auto& { return s.context_cache; }>,
     kPacketsOnly},
    {{Section::kHosts, "context_bytes", "N", "of it for each connection", "512"},
     count<[](S& s) -> auto& { return s.context_bytes; }, 1>,
     {.kinds = kOfMessages,
      .models = kPackets,
      .acts = [](const S& s, const W*) { return s.context_cache != 0; },
      .acts_with = "context_cache"}},
    {{Section::kHosts, "context_fetches", "N", "states that an adapter fetches at once", "16"},
     count<[](S& s) -> auto& { return s.options.hosts.context_fetches; }, 1>,
     kOfContexts},
    {{Section::kHosts, "timeout", "TIME", "until a lost packet is sent again", "524.288us"},
     time<[](S& s) -> auto& { return s.options.hosts.timeout_ps; }>,
     kOfLosses},
    {{Section::kHosts, "retries", "N", "timeouts in a row before a message is given up", "7"},
     count<[](S& s) -> auto& { return s.options.hosts.retries; }, 0, 255>,
     kOfLosses},
};

constexpr Serves kOfFailures{.kinds = kOfMessages};
const std::vector<FailRule> kFailRules{
    {{Section::kFail, "fail_link", "SWITCH:PORT[@TIME]", "a cable that is lost, at once or then"},
     kOfFailures},
    {{Section::kFail, "fail_switch", "SWITCH[@TIME]", "a switch that is lost"}, kOfFailures},
    {{Section::kFail, "fail_router", "ROUTER[@TIME]", "a router between subnets that is lost"},
     kOfFailures},
    {{Section::kFail, "fail_random", "N[@TIME]",
      "so many cables of switches and routers at random"},
     kOfFailures},
    // The time behind '@'; in a file a key of [[fail]].
    {{Section::kFail, "at", "", ""},
     {.kinds = Kinds::but({RunKind::kWhatIf, RunKind::kSharp}),
      .models = kPackets,
      .instead = "leave the time out: it is lost from the beginning then"}},
};

const std::vector<TrafficRule> kTrafficRules{
    {{Section::kTraffic, "pattern", "PATTERN", "who sends to whom", "permutation"},
     set_pattern,
     kEverywhere},
    {{Section::kTraffic, "size", "SIZE", "of a message", "1MB"}, set_size, kEverywhere},
    {{Section::kTraffic, "among", "HOSTS", "who takes part, as h0-h15,h31", "all"},
     wish_text<&TrafficWish::among>,
     {.patterns = Patterns::but({Pattern::kPairs, Pattern::kSharpAllReduce})}},
    {{Section::kTraffic, "shift", "N", "shift: how many places on; group-shift: groups", "1"},
     wish_count<[](W& w) -> auto& { return w.traffic.shift; }>,
     {.patterns = {Pattern::kShift, Pattern::kGroupShift}}},
    {{Section::kTraffic, "target", "HOST", "incast, hotspot: to whom (default: the first host)"},
     wish_text<&TrafficWish::target>,
     {.patterns = {Pattern::kIncast, Pattern::kHotspot}}},
    {{Section::kTraffic, "sources", "N", "incast: how many send (default: all others)"},
     wish_count<[](W& w) -> auto& { return w.traffic.sources; }, 1>,
     {.patterns = {Pattern::kIncast}}},
    {{Section::kTraffic, "hot", "PART", "hotspot: part of the messages for the target", "20%"},
     set_hot,
     {.patterns = {Pattern::kHotspot}}},
    {{Section::kTraffic, "pairs", "FILE", "pairs: lines of FROM TO [SIZE]"},
     wish_text<&TrafficWish::pairs_file>,
     {.patterns = {Pattern::kPairs}}},
    {{Section::kTraffic, "start", "TIME", "when it begins", "0ns"},
     set_start,
     {.patterns = kMessages}},
    {{Section::kTraffic, "repetitions", "N", "messages of each sender, one after the other", "1"},
     wish_count<[](W& w) -> auto& { return w.traffic.repetitions; }, 1>,
     {.patterns = kMessages}},
    {{Section::kTraffic, "outstanding", "N",
      "messages of a sender at once (default: 1; all-to-all: all)"},
     wish_count<[](W& w) -> auto& { return w.traffic.outstanding; }, 1>,
     {.patterns = kMessages,
      .acts =
          [](const S&, const W* traffic) {
              const plan::Traffic& each = traffic->traffic;
              return each.rate == 0 && traffic->rate_part == 0 &&
                     (each.repetitions > 1 || each.pattern == Pattern::kAllToAll);
          },
      .acts_with = "a closed loop of several repetitions: leave rate out, give repetitions"}},
    {{Section::kTraffic, "rate", "RATE",
      "begin messages at this rate, as 100Gb/s or 50% of the link, done or not (default: the next "
      "follows the last)"},
     set_rate,
     {.patterns = Patterns::but({Pattern::kRing, Pattern::kSharpAllReduce})}},
    {{Section::kTraffic, "connections", "N",
      "queue pairs between two hosts; a message takes one at random", "1"},
     wish_count<[](W& w) -> auto& { return w.traffic.connections; }, 1, 1U << 24>,
     {.models = kPackets,
      .patterns = kMessages,
      .acts = tells_connections_apart,
      .acts_with = "contexts, congestion_control or link_layer = \"ethernet\""}},
    {{Section::kTraffic, "sl", "N", "service level, where the routes leave it open", "0"},
     wish_count<[](W& w) -> auto& { return w.traffic.sl; }, 0, 15>,
     {.models = kPackets, .patterns = kMessages}},
};

}  // namespace

const std::vector<ScenarioRule>& scenario_rules() {
    static const std::vector<ScenarioRule> all = [] {
        std::vector<ScenarioRule> rules = kRules;
        rules.insert(rules.end(), roce_rules().begin(), roce_rules().end());
        return rules;
    }();
    return all;
}

const std::vector<TrafficRule>& traffic_rules() {
    return kTrafficRules;
}

bool is_traffic_key(std::string_view key) {
    return find_in(kTrafficRules, key) != nullptr;
}

const Serves* find_serves(std::string_view key) {
    if (const ScenarioRule* const rule = find_in(scenario_rules(), key)) {
        return &rule->serves;
    }
    if (const TrafficRule* const rule = find_in(kTrafficRules, key)) {
        return &rule->serves;
    }
    const FailRule* const rule = find_in(kFailRules, key);
    return rule == nullptr ? nullptr : &rule->serves;
}

std::string_view to_string(RunKind kind) {
    constexpr std::array<std::string_view, kAllKinds.size()> kNames{"single", "compare", "whatif",
                                                                    "sweep", "sharp-allreduce"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view described(RunKind kind) {
    constexpr std::array<std::string_view, kAllKinds.size()> kNames{
        "one simulation", "a comparison (compare)", "whatif", "a sweep", "sharp-allreduce"};
    return kNames[static_cast<std::size_t>(kind)];
}

const std::vector<ScenarioKey>& scenario_keys() {
    static const std::vector<ScenarioKey> keys = [] {
        std::vector<ScenarioKey> all;
        for (const ScenarioRule& rule : scenario_rules()) {
            all.push_back(rule.key);
        }
        for (const TrafficRule& rule : kTrafficRules) {
            all.push_back(rule.key);
        }
        for (const FailRule& rule : kFailRules) {
            if (!rule.key.operand.empty()) {
                all.push_back(rule.key);
            }
        }
        return all;
    }();
    return keys;
}

}  // namespace softib::spec
