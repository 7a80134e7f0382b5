// SPDX-License-Identifier: BSD-2-Clause
#include "spec/live.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/key_rule.h"

namespace softib::spec {

namespace {

/// Returns how a user calls a key: "--lmc", or "lab.toml:3:1: 'lmc'".
std::string called(const std::string& key, const std::string& origin) {
    return origin.starts_with("--") ? origin : fmt::format("{}: '{}'", origin, key);
}

/// Returns why a key changes nothing of a drawing; empty if it does.
std::string not_drawn(std::string_view key, const Description& description,
                      const Drawing& drawing) {
    const KeyRule* const rule = find_rule(key);
    if (key == "host_pattern" || key == "device_pattern") {
        return drawing.names ? "" : "a report names no host";
    }
    if (key == "site") {
        return drawing.guids ? "" : "add --json or --ibnetdiscover, which tell GUIDs";
    }
    if (key == "lmc") {
        return drawing.lids ? "" : "add --report, which counts LIDs";
    }
    const bool of_trunks = key == "trunk" || (key == "data_path" && !description.trunk.empty());
    return rule == nullptr || rule->about == About::kShape || key == "from" || key == "name" ||
                   of_trunks
               ? ""
               : "it is for running fabrics";
}

}  // namespace

Result check_live(const Description& description) {
    for (const auto& [key, origin] : description.origins) {
        const KeyRule* const rule = find_rule(key);
        if (rule != nullptr && rule->live.acts != nullptr && !rule->live.acts(description)) {
            return std::unexpected(fmt::format("{} changes nothing here: it needs {}",
                                               called(key, origin), rule->live.needs));
        }
    }
    const sm::QosConfig& qos = description.qos;
    const std::uint8_t vls = std::min(kLiveVls, sm::data_vls_of(qos.max_op_vls));
    if (const std::string key(sm::idle_arbitration(qos, vls)); qos.on && !key.empty()) {
        // A shorter list of lanes makes the default idle too.
        const auto said = description.origins.find(key);
        return std::unexpected(fmt::format(
            "{} gives weights only to lanes that ports do not have: they have {} data VLs",
            said == description.origins.end() ? key : called(key, said->second), vls));
    }
    return {};
}

Result check_drawn(const Description& description, const Drawing& drawing) {
    for (const auto& [key, origin] : description.origins) {
        if (std::string why = not_drawn(key, description, drawing);
            !why.empty() && origin.starts_with("--")) {
            return std::unexpected(
                fmt::format("{} changes nothing that is drawn: {}", origin, why));
        }
    }
    return {};
}

}  // namespace softib::spec
