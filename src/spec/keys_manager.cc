// SPDX-License-Identifier: BSD-2-Clause
// Keys of the subnet manager: which one runs, and the settings of ours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/routing/engine.h"
#include "spec/key_rule.h"

namespace softib::spec {

namespace {

using sm::QosConfig;

constexpr std::int64_t kLmcMax = 7;

Result set_manager(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (*text != "softib" && *text != "opensm" && *text != "none")) {
        return refuse("softib, opensm or none (then run one: softib exec HOST -- opensm)", value);
    }
    description.manager = *text;
    return {};
}

Result set_aggregation(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (*text != "softib" && *text != "none")) {
        return refuse("softib or none (then run one: softib am HOST)", value);
    }
    description.aggregation = *text;
    return {};
}

Result set_engine(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || routing::find_engine(*text) == nullptr) {
        std::vector<std::string_view> names;
        for (const routing::Engine& engine : routing::engines()) {
            names.push_back(engine.name);
        }
        return refuse(fmt::format("one of {}", fmt::join(names, ", ")), value);
    }
    description.engine = *text;
    return {};
}

Result set_adaptive_routing(Description& description, const Value& value) {
    const auto* on = std::get_if<bool>(&value);
    if (on == nullptr) {
        return refuse("true or false", value);
    }
    description.adaptive_routing = *on;
    return {};
}

Result set_qos(Description& description, const Value& value) {
    const auto* on = std::get_if<bool>(&value);
    if (on == nullptr) {
        return refuse("true or false", value);
    }
    description.qos.on = *on;
    return {};
}

/// Sets a field of QosConfig from a text, which kParse reads.
template <auto kField, auto kParse>
Result set_qos_text(Description& description, const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    auto parsed = kParse(text == nullptr ? std::string_view() : std::string_view(*text));
    if (!parsed) {
        return std::unexpected(fmt::format("{}, not {}", parsed.error(), shown(value)));
    }
    description.qos.*kField = std::move(*parsed);
    return {};
}

bool has_subnet(const Description& description) {
    return description.link_layer == hca::LinkLayer::kInfiniBand;
}

constexpr Live kOfSubnets{.acts = has_subnet, .needs = "link_layer = \"infiniband\""};
constexpr Live kOfOpenSm{
    .acts = [](const Description& d) { return has_subnet(d) && d.manager == "opensm"; },
    .needs = "sm = \"opensm\""};
constexpr Live kOfOurs{
    .acts = [](const Description& d) { return has_subnet(d) && d.manager == "softib"; },
    .needs = "our subnet manager, sm = \"softib\" on InfiniBand"};
constexpr Live kOfQos{.acts = [](const Description& d) { return kOfOurs.acts(d) && d.qos.on; },
                      .needs = "qos, and our subnet manager on InfiniBand"};

constexpr KeyRule kManagerKeys[] = {
    {{"sm", "WHO", "subnet manager: softib (ours), opensm or none", "softib"},
     Form::kText,
     set_manager,
     About::kOther,
     false,
     kOfSubnets},
    {{"sm_args", "WORDS", "arguments of OpenSM, with --sm opensm"},
     Form::kText,
     set_text<&Description::manager_args>,
     About::kOther,
     false,
     kOfOpenSm},
    {{"am", "MANAGER", "aggregation manager of SHARP: softib (ours) or none", "softib"},
     Form::kText,
     set_aggregation,
     About::kOther,
     false,
     kOfSubnets},
    {{"engine", "ENGINE", "routing engine of our subnet manager", "auto"},
     Form::kText,
     set_engine,
     About::kManager,
     true,
     kOfOurs},
    {{"partitions", "FILE", "who may talk to whom, as in OpenSM's partitions.conf"},
     Form::kText,
     set_file<&Description::partitions>,
     About::kManager,
     false,
     kOfOurs},
    {{"lid_file", "FILE", "keeps LIDs from one run to the next"},
     Form::kText,
     set_file<&Description::lid_file>,
     About::kManager,
     false,
     kOfOurs},
    {{"lmc", "N", "2^N LIDs for each port of an adapter, 0 to 7", "0"},
     Form::kNumber,
     set_number<&Description::lmc, 0, kLmcMax>,
     About::kManager,
     false,
     kOfOurs},
    {{"adaptive_routing", "", "switches choose among ports that are equally good"},
     Form::kSwitch,
     set_adaptive_routing,
     About::kManager,
     false,
     kOfOurs},
    {{"qos", "", "map service levels to lanes and arbitrate between them"},
     Form::kSwitch,
     set_qos,
     About::kManager,
     true,
     kOfOurs},
    {{"max_op_vls", "N", "lanes: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14", "5"},
     Form::kNumber,
     set_number<&QosConfig::max_op_vls, 1, sm::kMaxOpVlsAll>,
     About::kManager,
     true,
     kOfOurs},
    {{"high_limit", "N", "with --qos: what high priority may send at a time", "0"},
     Form::kNumber,
     set_number<&QosConfig::high_limit, 0, 255>,
     About::kManager,
     true,
     kOfQos},
    {{"vlarb_high", "LIST",
      "with --qos: lanes and weights of high priority, as 0:4,1:0 (default: VL0 4)"},
     Form::kText,
     set_qos_text<&QosConfig::vlarb_high, sm::parse_vlarb>,
     About::kManager,
     true,
     kOfQos},
    {{"vlarb_low", "LIST", "with --qos: the same of low priority (default: 4 each, but for VL0)"},
     Form::kText,
     set_qos_text<&QosConfig::vlarb_low, sm::parse_vlarb>,
     About::kManager,
     true,
     kOfQos},
    {{"sl2vl", "LIST",
      "with --qos: lane of each service level, as 0,1,2,3 (default: modulo lanes)"},
     Form::kText,
     set_qos_text<&QosConfig::sl2vl, sm::parse_sl2vl>,
     About::kManager,
     true,
     kOfQos},
};

}  // namespace

std::span<const KeyRule> manager_keys() {
    return kManagerKeys;
}

}  // namespace softib::spec
