// SPDX-License-Identifier: BSD-2-Clause
// The keys of Ethernet's switches and of adapters that speak RoCE.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "spec/scenario/key_values.h"
#include "spec/scenario/keys.h"

namespace softib::spec {

namespace {

std::optional<net::RoceOptions::Ecmp> parse_ecmp(const std::string& text) {
    using enum net::RoceOptions::Ecmp;
    return text == "5tuple"  ? std::optional(kFiveTuple)
           : text == "qp"    ? std::optional(kConnection)
           : text == "spray" ? std::optional(kSpray)
           : text == "load"  ? std::optional(kLoad)
           : text == "none"  ? std::optional(kTables)
                             : std::nullopt;
}

Result set_ecmp(Scenario& scenario, const std::string& text) {
    const auto way = parse_ecmp(text);
    if (!way) {
        return std::unexpected(
            fmt::format("must be 5tuple, qp, spray, load or none, not \"{}\"", text));
    }
    scenario.roce.ecmp = *way;
    return {};
}

/// Sets a field to "on" or "off"; a file may also have true or false.
template <auto kField>
Result on_off(Scenario& scenario, const std::string& text) {
    if (text != "on" && text != "off" && text != "true" && text != "false") {
        return std::unexpected(fmt::format("must be on or off, not \"{}\"", text));
    }
    kField(scenario) = text == "on" || text == "true";
    return {};
}

/// Sets the rule of ECN from K_min, K_max and P_max: "64KiB,256KiB,10%". Inside of a list, ':'
/// stands for ','.
Result set_ecn(Scenario& scenario, const std::string& text) {
    sw::EcnRule& ecn = scenario.roce.links.ecn;
    if (text == "off" || text == "false") {
        ecn.high_blocks = 0;
        return {};
    }
    std::string commas = text;
    std::ranges::replace(commas, ':', ',');
    const std::size_t first = commas.find(',');
    const std::size_t second = first == commas.npos ? commas.npos : commas.find(',', first + 1);
    if (second == commas.npos) {
        return std::unexpected(
            fmt::format("must be KMIN,KMAX,PMAX as 64KiB,256KiB,10%, or off, not \"{}\"", text));
    }
    const auto low = plan::parse_size(commas.substr(0, first));
    const auto high = plan::parse_size(commas.substr(first + 1, second - first - 1));
    const auto most = plan::parse_part(commas.substr(second + 1));
    if (!low || !high || !most) {
        return std::unexpected(
            fmt::format("must be KMIN,KMAX,PMAX as 64KiB,256KiB,10%: in \"{}\" {} {}", text,
                        !low    ? "KMIN"
                        : !high ? "KMAX"
                                : "PMAX",
                        !low    ? low.error()
                        : !high ? high.error()
                                : most.error()));
    }
    if (*low >= *high || *high > kMost) {
        return std::unexpected(fmt::format("must have KMIN below KMAX, not \"{}\"", text));
    }
    ecn = {.low_blocks = static_cast<std::uint32_t>(*low / link::kBlockBytes),
           .high_blocks = static_cast<std::uint32_t>(*high / link::kBlockBytes),
           .most = *most};
    return {};
}

Result set_loss_recovery(Scenario& scenario, const std::string& text) {
    if (text != "gbn" && text != "selective") {
        return std::unexpected(
            fmt::format("must be gbn (go-back-N) or selective, not \"{}\"", text));
    }
    scenario.roce.hosts.selective = text == "selective";
    return {};
}

constexpr Serves with(bool (*acts)(const Scenario&, const TrafficWish*),
                      std::string_view acts_with) {
    Serves serves = kEthernet;
    serves.acts = acts;
    serves.acts_with = acts_with;
    return serves;
}
constexpr Serves kPauses =
    with([](const Scenario& s, const TrafficWish*) { return s.roce.links.lossless; }, "pfc = on");
constexpr Serves kSelective =
    with([](const Scenario& s, const TrafficWish*) { return s.roce.hosts.selective; },
         "loss_recovery = selective");

ScenarioRule of_network(std::string_view name, std::string_view operand, std::string_view help,
                        std::string_view initial, Result (*set)(Scenario&, const std::string&),
                        const Serves& serves = kEthernet) {
    return {{ScenarioKey::Section::kNetwork, name, operand, help, initial}, set, serves};
}

ScenarioRule of_hosts(std::string_view name, std::string_view operand, std::string_view help,
                      std::string_view initial, Result (*set)(Scenario&, const std::string&),
                      const Serves& serves = kEthernet) {
    return {{ScenarioKey::Section::kHosts, name, operand, help, initial}, set, serves};
}

using R = Scenario;

std::vector<ScenarioRule> network_rules() {
    return {
        of_network("ecmp", "5tuple|qp|spray|load|none", "ethernet: how switches choose a port",
                   "5tuple", set_ecmp),
        of_network("pfc", "on|off", "ethernet: full switches pause their senders, and lose nothing",
                   "on", on_off<[](R& s) -> auto& { return s.roce.links.lossless; }>),
        of_network("pfc_xoff", "SIZE", "ethernet: what a port and lane holds when it pauses",
                   "128KiB", size<[](R& s) -> auto& { return s.roce.links.xoff_bytes; }>, kPauses),
        of_network("pfc_xon", "SIZE",
                   "ethernet: what is left when the sender may go on (default: 3/4 of it)", "",
                   size<[](R& s) -> auto& { return s.pfc_xon; }>, kPauses),
        of_network("switch_buffer", "SIZE", "ethernet: of a switch, for all its ports", "64MiB",
                   size<[](R& s) -> auto& { return s.roce.links.buffer_bytes; }>),
        of_network("ecn", "KMIN,KMAX,PMAX",
                   "ethernet: queues between which packets are marked, by what chance; or off",
                   "64KiB,256KiB,10%", set_ecn),
    };
}

std::vector<ScenarioRule> host_rules() {
    return {
        of_hosts("loss_recovery", "gbn|selective",
                 "ethernet: gbn sends all again that followed a loss, selective only the lost",
                 "gbn", set_loss_recovery),
        of_hosts(
            "reorder", "N",
            "ethernet, selective: packets that overtake one before it counts as lost (default: "
            "0; 64 with ecmp spray or load)",
            "", count<[](R& s) -> auto& { return s.roce.hosts.reorder_packets; }>, kSelective),
    };
}

}  // namespace

const std::vector<ScenarioRule>& roce_rules() {
    static const std::vector<ScenarioRule> all = [] {
        std::vector<ScenarioRule> rules = network_rules();
        std::ranges::copy(host_rules(), std::back_inserter(rules));
        std::ranges::copy(congestion_rules(), std::back_inserter(rules));
        return rules;
    }();
    return all;
}

}  // namespace softib::spec
