// SPDX-License-Identifier: BSD-2-Clause
// The JSON schema of scenarios, for editors that check and complete TOML by a schema.
#include "run/schema.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "answer/json_text.h"
#include "plan/traffic.h"
#include "spec/scenario/scenario.h"

namespace softib::run {

namespace {

using Json = nlohmann::ordered_json;
using Section = spec::ScenarioKey::Section;

Json value_of(std::string_view operand, std::string_view help) {
    Json value{{"description", help}};
    if (operand.empty()) {
        value["type"] = "boolean";
    } else if (operand == "N") {
        value["type"] = "integer";
    } else if (operand == "on|off") {
        value["type"] = {"string", "boolean"};
    } else if (operand.find('|') != operand.npos) {
        value["type"] = "string";
        for (std::size_t begin = 0; begin <= operand.size();) {
            const std::size_t end = std::min(operand.find('|', begin), operand.size());
            value["enum"].push_back(operand.substr(begin, end - begin));
            begin = end + 1;
        }
    } else if (operand == "HOSTS" || operand == "VARIANTS" || operand == "AxB") {
        value["type"] = {"string", "array"};
    } else {
        value["type"] = {"string", "number"};
    }
    return value;
}

Json object_of(Json properties) {
    return {
        {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
}

Json list_of(Json properties) {
    return {{"type", "array"}, {"items", object_of(std::move(properties))}};
}

}  // namespace

std::string scenario_schema() {
    Json top;
    Json network;
    Json hosts;
    Json traffic;
    for (const spec::ScenarioKey& key : spec::scenario_keys()) {
        Json* const section = key.section == Section::kTop       ? &top
                              : key.section == Section::kNetwork ? &network
                              : key.section == Section::kHosts   ? &hosts
                              : key.section == Section::kTraffic ? &traffic
                                                                 : nullptr;
        if (section != nullptr) {
            (*section)[std::string(key.name)] = value_of(key.operand, key.help);
        }
    }
    for (const plan::Pattern pattern : plan::kAllPatterns) {
        traffic["pattern"]["enum"].push_back(plan::to_string(pattern));
    }
    Json fabric;
    for (const spec::ConfigKey& key : spec::config_keys()) {
        fabric[std::string(key.name)] = value_of(key.operand, key.help);
    }
    top["fabric"] = object_of(std::move(fabric));
    top["network"] = object_of(std::move(network));
    top["hosts"] = object_of(std::move(hosts));
    top["traffic"] = list_of(std::move(traffic));
    top["fail"] = list_of({{"link", value_of("SWITCH:PORT", "a cable that is lost")},
                           {"switch", value_of("SWITCH", "a switch that is lost")},
                           {"router", value_of("ROUTER", "a router between subnets that is lost")},
                           {"random", value_of("N", "so many cables at random")},
                           {"at", value_of("TIME", "when; without: before the run")}});
    top["base"] = value_of("FILE", "a scenario that this file changes");
    top["seeds"] = value_of("N", "a sweep: each point with the seeds 1 to N");
    Json vary;
    for (const spec::ScenarioKey& key : spec::scenario_keys()) {
        const std::string name(key.name == "pattern" ? "traffic" : key.name);
        vary[name] = {{"type", "array"}, {"description", key.help}};
    }
    for (const spec::ConfigKey& key : spec::config_keys()) {
        vary[std::string(key.name)] = {{"type", "array"}, {"description", key.help}};
    }
    top["vary"] = object_of(std::move(vary));
    top["whatif"] = object_of({{"seeds", value_of("N", "draws of random failures")}});
    Json schema = object_of(std::move(top));
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    schema["title"] = "A scenario of softib sim";
    return answer::json_text(schema);
}

}  // namespace softib::run
