// SPDX-License-Identifier: BSD-2-Clause
#include "server/delta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "server/json.h"

namespace softib::server {

namespace {

using telemetry::Inventory;
using telemetry::Snapshot;

/// Returns the bucket of a share: 0 for none, 1 to 10 for tenths.
std::uint8_t bucket(float share) {
    return share < 1e-4F
               ? std::uint8_t{0}
               : static_cast<std::uint8_t>(std::clamp(1 + static_cast<int>(share * 10), 1, 10));
}

int per_mille(float share) {
    return static_cast<int>(std::lround(std::clamp(share, 0.0F, 1.0F) * 1000));
}

template <typename Items, typename Value>
void column(std::string& out, const char* name, const Items& items, Value&& value) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":[", out.ends_with('{') ? "" : ",", name);
    bool first = true;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
        fmt::format_to(std::back_inserter(out), "{}{}", first ? "" : ",", value(i));
        first = false;
    }
    out += ']';
}

std::string head(const Snapshot& snapshot) {
    Json json{{"number", snapshot.number},
              {"revision", snapshot.inventory->revision},
              {"time_us", snapshot.sample.wall_us},
              {"trouble", snapshot.trouble}};
    std::string text = to_text(json);
    text.pop_back();  // The last '}': the caller adds more members.
    return text;
}

void add_rates(std::string& out, const Snapshot& snapshot) {
    const auto& ports = snapshot.inventory->ports;
    const auto& states = snapshot.sample.states;
    column(out, "state", states, [&](auto i) { return static_cast<int>(states[i]); });
    const auto& rates = snapshot.rates;
    column(out, "load", rates, [&](auto i) { return per_mille(sent_load_of(ports[i], rates[i])); });
    column(out, "wait", rates, [&](auto i) { return per_mille(rates[i].wait_share); });
    column(out, "errors", rates, [&](auto i) { return std::lround(rates[i].errors); });
}

}  // namespace

PortMark mark_of(const Snapshot& snapshot, std::uint32_t port) {
    const telemetry::PortRate& rate = snapshot.rates[port];
    return {static_cast<std::uint8_t>(snapshot.sample.states[port]),
            bucket(sent_load_of(snapshot.inventory->ports[port], rate)), bucket(rate.wait_share),
            static_cast<std::uint8_t>(rate.errors > 0 ? 1 : 0)};
}

std::string snapshot_json(const Snapshot& snapshot) {
    const Inventory& inventory = *snapshot.inventory;
    const auto& nodes = inventory.nodes;
    const auto& ports = inventory.ports;
    std::string out = head(snapshot);
    out += ",\"fabric\":" + to_text(Json(inventory.fabric)) + ",\"nodes\":{";
    column(out, "guid", nodes, [&](auto i) { return '"' + to_string(nodes[i].guid) + '"'; });
    column(out, "name", nodes, [&](auto i) { return to_text(Json(nodes[i].name)); });
    column(out, "kind", nodes, [&](auto i) { return static_cast<int>(nodes[i].kind); });
    column(out, "lid", nodes, [&](auto i) { return nodes[i].lid.value; });
    column(out, "tier", nodes, [&](auto i) { return nodes[i].tier; });
    out += "},\"ports\":{";
    column(out, "node", ports, [&](auto i) { return ports[i].node; });
    column(out, "number", ports, [&](auto i) { return ports[i].number; });
    column(out, "peer", ports, [&](auto i) {
        return ports[i].peer == telemetry::kNoIndex ? -1 : static_cast<std::int64_t>(ports[i].peer);
    });
    column(out, "mbps", ports, [&](auto i) { return ports[i].active_mbps; });
    column(out, "speed", ports, [&](auto i) { return '"' + ports[i].speed + '"'; });
    add_rates(out, snapshot);
    return out + "}}";
}

std::string moment_json(const Snapshot& snapshot) {
    std::string out = head(snapshot) + ",\"ports\":{";
    add_rates(out, snapshot);
    return out + "}}";
}

std::string DeltaMaker::next(const Snapshot& snapshot) {
    const std::size_t ports = std::min(snapshot.rates.size(), snapshot.inventory->ports.size());
    if (revision_ != snapshot.inventory->revision || told_.size() != ports) {
        told_.assign(ports, PortMark{0xFF, 0xFF, 0xFF, 0xFF});
        revision_ = snapshot.inventory->revision;
    }
    std::vector<std::uint32_t> changed;
    for (std::uint32_t i = 0; i < ports; ++i) {
        const PortMark mark = mark_of(snapshot, i);
        if (mark != told_[i]) {
            told_[i] = mark;
            changed.push_back(i);
        }
    }
    const auto& rates = snapshot.rates;
    std::string out = head(snapshot) + ",\"ports\":{";
    column(out, "port", changed, [&](auto i) { return changed[i]; });
    column(out, "state", changed, [&](auto i) { return told_[changed[i]].state; });
    column(out, "load", changed, [&](auto i) {
        return per_mille(sent_load_of(snapshot.inventory->ports[changed[i]], rates[changed[i]]));
    });
    column(out, "wait", changed, [&](auto i) { return per_mille(rates[changed[i]].wait_share); });
    column(out, "errors", changed, [&](auto i) { return std::lround(rates[changed[i]].errors); });
    return out + "}}";
}

}  // namespace softib::server
